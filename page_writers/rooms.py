"""Which room of the code imports which, from the imports themselves."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from page_writers.sources import HOUSES, PACKAGE, modules


def room_graph() -> Mapping[str, frozenset[str]]:
    """Return what each room imports directly, by name.

    A room is a folder of modules alone. A module that stands beside rooms is shown by itself, with
    `.py`, for it may be above some of them and below others.
    """
    known = modules()
    folders = {_folder(module) for module in known}
    halls = {_folder(folder) for folder in folders}
    imports: dict[str, set[str]] = defaultdict(set)
    for module, path in known.items():
        room = _room(module, halls)
        if room is None:
            continue
        imported = {_room(name, halls) for name in _imported(path, known)}
        imports[room] |= {name for name in imported if name is not None and name != room}
    return {room: frozenset(imports[room]) for room in imports}


def room_lines(graph: Mapping[str, frozenset[str]]) -> str:
    """Return the rooms, each in front of all that it imports, with what it needs next.

    What a room reaches through another one that it imports is left out.
    """
    reached: dict[str, frozenset[str]] = {}
    lines = []
    width = max(len(room) for room in graph)
    for room in _bottom_first(graph):
        below = frozenset[str]().union(*(reached[name] for name in graph[room]))
        reached[room] = graph[room] | below
        lines.append(f"{room:<{width}}  → {', '.join(sorted(graph[room] - below)) or '–'}")
    return "\n".join(reversed(lines)) + "\n"


def _bottom_first(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the rooms in an order in which each comes after all that it imports.

    Raises:
        ValueError: there is no such order.
    """
    ordered: list[str] = []
    left = set(graph)
    while left:
        free = sorted((r for r in left if graph[r].isdisjoint(left)), reverse=True)
        if not free:
            raise ValueError(f"rooms import each other: {', '.join(sorted(left))}")
        ordered += free
        left -= set(free)
    return ordered


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of ours that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            yield from (name for name in names if name in known)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)


def _room(module: str, halls: set[str]) -> str | None:
    path = module.removeprefix(f"{PACKAGE}.").split(".")
    if path[0] not in HOUSES:
        return None
    if _folder(module) in halls:
        return "/".join(path) + ".py"
    return "/".join(path[:-1])


def _folder(module: str) -> str:
    return module.rpartition(".")[0]
