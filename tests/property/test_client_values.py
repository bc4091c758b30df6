"""Goal: values of any type, in any of Arrow's layouts, are the same in the type of their column."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.write.conformed_column import conformed
from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.required_value import missing_part
from table_store.storage.kernel.types import to_arrow
from tests.values.arrow_values import arrow_array, plain_values
from tests.values.envelope import Envelope


def relaid(values: pa.Array, dice: random.Random) -> pa.Array:
    """Return the same values in other layouts, at each depth; fields change case and order."""
    kind = values.type
    if pa.types.is_struct(kind):
        children = [relaid(values.field(at), dice) for at in range(kind.num_fields)]
        fields = [
            pa.field(dice.choice([field.name, field.name.upper()]), child.type)
            for field, child in zip(kind, children, strict=True)
        ]
        order = dice.sample(range(len(fields)), len(fields))
        return pa.StructArray.from_arrays(
            [children[at] for at in order],
            fields=[fields[at] for at in order],
            mask=values.is_null(),
        )
    if pa.types.is_map(kind):
        keys, items = relaid(values.keys, dice), relaid(values.items, dice)
        return pa.MapArray.from_arrays(values.offsets, keys, items, mask=values.is_null())
    if pa.types.is_list(kind):
        elements, nulls = relaid(values.values, dice), values.is_null()
        if dice.random() < 0.5:
            return pa.ListArray.from_arrays(values.offsets, elements, mask=nulls)
        sizes = pc.fill_null(pc.list_value_length(values), 0)
        starts = values.offsets[:-1]
        return pa.ListViewArray.from_arrays(starts, sizes, elements, mask=nulls)
    roll = dice.random()
    if roll < 0.3 and len(values):
        return values.dictionary_encode()
    if roll < 0.6 and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return values.cast(pa.large_string() if pa.types.is_string(kind) else pa.binary_view())
    return values


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 6), st.integers(0, 3))
def test_values_stay_in_every_layout(seed: int, count: int, cut: int) -> None:
    envelope = Envelope(random.Random(seed), left_bytes=1 << 16)
    kind = envelope.kind()
    drawn = envelope.values(kind, count)
    target = from_arrow(arrow_array([], kind).type)
    values = relaid(arrow_array(drawn, kind), envelope.dice).slice(cut)
    found = conformed(values, Field(id=0, name="x", type=target), None)
    found.validate(full=True)
    assert found.type == to_arrow(target)
    assert plain_values(found, kind) == drawn[cut:]
    assert missing_part(found, target, "x") is None
