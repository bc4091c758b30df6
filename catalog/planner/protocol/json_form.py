"""Dataclasses as JSON: an object whose keys are the names of the fields in camelCase.

Reading is strict: an unknown key, a missing key and a value of another type are errors, so that a
mismatch between Scala and Python is found at the first request. None is written as an absent key;
a field with a default may be absent, too. For a union of dataclasses the key `kind` names the
member. The reader and writer of a type are built once; a request then costs microseconds.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, NewType, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

KIND = "kind"
"""The key that names the member of a union."""

Reader: TypeAlias = Callable[[Any], Any]
Writer: TypeAlias = Callable[[Any], Any]
T = TypeVar("T")

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")
_PLAIN = (bool, int, str)


class ProtocolError(Exception):
    """JSON that is not what the other side of the border should send; tells no values."""

    def __init__(self, reason: str, path: tuple[str, ...] = ()) -> None:
        self.reason = reason
        self.path = path
        super().__init__(f"{'.'.join(path)}: {reason}" if path else reason)

    def within(self, key: str) -> ProtocolError:
        """Return the same error with `key` in front of its path."""
        return ProtocolError(self.reason, (key, *self.path))


def from_json(kind: Callable[..., T], value: Any) -> T:
    """Return the value of type `kind` that parsed JSON represents.

    Raises:
        ProtocolError: the JSON does not represent a value of this type.
    """
    read: T = reader_of(kind)(value)
    return read


def to_json(value: Any) -> Any:
    """Return a dataclass in the form that `json.dumps` takes; `from_json` is the inverse."""
    kind: Any = type(value)
    return writer_of(kind)(value)


def key_of(field_name: str) -> str:
    """Return the key of a field: `row_id` is `rowId`."""
    first, *rest = field_name.split("_")
    return first + "".join(map(str.capitalize, rest))


def request_name(kind: type[Any]) -> str:
    """Return the name under which a request of this type is sent: `LoadTable` is `load_table`."""
    return _WORD_START.sub("_", kind.__name__).lower()


def fields_of(kind: type[Any]) -> Mapping[str, bool]:
    """Return the keys of a dataclass, and whether each is required."""
    hints = get_type_hints(kind)
    return {
        key_of(field.name): not _has_default(field) and not _is_optional(hints[field.name])
        for field in dataclasses.fields(kind)
    }


@cache
def reader_of(kind: Any) -> Reader:
    """Return a function from parsed JSON to a value of type `kind`.

    Raises:
        TypeError: JSON cannot represent such a type.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return _unchanged
    if kind in _PLAIN or kind is type(None):
        return _plain_reader(kind)
    if isinstance(kind, NewType):
        return reader_of(kind.__supertype__)
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin is tuple:
        return _tuple_reader(arguments)
    if origin is Mapping:
        return _mapping_reader(reader_of(arguments[1]))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum_reader(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record_reader(kind)
    raise TypeError(f"no JSON stands for a {kind!r}")


@cache
def writer_of(kind: Any) -> Writer:
    """Return a function from a value of type `kind` to JSON.

    Raises:
        TypeError: JSON cannot represent such a type.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any or kind in _PLAIN or kind is type(None):
        return _unchanged
    if isinstance(kind, NewType):
        return writer_of(kind.__supertype__)
    if origin in (Union, types.UnionType):
        return _union_writer(arguments)
    if origin is tuple:
        return _tuple_writer(arguments)
    if origin is Mapping:
        return _mapping_writer(writer_of(arguments[1]))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: value.value
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record_writer(kind)
    raise TypeError(f"no JSON stands for a {kind!r}")


# -- readers ---------------------------------------------------------------------------------------


def _unchanged(value: Any) -> Any:
    return value


def _wrong(value: Any, expected: str) -> ProtocolError:
    return ProtocolError(f"expected {expected}, found {type(value).__name__}")


def _plain_reader(kind: type[Any]) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise _wrong(value, kind.__name__)
        return value

    return read


def _record_reader(kind: type[Any]) -> Reader:
    hints = get_type_hints(kind)
    fields = [
        (key_of(field.name), field.name, reader_of(hints[field.name]))
        for field in dataclasses.fields(kind)
    ]
    keys = frozenset(key for key, _, _ in fields)
    needed = frozenset(key for key, is_needed in fields_of(kind).items() if is_needed)
    absent = {field.name: None for field in dataclasses.fields(kind) if not _has_default(field)}

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _wrong(value, kind.__name__)
        if not value.keys() <= keys:
            raise ProtocolError(f"{kind.__name__} has no '{min(value.keys() - keys)}'")
        if not value.keys() >= needed:
            raise ProtocolError(f"{kind.__name__} needs '{min(needed - value.keys())}'")
        found = dict(absent)
        for key, name, reader in fields:
            if key in value:
                try:
                    found[name] = reader(value[key])
                except ProtocolError as error:
                    raise error.within(key) from None
        return kind(**found)

    return read


def _union_reader(members: tuple[Any, ...]) -> Reader:
    others = tuple(member for member in members if member is not type(None))
    read = reader_of(others[0]) if len(others) == 1 else _member_reader(others)
    if len(others) == len(members):
        return read
    return lambda value: None if value is None else read(value)


def _member_reader(members: tuple[Any, ...]) -> Reader:
    readers = {member.__name__: reader_of(member) for member in members}

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _wrong(value, " or ".join(readers))
        kind = value.get(KIND)
        if kind not in readers:
            raise ProtocolError(f"its kind is none of {', '.join(readers)}")
        return readers[kind]({key: part for key, part in value.items() if key != KIND})

    return read


def _tuple_reader(arguments: tuple[Any, ...]) -> Reader:
    if len(arguments) == 2 and arguments[1] is ...:
        reader = reader_of(arguments[0])

        def read_all(value: Any) -> Any:
            if type(value) is not list:
                raise _wrong(value, "list")
            return tuple(map(reader, value))

        return read_all
    readers = [reader_of(argument) for argument in arguments]

    def read_each(value: Any) -> Any:
        if type(value) is not list or len(value) != len(readers):
            raise _wrong(value, f"list of {len(readers)}")
        return tuple(read(part) for read, part in zip(readers, value, strict=True))

    return read_each


def _mapping_reader(reader: Reader) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _wrong(value, "object")
        return value if reader is _unchanged else {key: reader(p) for key, p in value.items()}

    return read


def _enum_reader(kind: type[Enum]) -> Reader:
    members = {member.value: member for member in kind}

    def read(value: Any) -> Any:
        try:
            return members[value]
        except (KeyError, TypeError):
            raise ProtocolError(f"it is none of {', '.join(map(repr, members))}") from None

    return read


# -- writers ---------------------------------------------------------------------------------------


def _record_writer(kind: type[Any]) -> Writer:
    hints = get_type_hints(kind)
    fields = [
        (key_of(field.name), field.name, writer_of(hints[field.name]))
        for field in dataclasses.fields(kind)
    ]

    def write(value: Any) -> Any:
        found = {}
        for key, name, writer in fields:
            part = getattr(value, name)
            if part is not None:
                found[key] = writer(part)
        return found

    return write


def _union_writer(members: tuple[Any, ...]) -> Writer:
    others = tuple(member for member in members if member is not type(None))
    if len(others) == 1:
        write = writer_of(others[0])
        return lambda value: None if value is None else write(value)
    writers = {member: writer_of(member) for member in others}

    def write_member(value: Any) -> Any:
        if value is None:
            return None
        return {KIND: type(value).__name__, **writers[type(value)](value)}

    return write_member


def _tuple_writer(arguments: tuple[Any, ...]) -> Writer:
    if len(arguments) == 2 and arguments[1] is ...:
        writer = writer_of(arguments[0])
        return list if writer is _unchanged else lambda value: list(map(writer, value))
    writers = [writer_of(argument) for argument in arguments]
    return lambda value: [write(p) for write, p in zip(writers, value, strict=True)]


def _mapping_writer(writer: Writer) -> Writer:
    if writer is _unchanged:
        return dict
    return lambda value: {key: writer(part) for key, part in value.items()}


def _has_default(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


def _is_optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)
