"""Shapes of tables: columns, key, partitions, and how files are cut and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.values.envelope import Envelope
from tests.values.kinds import DECIMALS, INTEGERS, Kind, quoted, sql

_NAMES: Final = ("v", "Text", "at", "a b", "größe", "x.y", "n", "s", "_m", "😀")
_WIDE: Final = 0.03
_WIDE_COLUMNS: Final = 2_000
_KEY_KINDS: Final = (
    *("INT", "BIGINT", "STRING", "STRING", "STRING", "BINARY", "DATE", "TIMESTAMP", "BOOLEAN"),
    *("DECIMAL(18,6)", "DECIMAL(38,10)", "VARCHAR(9)", "CHAR(5)", "TIMESTAMP_NTZ", "SMALLINT"),
)


@dataclass(frozen=True, slots=True)
class TableShape:
    """Columns by name, those of the key and of the partitions, and options."""

    columns: dict[str, Kind]
    key: tuple[str, ...]
    partitions: tuple[str, ...]
    options: dict[str, str]

    @staticmethod
    def draw(envelope: Envelope) -> TableShape:
        """Any shape; the columns of a key and of partitions come first."""
        dice = envelope.dice
        keys = {f"k{at}": dice.choice(_KEY_KINDS) for at in range(dice.choice([0, 1, 1, 2]))}
        is_partitioned = dice.random() < 0.25
        if is_partitioned:
            keys = {"p": dice.choice(_KEY_KINDS), **keys}
        has_key = len(keys) > is_partitioned
        if dice.random() < _WIDE:
            names = [f"w{at}" for at in range(_WIDE_COLUMNS)]
            columns: dict[str, Kind] = {
                name: dice.choice([*INTEGERS, *DECIMALS, "STRING"]) for name in names
            }
        else:
            columns = {n: envelope.kind() for n in dice.sample(_NAMES, dice.choice([1, 2, 3, 5]))}
        return TableShape(
            {**keys, **columns},
            tuple(keys) if has_key else (),
            ("p",) if is_partitioned else (),
            _options(envelope),
        )

    def create(self, name: str) -> str:
        """The statement that makes the table."""
        columns = [f"{quoted(column)} {sql(kind)}" for column, kind in self.columns.items()]
        if self.key:
            columns.append(f"PRIMARY KEY ({', '.join(map(quoted, self.key))}) NOT ENFORCED")
        by = f" PARTITIONED BY ({', '.join(self.partitions)})" if self.partitions else ""
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in self.options.items())
        return f"CREATE TABLE {name} ({', '.join(columns)}){by} TBLPROPERTIES ({listed})"


def _options(envelope: Envelope) -> dict[str, str]:
    dice = envelope.dice
    options = {"bucket": dice.choice(["1", "1", "3"])}
    if dice.random() < 0.2:
        options["file.format"] = dice.choice(["orc", "avro"])
    if dice.random() < 0.3:
        options["file.compression"] = dice.choice(["snappy", "none"])
    if dice.random() < 0.5:  # few rows to a row group and a page
        options["target-file-size"] = dice.choice(["1 kb", "64 kb", "1 mb"])
    return options
