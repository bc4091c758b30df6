"""All techniques of the campaign."""

from __future__ import annotations

from typing import Final

from tests.campaign.clock_jumps import CLOCK_JUMPS
from tests.campaign.damaged_data import DAMAGED_DATA
from tests.campaign.damaged_metadata import DAMAGED_METADATA
from tests.campaign.interleavings import INTERLEAVINGS
from tests.campaign.lost_file import LOST_FILE
from tests.campaign.mixed_reads import MIXED_READS
from tests.campaign.nth_fault import NTH_FAULT
from tests.campaign.one_pause import ONE_PAUSE
from tests.campaign.power_cut import POWER_CUT
from tests.campaign.python_filters import PYTHON_FILTERS
from tests.campaign.python_retries import PYTHON_RETRIES
from tests.campaign.python_shapes import PYTHON_SHAPES
from tests.campaign.rules_of_change import RULES_OF_CHANGE
from tests.campaign.second_fault import SECOND_FAULT
from tests.campaign.spark_techniques import SPARK_TECHNIQUES
from tests.campaign.stops_and_kills import STOPS_AND_KILLS
from tests.campaign.store_sessions import STORE_SESSIONS
from tests.campaign.technique import Technique

TECHNIQUES: Final[tuple[Technique, ...]] = (
    INTERLEAVINGS,
    STOPS_AND_KILLS,
    POWER_CUT,
    NTH_FAULT,
    SECOND_FAULT,
    ONE_PAUSE,
    LOST_FILE,
    DAMAGED_METADATA,
    DAMAGED_DATA,
    CLOCK_JUMPS,
    RULES_OF_CHANGE,
    MIXED_READS,
    STORE_SESSIONS,
    PYTHON_FILTERS,
    PYTHON_RETRIES,
    PYTHON_SHAPES,
    *SPARK_TECHNIQUES,
)
