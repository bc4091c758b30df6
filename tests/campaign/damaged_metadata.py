"""Damages of files that are not table data: every bit once, then whatever chance brings."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import chain
from typing import Final

from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.bit_flips import flipped_bits, random_damages, torn
from tests.fakes.metadata_files import metadata_files

_KINDS_MAX: Final = 25
"""At least as many cases as there are kinds of files try all of them."""

_RANDOM: Final = 500


def _damage(case: Case) -> Counts:
    files = metadata_files(case.folder / "warehouse")
    kind = sorted(files)[case.number % len(files)]
    content = files[kind].content
    damages = random_damages(content, case.random(), _RANDOM)
    if case.number < len(files):
        damages = chain(flipped_bits(content), torn(content), damages)
    logging.disable(logging.WARNING)  # one for every file that is passed over
    try:
        outcome = files[kind].survey(damages)
    finally:
        logging.disable(logging.NOTSET)
    if outcome.silent or outcome.unnamed:
        raise AssertionError(f"{kind}: {[*outcome.silent, *outcome.unnamed][:20]}")
    noticed = {"damages refused": outcome.refused, "damages passed over": outcome.passed_over}
    return Counter({**noticed, "damages without effect": outcome.harmless})


DAMAGED_METADATA: Final = Technique(
    name="damaged-metadata",
    goal="a damaged file that is not table data is named, or passed over where it is only a hint",
    suite_cases=_KINDS_MAX,
    release_cases=_KINDS_MAX * 50,
    run_case=_damage,
)
