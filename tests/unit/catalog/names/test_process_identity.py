"""Goal: a process counts as dead only when this very run of it is known to have ended."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

from table_store.catalog.names.process_identity import (
    Liveness,
    ProcessIdentity,
    identity_of,
    liveness,
)


def test_this_process_runs() -> None:
    assert liveness(identity_of()) is Liveness.RUNNING


def test_a_process_that_ended_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identity_of(child.pid)
    assert liveness(identity) is Liveness.RUNNING
    child.communicate(b"\n")
    assert liveness(identity) is Liveness.DEAD


def test_a_number_used_again_is_another_process() -> None:
    assert liveness(replace(identity_of(), start="another")) is Liveness.DEAD


def test_another_machine_is_not_known() -> None:
    assert liveness(replace(identity_of(), host="elsewhere")) is Liveness.UNKNOWN


def test_json_round_trip() -> None:
    identity = identity_of()
    assert ProcessIdentity.from_json(identity.to_json()) == identity
    assert ProcessIdentity.from_json(None) is None
    assert ProcessIdentity.from_json({"host": "h", "pid": "1", "start": ""}) is None
