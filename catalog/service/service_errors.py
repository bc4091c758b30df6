"""Errors of the service: at its start, and of requests to it."""

from __future__ import annotations

from table_store.storage.kernel.errors import TableStoreError


class ServiceNotInstalledError(TableStoreError):
    """A library that only the service needs is not there."""

    condition = "TABLE_STORE_SERVICE_NOT_INSTALLED"
    sql_state = "0A000"

    def __init__(self, *, package: str) -> None:
        self.package = package
        super().__init__(
            f"The service needs the package {package!r}, which is not in this environment: "
            "pip install 'spark-table-store[service]'."
        )


class ServiceSettingsError(TableStoreError):
    """The service cannot be started as it was asked to."""

    condition = "TABLE_STORE_SERVICE_SETTINGS"
    sql_state = "22023"

    def __init__(self, *, reason: str, remedy: str) -> None:
        self.reason = reason
        super().__init__(f"The service was not started: {reason}. {remedy}.")


class InvalidRequestError(TableStoreError):
    """A request to the service is not as it must be."""

    condition = "TABLE_STORE_INVALID_REQUEST"
    sql_state = "22023"

    def __init__(self, *, part: str, reason: str, status: int = 400) -> None:
        self.part = part
        self.reason = reason
        self.status = status
        super().__init__(f"The request was refused for its {part}: {reason}.")


class UnauthorizedError(TableStoreError):
    """A request to the service came without the token, or with another one."""

    condition = "TABLE_STORE_UNAUTHORIZED"
    sql_state = "28000"

    def __init__(self) -> None:
        super().__init__(
            "The service answers only who knows its token: send the header 'Authorization: Bearer "
            "<token>' with the content of the file that it was started with."
        )


class ServiceBusyError(TableStoreError):
    """More requests wait for the service than it lets wait."""

    condition = "TABLE_STORE_SERVICE_BUSY"
    sql_state = "53000"
    retriable = True

    def __init__(self, *, waiting: int) -> None:
        self.waiting = waiting
        super().__init__(f"{waiting} requests wait for the service already. Ask again in a second.")


class ServiceTimeoutError(TableStoreError):
    """The service did not get from storage in time what a request asks for."""

    condition = "TABLE_STORE_SERVICE_TIMEOUT"
    sql_state = "57014"
    retriable = True

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"Storage did not answer within {seconds:g} s. Ask again, or see to the storage if it "
            "stays so."
        )


class ServiceFaultError(TableStoreError):
    """A defect of the service, not a mistake of who asks."""

    condition = "TABLE_STORE_SERVICE_FAULT"
    sql_state = "58000"

    def __init__(self, *, kind: str, path: str) -> None:
        self.kind = kind
        super().__init__(
            f"{kind} while the service answered {path}. Its log has the trace; please report it."
        )
