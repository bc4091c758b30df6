"""The small damages of a file, and whether its reader notices them.

    outcome = survey(content, flipped_bits(content), read, name="snapshot-1")
    assert not outcome.silent and not outcome.unnamed

`read` takes the damaged content and returns what the program makes of it; `DamagedFile` is for
readers that go through a `FileIO`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.errors import FileAccessError, TableStoreError

_SECTOR: Final = 512


@dataclass(frozen=True, slots=True)
class Damage:
    """What a file holds in place of what was written."""

    label: str
    content: bytes


@dataclass(slots=True)
class Outcome:
    """What a reader made of damages, counted; those it should have noticed by their labels."""

    refused: int = 0
    harmless: int = 0
    passed_over: int = 0
    silent: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)


def flipped_bits(content: bytes, *, step: int = 1) -> Iterator[Damage]:
    """Yield the content with each single bit, or every `step`-th one, turned over."""
    for bit in range(0, 8 * len(content), step):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        yield Damage(f"bit {bit % 8} of byte {bit // 8}", bytes(damaged))


def torn(content: bytes, *, step: int = 1) -> Iterator[Damage]:
    """Yield what a power cut may leave: cut off, zeros in place of sectors or all; and more."""
    for size in range(0, len(content), step):
        yield Damage(f"cut off after {size} bytes", content[:size])
    for start in range(0, len(content), _SECTOR):
        end = min(start + _SECTOR, len(content))
        zeros = bytes(end - start)
        yield Damage(f"zeros from {start} to {end}", content[:start] + zeros + content[end:])
        yield Damage(f"zeros from {start} on", content[:start] + bytes(len(content) - start))
    for more in (b"\0", b"\n", b" ", content[-1:], content):
        yield Damage(f"{len(more)} bytes more, {more[:1]!r}", content + more)


def random_damages(content: bytes, chance: random.Random, count: int) -> Iterator[Damage]:
    """Yield the content with bits, stretches and digits changed, moved, left out or put in."""
    for _ in range(count):
        damaged = bytearray(content)
        start, other = (chance.randrange(len(content)) for _ in range(2))
        size = chance.randint(1, 64)
        stretch = content[start : start + size]
        how = chance.choice(("bits", "noise", "copied", "left out", "put in", "digits"))
        match how:
            case "bits":
                for _ in range(chance.randint(2, 5)):
                    damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            case "noise":
                damaged[start : start + size] = chance.randbytes(len(stretch))
            case "copied":
                damaged[other : other + size] = stretch
            case "left out":
                del damaged[start : start + size]
            case "put in":
                damaged[other:other] = stretch
            case "digits":
                digits = [at for at, byte in enumerate(content) if chr(byte).isdecimal()]
                for at in chance.sample(digits, min(len(digits), chance.randint(1, 3))):
                    damaged[at] = ord(chance.choice("0123456789"))
        if damaged != content:
            yield Damage(f"{how}, {size} bytes of {start} and at {other}", bytes(damaged))


def survey(
    content: bytes,
    damages: Iterable[Damage],
    read: Callable[[bytes], object],
    *,
    name: str,
    nothing: object = None,
) -> Outcome:
    """Return how a reader takes the damages of a file.

    Args:
        content: what was written.
        damages: of it; none of them may be the content itself.
        read: returns what a file with the given content says.
        name: of the file, which every error has to have.
        nothing: what a file that is only a hint may be read as when it is damaged.
    """
    expected = read(content)
    outcome = Outcome()
    for damage in damages:
        if damage.content == content:
            raise ValueError(f"{damage.label}: that is no damage")
        try:
            found = read(damage.content)
        except TableStoreError as error:
            if name in str(error):
                outcome.refused += 1
            else:
                outcome.unnamed.append(f"{damage.label}: {error}")
        except Exception as error:  # noqa: BLE001 - that it is none of ours is what is looked for
            outcome.unnamed.append(f"{damage.label}: {error!r}")
        else:
            if found == expected:
                outcome.harmless += 1
            elif nothing is not None and found == nothing:
                outcome.passed_over += 1
            else:
                outcome.silent.append(f"{damage.label}: {found!r}")
    return outcome


@dataclass(frozen=True)
class DamagedFile(LocalFileIO):
    """The local files, of which one has other content; nothing is written there."""

    path: str = ""
    content: bytes = b""

    def read_bytes(self, path: str) -> bytes:
        return self.content if path == self.path else super().read_bytes(path)

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.content) if path == self.path else super().open_input(path)

    def write_bytes(
        self, path: str, data: bytes, *, durable: bool = True, private: bool = False
    ) -> None:
        raise FileAccessError(path=path, operation="write", reason="only read here")

    def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
        return False  # another one has always been quicker

    def delete(self, path: str, *, recursive: bool = False) -> None:
        raise FileAccessError(path=path, operation="delete", reason="only read here")
