"""The options that a table is stored with: those of the statement, and else of the session.

Defaults are not stored: an option that nobody gave has the default of its declaration, and SHOW
CREATE TABLE repeats only given options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.storage.file_store.metadata.watermark import has_watermark
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.connector_options import CONNECTOR
from table_store.storage.options.options import SESSION_PREFIX, OptionScope
from table_store.storage.options.table_option_rules import check_together
from table_store.storage.options.table_options import FILE_PATH as FILE_PATH_OPTION
from table_store.storage.options.table_options import TABLE_OPTIONS
from table_store.storage.options.watermark_options import (
    WATERMARK_ALIGNMENT_GROUP,
    WATERMARK_ALIGNMENT_MAX_DRIFT,
    WATERMARK_IDLE_TIMEOUT,
)

FILE_PATH: Final = FILE_PATH_OPTION.key


def enriched_options(given: Mapping[str, str], settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options of a new table.

    Args:
        given: options of the statement, in `WITH (…)` or TBLPROPERTIES; these win.
        settings: of the session; only those that begin with `table-storage.` become options,
            without this prefix.

    Raises:
        UnknownOptionError: there is no such option; the error names the nearest one.
        InvalidOptionError: the option does not take this value.
    """
    session = TABLE_OPTIONS.parse_session(
        {key: value for key, value in settings.items() if key.startswith(SESSION_PREFIX)}
    )
    table = TABLE_OPTIONS.parse(given, OptionScope.TABLE)
    # Those of a session say how rows are stored.
    stored = {} if table.is_given(CONNECTOR) else session.text
    return FrozenMap({**stored, **table.text})


def changed_options(
    before: Mapping[str, str], after: Mapping[str, str], *, has_key: bool
) -> Mapping[str, str]:
    """Return the options of a table after an ALTER, checked.

    Raises:
        UnknownOptionError, InvalidOptionError: see `enriched_options`; also for an option
            which is fixed when the table is created, or that does not go with the others.
    """
    check_together(after, has_key=has_key)
    checked = TABLE_OPTIONS.parse(after, OptionScope.TABLE).text
    TABLE_OPTIONS.check_change(before, checked)
    return checked


def check_alignment(schema: TableSchema) -> None:
    """Check the options by which a table advances together with others in event time.

    Raises:
        InvalidOptionError: the table has no watermark, or it is in no group.
    """
    values = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
    group = values.get(WATERMARK_ALIGNMENT_GROUP)
    if group is not None and not has_watermark(schema):
        raise InvalidOptionError(
            key=WATERMARK_ALIGNMENT_GROUP.key,
            value=group,
            reason="the table needs a watermark, WATERMARK FOR c AS c or c - INTERVAL '5' SECOND, "
            "of a column of dates or timestamps",
        )
    for option in (WATERMARK_ALIGNMENT_MAX_DRIFT, WATERMARK_IDLE_TIMEOUT):
        if group is None and values.is_given(option):
            raise InvalidOptionError(
                key=option.key,
                value=values.text[option.key],
                reason=f"it needs {WATERMARK_ALIGNMENT_GROUP.key!r}",
            )
