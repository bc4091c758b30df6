"""Strategies of hypothesis over the classes of the envelope; they shrink to the plainest value."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from tests.values.edges import edges
from tests.values.kinds import Value

_LENGTHS: Final = (31, 32, 255, 256, 512)
_FILLS: Final = ("a", "é", "€", "😀")


def texts(*, alphabet: str = "") -> st.SearchStrategy[str]:
    """Texts that are UTF-8, short ones first; of these characters alone if there is an alphabet.

    Long ones have a long beginning in common.
    """
    fills = [fill for fill in _FILLS if not alphabet or fill in alphabet] or [alphabet[0]]
    long = st.builds(
        lambda fill, length, end: fill * length + end,
        st.sampled_from(fills),
        st.sampled_from(_LENGTHS),
        st.sampled_from(["", *fills, "b" if not alphabet or "b" in alphabet else ""]),
    )
    if alphabet:
        return st.one_of(st.text(alphabet, max_size=3), st.text(alphabet, max_size=3), long)
    short = st.sampled_from([text.decode() for text in edges("STRING")])
    return st.one_of(short, short, long)


def values(kind: str) -> st.SearchStrategy[Value]:
    """Values of a scalar kind; None is not among them."""
    return st.sampled_from(edges(kind))


def floats(kind: str = "DOUBLE") -> st.SearchStrategy[float]:
    """The values of FLOAT or DOUBLE as numbers."""
    return st.sampled_from([float(text) for text in edges(kind)])
