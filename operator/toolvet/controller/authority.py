"""The gate's certificate authorities and serving pairs, as values; time is an argument, nothing is stored.

There are always two authorities that can sign, with staggered ends. A new leaf is signed by the one that
ends first among those that outlive it, so an authority has been trusted for months before it signs
anything, and losing either leaves a trusted other. Certificates follow RFC 5280 as strict verifiers read
it (``ssl.VERIFY_X509_STRICT``, on by default from Python 3.13).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=365)
LEAF_LIFE = timedelta(days=90)
SIGNERS = 2
MAX_AUTHORITIES = 8  # the bundle stands three times in one object; lost authorities must not fill it up
_CLOCK_SKEW = timedelta(minutes=10)  # an API server whose clock is behind ours must not refuse a new pair
_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm)


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA certificate, with its key where it can still sign; without one it is only trusted."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | None = field(default=None, repr=False)

    def can_sign(self, now: datetime) -> bool:
        """Tell whether it outlives a leaf made now."""
        return self.key is not None and self.start <= now and now + LEAF_LIFE <= self.end

    @property
    def start(self) -> datetime:
        """Since when it is valid."""
        return self.certificate.not_valid_before_utc

    @property
    def end(self) -> datetime:
        """Until when it is valid."""
        return self.certificate.not_valid_after_utc

    def pem(self) -> bytes:
        """Return the certificate."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes | None:
        """Return the private key, PKCS 8."""
        return None if self.key is None else _key_pem(self.key)


@dataclass(frozen=True, slots=True)
class ServingPair:
    """What a TLS server needs, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def new_authority(now: datetime, life: timedelta = AUTHORITY_LIFE) -> Authority:
    """Make a self-signed authority with a fresh P-256 key."""
    key = ec.generate_private_key(ec.SECP256R1())
    key_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    # A name of its own each: a verifier that goes by names alone never tries the wrong one.
    name = _name(f"toolvet-ca-{key_id.digest.hex()[:16]}")
    certificate = (
        _builder(name, name, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(key_id, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def read_authority(certificate: bytes, key: bytes | None) -> Authority | None:
    """Read an authority; None where the certificate is none, without key where the key does not fit it."""
    parsed = _certificate(certificate)
    if parsed is None or not _is_authority(parsed):
        return None
    signer = _private_key(key)
    if isinstance(signer, ec.EllipticCurvePrivateKey) and _is_pair(parsed, signer):
        return Authority(parsed, signer)
    return Authority(parsed)


def read_bundle(bundle: bytes) -> list[Authority]:
    """Read the authorities of a PEM bundle; empty where it cannot be read."""
    try:
        found = x509.load_pem_x509_certificates(bundle)
    except _UNREADABLE:
        return []
    return [Authority(certificate) for certificate in found if _is_authority(certificate)]


def bundle(authorities: Iterable[Authority]) -> bytes:
    """Return the PEM bundle of some authorities, in their order."""
    return b"".join(authority.pem() for authority in authorities)


def completed(
    known: Mapping[int, Authority], trusted_elsewhere: Iterable[Authority], now: datetime
) -> dict[int, Authority]:
    """Return the authorities to have from now on, by number.

    Those that ended go, those trusted elsewhere and not known come in without a key, and new ones are made
    until two can sign. The first of a fresh two lives half as long: that staggers all that follow.
    """
    kept = {number: authority for number, authority in known.items() if authority.end > now}
    number = max(known, default=-1) + 1
    for authority in trusted_elsewhere:
        known_already = any(authority.certificate == other.certificate for other in kept.values())
        if authority.end > now and not known_already:
            kept[number] = Authority(authority.certificate)
            number += 1
    able = [authority for authority in kept.values() if authority.can_sign(now)]
    while len(able) < SIGNERS:
        able.append(new_authority(now, AUTHORITY_LIFE if able else AUTHORITY_LIFE / 2))
        kept[number] = able[-1]
        number += 1

    def worth(item: tuple[int, Authority]) -> tuple[bool, bool, datetime, int]:
        authority = item[1]
        return authority.can_sign(now), authority.key is not None, authority.start, item[0]

    return dict(sorted(sorted(kept.items(), key=worth)[-MAX_AUTHORITIES:]))


def issue(authorities: Iterable[Authority], names: Sequence[str], now: datetime) -> ServingPair:
    """Make a serving pair for some DNS names; at least one authority can sign (see ``completed``)."""
    signer = min((each for each in authorities if each.can_sign(now)), key=lambda each: each.end)
    if signer.key is None:
        raise ValueError("an authority without a key cannot sign")
    key = ec.generate_private_key(ec.SECP256R1())
    authority_key_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    # The service's name may exceed the 64 characters of a common name; verifiers read the DNS names only.
    certificate = (
        _builder(_name("toolvet-webhook"), signer.certificate.subject, key.public_key(), now, LEAF_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority_key_id, critical=False)
        .sign(signer.key, hashes.SHA256())
    )
    return ServingPair(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def fits(
    certificate: bytes, key: bytes, authorities: Iterable[Authority], names: Sequence[str], now: datetime
) -> bool:
    """Tell whether a serving pair is whole, for these names, of a trusted authority, and not due for renewal.

    It is due after two thirds of its life, which ends with its authority's at the latest.
    """
    leaf, private = _certificate(certificate), _private_key(key)
    if leaf is None or private is None or not _is_pair(leaf, private):
        return False
    issuer = next((each.certificate for each in authorities if _issued(each.certificate, leaf)), None)
    if issuer is None or not _serves(leaf, names):
        return False
    start = leaf.not_valid_before_utc
    end = min(leaf.not_valid_after_utc, issuer.not_valid_after_utc)
    return start <= now < start + (end - start) * 2 / 3


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + life)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate(pem: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(pem)
    except _UNREADABLE:
        return None


def _private_key(pem: bytes | None) -> PrivateKeyTypes | None:
    try:
        return None if pem is None else serialization.load_pem_private_key(pem, password=None)
    except _UNREADABLE:
        return None


def _is_pair(certificate: x509.Certificate, key: PrivateKeyTypes) -> bool:
    try:
        return certificate.public_key() == key.public_key()
    except _UNREADABLE:
        return False


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, x509.DuplicateExtension, *_UNREADABLE):
        return False


def _issued(authority: x509.Certificate, leaf: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (InvalidSignature, *_UNREADABLE):
        return False
    return True


def _serves(leaf: x509.Certificate, names: Sequence[str]) -> bool:
    try:
        known = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, *_UNREADABLE):
        return False
    return ExtendedKeyUsageOID.SERVER_AUTH in usage and set(names).issubset(
        known.get_values_for_type(x509.DNSName)
    )
