"""A function that answers a request, with what turns JSON into its parameter and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.json_form import from_json, request_name, writer_of


@dataclass(frozen=True, slots=True)
class Handler:
    """One function; those that `takes_data` are given a value of the JVM's beside the request.

    What its types need is worked out at the first request: the planner starts without that.
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
        """Return the answer, as JSON, to a request, which is JSON.

        Raises:
            ProtocolError: the request is not what this function takes.
        """
        value, write = from_json(self.request, request), writer_of(self.answers)
        if self.takes_data:
            return write(self.function(session, value, data))
        return write(self.function(session, value))


def handlers(functions: Iterable[Callable[..., Any]]) -> Mapping[str, Handler]:
    """Return the handlers of functions by the names of the requests that they answer."""
    made = map(Handler.of, functions)
    return {request_name(handler.request): handler for handler in made}
