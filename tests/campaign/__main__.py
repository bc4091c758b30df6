"""`make campaign`: faults of every kind against real tables, for hours, resumable.

Every case is decided by seed and number. What held is added to a file of totals; a run that is
stopped goes on behind it, and another seed tries other cases. A case that fails leaves a script
that repeats it, and is tried again by the next run.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.campaign.run import Campaign, run_case, source_commit
from tests.campaign.techniques import TECHNIQUES
from tests.campaign.totals import KEPT_TOTALS, Totals
from tests.checkout import REPOSITORY


def main() -> int:
    """Run the campaign as the command line says; return the exit status."""
    arguments = _arguments()
    techniques = [t for t in TECHNIQUES if not arguments.only or t.name in arguments.only]
    if arguments.case is not None:
        for technique in techniques:
            print(technique.name, dict(run_case(technique, arguments.seed, arguments.case)))
        return 0
    totals = Totals.load(arguments.totals)
    seconds = float("inf") if arguments.minutes is None else arguments.minutes * 60
    campaign = Campaign(
        techniques=techniques,
        seed=arguments.seed,
        totals=totals,
        scripts=REPOSITORY / "build" / "campaign",
        folder=arguments.folder,
        cases=arguments.cases,
        stop_s=time.monotonic() + seconds,
    )
    # What was tried is also told when the run is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        campaign.run()
    except KeyboardInterrupt:
        print("stopped; the same command goes on")
    print(*totals.lines(), sep="\n")
    print(f"seed {arguments.seed}, commit {source_commit()}, {len(campaign.failures)} failures")
    return 1 if campaign.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    names = [technique.name for technique in TECHNIQUES]
    parser.add_argument("--only", nargs="+", choices=names, help="techniques; default: all")
    parser.add_argument("--seed", type=int, default=1, help="decides every case (default: 1)")
    parser.add_argument("--case", type=int, help="try this one only, and add it to no totals")
    parser.add_argument("--cases", type=int, help="of each technique; default: a release's")
    parser.add_argument("--minutes", type=float, help="end the run after so many")
    parser.add_argument("--totals", type=Path, default=KEPT_TOTALS, help="file to add counts to")
    parser.add_argument("--folder", type=Path, help="where tables are made; default: TMPDIR")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
