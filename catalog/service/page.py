"""The files of the page, read once: nothing else of this machine can be asked for."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is sent."""

    content: bytes
    media_type: str


def page_files() -> Mapping[str, PageFile]:
    """Return all files by the paths under which they are asked for; `/` is the page."""
    found = {}
    folder = importlib.resources.files("table_store.catalog.service").joinpath("static")
    for file in folder.iterdir():
        media_type = _TYPES.get(file.name.rpartition(".")[2])
        if media_type is not None:
            name = "" if file.name == "index.html" else f"static/{file.name}"
            found[f"/{name}"] = PageFile(file.read_bytes(), media_type)
    return found
