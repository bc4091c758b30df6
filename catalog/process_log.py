"""The log of a process of ours, on standard error: lines for people, or JSON for programs."""

from __future__ import annotations

import json
import logging
import sys


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        item = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            item["trace"] = self.formatException(record.exc_info)
        return json.dumps(item, ensure_ascii=False)


def set_up_log(*, is_json: bool) -> None:
    """Let warnings and errors be logged; with `is_json` each as an object in a line of its own.

    The keys are `time`, `level`, `logger`, `message`, and `trace` where there is one.
    """
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(_JsonFormatter() if is_json else plain)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
