"""The process of the service: its address, its end, its log."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn

from table_store.catalog.names.table_place import plain_path
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.process_log import set_up_log
from table_store.catalog.service.application import application_of
from table_store.catalog.service.connection import BoundedProtocol
from table_store.catalog.service.guard import LOOPBACK_NAMES
from table_store.catalog.service.service_errors import ServiceSettingsError
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import NotFoundError
from table_store.storage.kernel.ids import RandomIds

CONNECTIONS_MAX: Final = 200
HEADER_BYTES_MAX: Final = 16 << 10
GRACE_SECONDS: Final = 5
TOKEN_LENGTH_MIN: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How the service is started.

    Attributes:
        warehouse: its path or URI.
        host: the name or address at which it listens.
        port: 0 for one that is free.
        token_file: a file with the token that requests must bear.
        certificate: a file with the certificate for TLS, in PEM.
        key: a file with its key.
        is_log_json: whether each line of the log is a JSON object.
    """

    warehouse: str
    host: str
    port: int
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    is_log_json: bool = False


def serve(settings: ServiceSettings, told: Callable[[str], None]) -> None:
    """Serve until a signal to end; `told` gets the address when the service answers.

    Raises:
        NotFoundError: the warehouse is not there.
        PathNotAllowedError: its path is not absolute.
        ServiceSettingsError: the settings do not fit, or the address is not to be had.
    """
    set_up_log(is_json=settings.is_log_json)
    root = plain_path(settings.warehouse)
    warehouse = Warehouse(file_io_for(root), root, SystemClock(), RandomIds())
    if not warehouse.file_io.exists(root):
        raise NotFoundError(kind="warehouse", name=root)
    token = _token(settings.token_file)
    _check_tls(settings)
    with _listening(settings) as listener:
        is_loopback = ipaddress.ip_address(listener.getsockname()[0]).is_loopback
        if not is_loopback and token is None:
            raise ServiceSettingsError(
                reason=f"{settings.host} can be reached from other machines, and there is no token",
                remedy="Name a file with one as --token-file, or leave out --host",
            )
        names = LOOPBACK_NAMES | {settings.host.lower()} if is_loopback else None
        config = uvicorn.Config(
            application_of(warehouse, token=token, hosts=names),
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS_MAX,
            h11_max_incomplete_event_size=HEADER_BYTES_MAX,
            timeout_graceful_shutdown=GRACE_SECONDS,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.key,
        )
        scheme = "http" if settings.certificate is None else "https"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"{scheme}://{host}:{listener.getsockname()[1]}/"
        _Server(config, lambda: told(address)).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Tells when it has begun, and ends at a signal as at any other reason to end."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._begun()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Uvicorn's own sends itself the signal again behind a good end, which looks like a crash.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < TOKEN_LENGTH_MIN or not token.isascii() or not token.isprintable():
        raise ServiceSettingsError(
            reason=f"the token in {file} is no line of {TOKEN_LENGTH_MIN} or more ASCII characters",
            remedy=f"Make one with: openssl rand -hex 32 > {file}",
        )
    return token


def _check_tls(settings: ServiceSettings) -> None:
    if (settings.certificate is None) != (settings.key is None):
        raise ServiceSettingsError(
            reason="TLS needs a certificate and its key",
            remedy="Give both --tls-certificate and --tls-key",
        )
    if settings.certificate is not None:
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(settings.certificate, settings.key)
        except ssl.SSLError as error:
            raise ServiceSettingsError(
                reason=f"{settings.certificate} and {settings.key} are no certificate and its key "
                f"({error.reason or error})",
                remedy="Give a certificate and its key in PEM",
            ) from None


@contextmanager
def _listening(settings: ServiceSettings) -> Iterator[socket.socket]:
    if not 0 <= settings.port <= 65535:
        raise _unreachable(settings, "ports are 0 to 65535")
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, _, _, address = found[0]
        listener = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        raise _unreachable(settings, str(error)) from None
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except (OSError, OverflowError) as error:
            raise _unreachable(settings, str(error)) from None
        yield listener


def _unreachable(settings: ServiceSettings, reason: str) -> ServiceSettingsError:
    return ServiceSettingsError(
        reason=f"it cannot listen at {settings.host}, port {settings.port} ({reason})",
        remedy="Choose another --host or --port; port 0 is any that is free",
    )
