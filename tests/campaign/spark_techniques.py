"""The techniques that run statements in Spark."""

from __future__ import annotations

from typing import Final

from tests.campaign.spark_assignments import SPARK_ASSIGNMENTS
from tests.campaign.spark_devices import SPARK_DEVICES
from tests.campaign.spark_every_bit import SPARK_EVERY_BIT
from tests.campaign.spark_expressions import SPARK_EXPRESSIONS
from tests.campaign.spark_flipped_bits import SPARK_FLIPPED_BITS
from tests.campaign.spark_foreign_files import SPARK_FOREIGN_FILES
from tests.campaign.spark_key_changes import SPARK_KEY_CHANGES
from tests.campaign.spark_killed_shells import SPARK_KILLED_SHELLS
from tests.campaign.spark_missing_files import SPARK_MISSING_FILES
from tests.campaign.spark_nested import SPARK_NESTED
from tests.campaign.spark_random_sql import SPARK_RANDOM_SQL
from tests.campaign.spark_real_data import SPARK_REAL_DATA
from tests.campaign.spark_sessions import SPARK_SESSIONS
from tests.campaign.spark_stored_expressions import SPARK_STORED_EXPRESSIONS
from tests.campaign.spark_two_faces import SPARK_TWO_FACES
from tests.campaign.spark_view_values import SPARK_VIEW_VALUES
from tests.campaign.spark_views import SPARK_VIEWS
from tests.campaign.technique import Technique

SPARK_TECHNIQUES: Final[tuple[Technique, ...]] = (
    SPARK_SESSIONS,
    SPARK_DEVICES,
    SPARK_MISSING_FILES,
    SPARK_RANDOM_SQL,
    SPARK_NESTED,
    SPARK_REAL_DATA,
    SPARK_VIEWS,
    SPARK_FLIPPED_BITS,
    SPARK_EVERY_BIT,
    SPARK_KILLED_SHELLS,
    SPARK_TWO_FACES,
    SPARK_ASSIGNMENTS,
    SPARK_EXPRESSIONS,
    SPARK_STORED_EXPRESSIONS,
    SPARK_KEY_CHANGES,
    SPARK_VIEW_VALUES,
    SPARK_FOREIGN_FILES,
)
