"""Keys with certificates of an authority that exists for a test alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

PASSWORD: Final = "store-s3cret"


@dataclass(frozen=True, slots=True)
class Identity:
    """A key and its certificate; both are in files of PEM and of PKCS #12, under `PASSWORD`."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    pem: Path
    p12: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates; what clients need to trust them is in files, too."""

    identity: Identity
    pem: Path
    p12: Path


def new_authority(folder: Path) -> Authority:
    own = _identity(folder, "authority", None)
    pem, p12 = folder / "trusted.pem", folder / "trusted.p12"
    pem.write_bytes(own.certificate.public_bytes(Encoding.PEM))
    encryption = BestAvailableEncryption(PASSWORD.encode())
    data = pkcs12.serialize_key_and_certificates(None, None, None, [own.certificate], encryption)
    p12.write_bytes(data)
    return Authority(own, pem, p12)


def signed(authority: Authority, folder: Path, name: str) -> Identity:
    """Return one that the authority vouches for, which may also be a server on the loopback."""
    return _identity(folder, name, authority.identity)


def _identity(folder: Path, name: str, signer: Identity | None) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
    builder = builder.issuer_name(subject if signer is None else signer.certificate.subject)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1))
    builder = builder.not_valid_after(now + timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    builder = builder.add_extension(names, critical=False)
    constraints = x509.BasicConstraints(ca=signer is None, path_length=None)
    builder = builder.add_extension(constraints, critical=True)
    certificate = builder.sign(key if signer is None else signer.key, hashes.SHA256())
    encryption = BestAvailableEncryption(PASSWORD.encode())
    pem, p12 = folder / f"{name}.pem", folder / f"{name}.p12"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    pem.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
    p12.write_bytes(
        pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, None, encryption)
    )
    return Identity(key, certificate, pem, p12)
