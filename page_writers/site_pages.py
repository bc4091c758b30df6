"""A hook of mkdocs: pages that lie elsewhere in the repository, and the links to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_PAGES: Final = {
    "README.md": "index.md",
    "storage/FORMAT.md": "table-format.md",
    "catalog/FORMAT.md": "warehouse-format.md",
}
_LINK: Final = re.compile(r"\]\(((?:\.\./)?[\w/-]+\.md)((?:#[\w-]+)?)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for path, page in _PAGES.items():
        text = (_REPOSITORY / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=linked(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page of docs/ whose links to files beside docs/ lead to their pages."""
    return linked(markdown)


def linked(markdown: str) -> str:
    """Return Markdown whose links, as in the repository, lead to pages of the site."""

    def replaced(link: re.Match[str]) -> str:
        path = link[1].removeprefix("../")
        return f"]({_PAGES.get(path, path.removeprefix('docs/'))}{link[2]})"

    return _LINK.sub(replaced, markdown)
