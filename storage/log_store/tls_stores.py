"""Files of certificates and keys, in PEM or PKCS #12, for a connection by TLS."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store.secret_reference import resolved

_JKS: Final = bytes.fromhex("feedfeed")
_PEM: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s.*?-----END \1-----", re.DOTALL)
"""Around the blocks there may be any text. Source: RFC 7468."""

_CONVERT: Final = (
    "it is Java's own format; make one in PKCS #12 of it: keytool -importkeystore -srckeystore "
    "… -destkeystore … -deststoretype PKCS12"
)


@dataclass(frozen=True, slots=True)
class TlsStores:
    """Whom a client trusts, and who it is.

    Attributes:
        truststore: a file with certificates; None: those that Python trusts.
        truststore_password: of it, or where that is.
        keystore: a file with a key and its certificate; None: the client shows none.
        keystore_password: of it, or where that is.
    """

    truststore: str | None = None
    truststore_password: str | None = field(default=None, repr=False)
    keystore: str | None = None
    keystore_password: str | None = field(default=None, repr=False)

    def context(self, prefix: str) -> ssl.SSLContext:
        """Return what a connection needs; the files are read, for they may be renewed.

        Args:
            prefix: of the options that name them.

        Raises:
            InvalidOptionError: one cannot be read, or its password is another one.
        """
        options = f"{prefix}.ssl"
        if self.truststore is None:
            context = ssl.create_default_context()
        else:
            key = f"{options}.truststore"
            password = _password(key, self.truststore_password)
            trusted = _trusted(f"{key}.location", self.truststore, password)
            try:
                context = ssl.create_default_context(cadata=trusted)
            except (ssl.SSLError, ValueError) as error:
                raise _unreadable(f"{key}.location", self.truststore, str(error)) from error
        if self.keystore is not None:
            key = f"{options}.keystore"
            password = _password(key, self.keystore_password)
            _show_key(context, f"{key}.location", self.keystore, password)
        return context


def _password(key: str, given: str | None) -> bytes | None:
    return None if given is None else resolved(f"{key}.password", given).encode()


def _trusted(key: str, path: str, password: bytes | None) -> str:
    """Return certificates in PEM."""
    data = _content(key, path)
    blocks = _blocks(data)
    if blocks:
        found_there = [block for kind, block in blocks if kind.endswith("CERTIFICATE")]
        if not found_there:
            raise _unreadable(key, path, "it has no certificate")
        return "\n".join(found_there)
    found = _pkcs12(key, path, data, password)
    certificates = [one.certificate for one in found.additional_certs]
    if found.cert is not None:
        certificates.append(found.cert.certificate)
    if not certificates:
        raise _unreadable(key, path, "it has no certificate")
    return "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)


def _show_key(context: ssl.SSLContext, key: str, path: str, password: bytes | None) -> None:
    data = _content(key, path)
    if not _blocks(data):
        found = _pkcs12(key, path, data, password)
        if found.key is None or found.cert is None:
            raise _unreadable(key, path, "it has no key with its certificate")
        chain = [found.cert, *found.additional_certs]
        secret = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        data = secret + b"".join(one.certificate.public_bytes(Encoding.PEM) for one in chain)
        password = None
    # Python reads a key from a file alone; nobody else can open this one, and it goes at once.
    handle, name = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        context.load_cert_chain(name, password=password or b"")
    except (OSError, ValueError) as error:
        raise _unreadable(key, path, str(error)) from error
    finally:
        os.unlink(name)


def _blocks(data: bytes) -> list[tuple[str, str]]:
    """Return the kinds and the whole texts of what a file has in PEM."""
    found = ((block[1], block[0]) for block in _PEM.finditer(data))
    return [(kind.decode(), block.decode()) for kind, block in found if block.isascii()]


def _content(key: str, path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(key, path, error.strerror or str(error)) from error
    if data.startswith(_JKS):
        raise _unreadable(key, path, _CONVERT)
    return data


def _pkcs12(
    key: str, path: str, data: bytes, password: bytes | None
) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(data, password)
    except ValueError as error:
        reason = "it is neither PEM nor PKCS #12, or has another password"
        raise _unreadable(key, path, reason) from error


def _unreadable(key: str, path: str, reason: str) -> InvalidOptionError:
    return InvalidOptionError(key=key, value=path, reason=f"this file cannot be used: {reason}")
