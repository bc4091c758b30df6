"""How long to wait before the next attempt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a commit is attempted again."""

    max_retries: int = 10
    min_wait_ms: int = 10
    max_wait_ms: int = 10_000

    def wait_ms(self, attempt: int, chance: int) -> int:
        """Return the pause after the attempt with this number (from 0).

        `chance` is any number: half of the pause depends on it, so that writers which met once do
        not meet again.
        """
        longest = min(self.max_wait_ms, self.min_wait_ms << min(attempt, 20))
        return longest // 2 + chance % (longest // 2 + 1)
