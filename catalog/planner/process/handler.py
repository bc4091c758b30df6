"""A function that answers a request, with the JSON conversion of its parameter and answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.json_form import from_json, request_name, writer_of


@dataclass(frozen=True, slots=True)
class Handler:
    """One function; if it `takes_data`, it is also given a JVM object that comes with the request.

    JSON readers and writers of its types are built at the first request, so that the planner
    starts sooner.
    """

    function: Callable[..., Any]
    request: type[Any]
    answers: Any
    takes_data: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Handler:
        """Return the handler of `function(session, request, data)`, as its types are annotated."""
        hints = get_type_hints(function)
        return cls(function, hints["request"], hints["return"], "data" in hints)

    def answer(self, session: PlannerSession, request: Any, data: Any) -> Any:
        """Return the answer to a request; both are parsed JSON.

        Raises:
            ProtocolError: the request does not have the type of the function's parameter.
        """
        value, write = from_json(self.request, request), writer_of(self.answers)
        if self.takes_data:
            return write(self.function(session, value, data))
        return write(self.function(session, value))


def handlers(functions: Iterable[Callable[..., Any]]) -> Mapping[str, Handler]:
    """Return a handler for each function, by the name of the request that it answers."""
    made = map(Handler.of, functions)
    return {request_name(handler.request): handler for handler in made}
