"""What a statement about a table says of the jobs that stand on it."""

from __future__ import annotations

from enum import Enum


class Fate(Enum):
    """What becomes of dependents that could not go on; the values are the words of SQL.

    RESTRICT refuses the statement, SUSPEND suspends views and ends jobs, CASCADE drops the views.
    """

    RESTRICT = "RESTRICT"
    SUSPEND = "SUSPEND"
    CASCADE = "CASCADE"
