"""Stock shells that modules share, each module in a namespace of its own.

A shell takes longer to start than most modules take to run. Whoever comes next finds its session as
it was when the shell started: the settings, the current namespace, no temporary tables and views.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.integration.catalog_conf import OWN_NAME, SMALL, SMALL_IN_SESSION, arguments
from tests.integration.closed_at_exit import ClosedAtExit
from tests.integration.stock_shell import StockShell


class SharedShells(ClosedAtExit):
    """Running shells by their arguments, each started when the first module asks for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ending = ExitStack()
        self._running: dict[tuple[str, ...], tuple[StockShell, dict[str, str]]] = {}

    @contextmanager
    def lent(self, name: str, *arguments: str) -> Iterator[StockShell]:
        """A shell with these arguments, in a new namespace of this name."""
        if arguments not in self._running:
            folder = self._folder / str(len(self._running))
            folder.mkdir()
            started = self._ending.enter_context(StockShell(folder, *arguments))
            started.ok("SELECT 1")  # some settings are made by the first result
            self._running[arguments] = (started, _settings(started))
        shell, settings = self._running[arguments]
        shell.ok(f"CREATE DATABASE {name}")
        shell.ok(f"USE {name}")
        shell.namespace = name
        yield shell
        _restore(shell, settings)

    @contextmanager
    def lent_with(self, settings: dict[str, str], name: str) -> Iterator[StockShell]:
        """A shell whose catalog has one of the two configurations, and small shuffles."""
        if settings == OWN_NAME:  # as it is without arguments
            with self.lent(name) as shell:
                for key, value in SMALL_IN_SESSION.items():
                    shell.ok(f"SET {key} = {value}")
                yield shell
        else:
            with self.lent(name, *arguments(SMALL, settings)) as shell:
                yield shell

    def close(self) -> None:
        """End all of them."""
        self._ending.close()


def _restore(shell: StockShell, settings: dict[str, str]) -> None:
    """Take back what a module has changed of its session; fails where something is left."""
    changed = _settings(shell)
    for key in changed.keys() - settings.keys():
        shell.ok(f"RESET {key}")
    for key, value in settings.items():
        if changed.get(key) != value:
            shell.ok(f"SET {key} = {value}")
    assert _settings(shell) == settings
    shell.ok(f"USE {shell.catalog}.default")
    shell.namespace = "default"
    assert _temporary(shell) == []


def _settings(shell: StockShell) -> dict[str, str]:
    return {row[0]: row[1] for row in shell.ok("SET")}


def _temporary(shell: StockShell) -> list[str]:
    """The names of what belongs to the session alone: in every namespace they come first."""
    tables = shell.folder.glob("spark-warehouse/_temporary/*/default.db/_names/*.json")
    views = (
        () if shell.catalog == "spark_catalog" else shell.ok("SHOW VIEWS IN spark_catalog.default")
    )
    return [*(table.stem for table in tables), *(row[1] for row in views)]
