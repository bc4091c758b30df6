"""Requests of a job runner: the program that hosts the jobs of a warehouse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NewType

from table_store.catalog.planner.protocol.jobs import JobText, StartedJob
from table_store.catalog.planner.protocol.json_form import from_json, to_json
from table_store.catalog.planner.protocol.relations import CatalogReference
from table_store.storage.kernel.frozen_map import FrozenMap

HostText = NewType("HostText", str)
"""A `HostState` as JSON; empty at first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A job that has failed again and again: so often, and not again before this time."""

    count: int
    after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTurn:
    """What a runner knows of a scheduled view.

    Attributes:
        attempted_ms: when it last began to refresh the view, ms since 1970.
        seen: the snapshots of what the view reads, by directory, as they were then.
        failures: refreshes in a row that have failed.
        is_running: whether a refresh is under way.
    """

    attempted_ms: int = 0
    seen: Mapping[str, int] = FrozenMap()
    failures: int = 0
    is_running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """What a runner remembers from one look to the next.

    Attributes:
        lease: the number of the lease's last entry.
        lease_since_ms: since when it has been this one, by a steady clock.
        handled: the numbers of the submissions that it has read, by the digests of sinks.
        asked_ms: when somebody has asked for a table to be brought up to then, likewise.
        restarts: by the ids of jobs.
        views: by their directories.
        told_ms: when it last wrote the status of the jobs.
        told: a digest of that status.
    """

    lease: int = 0
    lease_since_ms: int = 0
    handled: Mapping[str, int] = FrozenMap()
    asked_ms: Mapping[str, int] = FrozenMap()
    restarts: Mapping[str, Restart] = FrozenMap()
    views: Mapping[str, ViewTurn] = FrozenMap()
    told_ms: int = 0
    told: str = ""

    @property
    def text(self) -> HostText:
        """What the bridge keeps; `of` is the inverse."""
        return HostText(json.dumps(to_json(self)))

    @classmethod
    def of(cls, text: HostText) -> HostState:
        """Return the state that `text` stands for."""
        return from_json(cls, json.loads(text)) if text else cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedView:
    """A refresh that has ended; `error` if it has failed."""

    path: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostJobs:
    """A look at what a runner is to do.

    Attributes:
        catalog: of the warehouse.
        host: a `HostState`.
        jobs: all jobs of this program, as they are.
        refreshed: the views whose refreshes have ended since the last look.
        is_leaving: whether the program is about to end; all jobs have.
    """

    catalog: CatalogReference
    host: HostText
    jobs: tuple[JobText, ...]
    refreshed: tuple[RefreshedView, ...]
    is_leaving: bool


class HostCommand(Enum):
    """What the runner tells a job that it hosts: a `JobCommand`, or to be brought up to now."""

    FLUSH = "flush"
    REFRESH = "refresh"
    DRAIN = "drain"
    STOP = "stop"
    SUSPEND = "suspend"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldJob:
    """A job, by its id, and what it is told; `reason` why it is suspended."""

    job: str
    command: HostCommand
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DueView:
    """A view that is to be refreshed: its directory, and the statement that does it."""

    path: str
    statement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedWork:
    """What a runner does next.

    Attributes:
        host: a `HostState`.
        is_host: whether it has the lease; else another program hosts the jobs.
        start: jobs that begin.
        tell: jobs that are told something.
        refresh: views that are due.
    """

    host: HostText
    is_host: bool
    start: tuple[StartedJob, ...] = ()
    tell: tuple[ToldJob, ...] = ()
    refresh: tuple[DueView, ...] = ()
