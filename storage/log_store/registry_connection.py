"""Asks one address of a schema registry by HTTP."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Final

_CONTENT: Final = "application/vnd.schemaregistry.v1+json"
_TIMEOUT_S: Final = 5.0
_NOT_FOUND: Final = 404
_NO_SCHEMA: Final = frozenset((40401, 40402, 40403))
_SERVER_FAILS: Final = 500
_LATER: Final = (408, 429)
"""What a server answers that has too much to do just now."""

AWAY: Final = (OSError, ValueError, http.client.HTTPException, RecursionError)
"""What an answer raises that does not come, or is cut, or is none of a registry."""


class RegistryRefusedError(Exception):
    """The registry refuses; asking again does not help."""


@dataclass(frozen=True, slots=True)
class RegistryConnection:
    """An address of a registry, without user and password.

    Attributes:
        url: the address.
        authorization: the header that says who asks; None: nobody says.
        context: whom to trust; None: as the machine does.
    """

    url: str
    authorization: str | None = field(repr=False)
    context: ssl.SSLContext | None

    def answer(self, path: str, content: Mapping[str, str] | None) -> dict[str, Any] | None:
        """Return the answer to a GET, or with content to a POST; None: there is no such schema.

        Raises:
            RegistryRefusedError: see there.
            AWAY: it does not answer.
        """
        data = None if content is None else json.dumps(content).encode()
        asked = urllib.request.Request(self.url + path, data, {"Accept": _CONTENT})
        if data is not None:
            asked.add_header("Content-Type", _CONTENT)
        if self.authorization is not None:
            asked.add_header("Authorization", self.authorization)
        https = urllib.request.HTTPSHandler(context=self.context)
        opener = urllib.request.build_opener(https, _RedirectsWithin)
        try:
            with opener.open(asked, timeout=_TIMEOUT_S) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            _check_unknown(error)
            return None
        if not isinstance(found, dict):
            raise RegistryRefusedError("it answers as no schema registry does")
        return found


class _RedirectsWithin(urllib.request.HTTPRedirectHandler):
    """Follows redirects to the same server alone: others get neither password nor trust."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        here, there = (urllib.parse.urlsplit(url) for url in (req.full_url, newurl))
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise RegistryRefusedError(f"it sends to {there.hostname}; give that address instead")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_unknown(error: urllib.error.HTTPError) -> None:
    """Return if the answer is that there is no such schema, and raise for any other one."""
    text = error.read().decode(errors="replace")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    known = found if isinstance(found, dict) else {}
    if error.code == _NOT_FOUND and known.get("error_code") in _NO_SCHEMA:
        return
    reason = f"{error.code} {known.get('message') or error.reason}".strip()
    if error.code >= _SERVER_FAILS or error.code in _LATER:
        raise OSError(reason)
    raise RegistryRefusedError(reason)
