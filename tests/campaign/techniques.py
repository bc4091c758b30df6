"""All techniques of the campaign."""

from __future__ import annotations

from typing import Final

from tests.campaign.damaged_metadata import DAMAGED_METADATA
from tests.campaign.interleavings import INTERLEAVINGS
from tests.campaign.nth_fault import NTH_FAULT, SECOND_FAULT
from tests.campaign.spark_techniques import SPARK_TECHNIQUES
from tests.campaign.technique import Technique

TECHNIQUES: Final[tuple[Technique, ...]] = (
    INTERLEAVINGS,
    NTH_FAULT,
    SECOND_FAULT,
    DAMAGED_METADATA,
    *SPARK_TECHNIQUES,
)
