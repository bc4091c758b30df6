"""Goal: a checked JSON file comes back as it was written, or is refused under its name."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FormatVersionError,
    UnsupportedTypeError,
)
from tests.fakes.bit_flips import flipped_bits, random_damages, survey, torn

GOLDEN = '{\n  "version": 2,\n  "name": "é\\n",\n  "items": [\n    1\n  ]'
# Surrogates of their own too, as Python has them in the names of files.
TEXT = st.text(st.characters())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
KEYS = TEXT.filter(lambda key: key not in ("version", "checksum"))


def whole(item: dict[str, Any]) -> dict[str, Any]:
    return item


def read(data: bytes, *, version: int = 2) -> dict[str, Any]:
    return from_checked_json(data, whole, path="/w/file", version=version, noun="thing")


def read_id(data: bytes) -> object:
    return from_checked_json(data, lambda item: item["id"], path="/w/file", version=2, noun="thing")


def test_layout() -> None:
    """The checksum is what gzip writes behind the same bytes."""
    data = to_checked_json({"name": "é\n", "items": [1]}, version=2)
    body = GOLDEN.encode()
    crc = int.from_bytes(gzip.compress(body)[-8:-4], "little")
    assert data == body + f',\n  "checksum": "{crc:08x}"\n}}'.encode()
    assert crc == 0xE51EE515


@given(item=st.dictionaries(KEYS, VALUES, max_size=4), version=st.integers(2, 12))
def test_what_was_written_comes_back(item: dict[str, Any], version: int) -> None:
    data = to_checked_json(item, version=version)
    found = read(data, version=12)
    checksum = found.pop("checksum")
    assert data.endswith(f'"checksum": "{checksum}"\n}}'.encode())
    assert found == {"version": version, **item}


@settings(max_examples=20)
@given(item=st.dictionaries(KEYS, VALUES, max_size=2))
def test_every_flipped_bit_and_every_cut_is_refused(item: dict[str, Any]) -> None:
    data = to_checked_json(item, version=2)
    for damages in (flipped_bits(data), torn(data)):
        outcome = survey(data, damages, read, name="/w/file")
        assert (outcome.silent, outcome.unnamed, outcome.harmless) == ([], [], 0)


def test_damages_at_several_places_are_refused() -> None:
    """In a small file they often hit both its version and its checksum's name."""
    data = to_checked_json({"id": "0123456"}, version=2)
    damages = random_damages(data, random.Random(1), 20_000)
    outcome = survey(data, damages, read_id, name="/w/file")
    assert (outcome.silent, outcome.unnamed, outcome.harmless) == ([], [], 0)


def test_zeros_and_white_space_are_refused() -> None:
    data = to_checked_json({"a": " "}, version=2)
    for damaged in (
        b"",
        bytes(len(data)),
        bytes(4096),
        data.replace(b"\n  ", b"\n\t", 1),
        data.replace(b": ", b":", 1),
        json.dumps(json.loads(data)).encode(),
    ):
        with pytest.raises(CorruptFileError, match="/w/file"):
            read(damaged)


@pytest.mark.parametrize("text", ['{"a": 1}', '{"version": 1, "a": 1}', ' {"a":1,"version":1}\n'])
def test_version_1_has_no_checksum(text: str) -> None:
    assert read(text.encode())["a"] == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "a": 1, "checksum": "00000000"}',
        '{"a": 1, "checksum": "00000000"}',
        '{"a": 1, "checksun": "00000000"}',
        '{"versioo": 2, "a": 1, "checksun": "00000000"}',
        '{"version": 2, "a": 1}',
        '{"version": 3, "a": 1}',
        '{"version": 0, "a": 1}',
        '{"version": true, "a": 1}',
        '{"version": 1.0, "a": 1}',
        '{"version": "1", "a": 1}',
        '{"version": null, "a": 1}',
        "[1]",
        "1",
        "[" * 100_000,
        "\ud800",
    ],
)
def test_nothing_else_goes_without(text: str) -> None:
    with pytest.raises(CorruptFileError, match=r"'/w/file' is damaged: (not a thing|its checksum)"):
        read(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("content", [b'{"password": "hunter2", "a": "\xff"}', b'{"a": "hunter2'])
def test_no_error_shows_the_content(content: bytes) -> None:
    with pytest.raises(CorruptFileError) as caught:
        read(content)
    assert "hunter2" not in str(caught.value)


def test_newer_versions_are_refused() -> None:
    with pytest.raises(FormatVersionError, match=r"/w/file.*has format version 4.*up to 3"):
        read(to_checked_json({}, version=4), version=3)


def test_what_does_not_make_a_value_is_damage() -> None:
    """Under the file's name, also where it was an error of ours that knows no file."""

    def fails(_: dict[str, Any]) -> None:
        raise UnsupportedTypeError(type_name="x")

    def lacks(item: dict[str, Any]) -> object:
        return item["absent"]

    data = to_checked_json({}, version=2)
    for build in (fails, lacks):
        with pytest.raises(CorruptFileError, match=r"/w/file.*not a thing.* Ask for help\. SQL"):
            from_checked_json(
                data, build, path="/w/file", version=2, noun="thing", remedy="Ask for help"
            )
