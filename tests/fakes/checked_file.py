"""Changes in a checked JSON file that its checksum agrees with."""

from __future__ import annotations

import json
from pathlib import Path

from table_store.storage.kernel.checked_json import to_checked_json


def rewritten(content: bytes, **changes: object) -> bytes:
    """Return a file's content with other entries, its version too, as if it was written so."""
    item = {**json.loads(content), **changes}
    del item["checksum"]
    return to_checked_json(item, version=item.pop("version"))


def rewrite(path: Path, **changes: object) -> None:
    """Do so to a file."""
    path.write_bytes(rewritten(path.read_bytes(), **changes))


def version_1(content: bytes, *, is_versioned: bool | None) -> bytes:
    """Return a file's content without checksum, and with the version it had then or none."""
    item = json.loads(content)
    del item["checksum"], item["version"]
    return json.dumps({"version": 1, **item} if is_versioned else item, indent=1).encode()
