import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from controller.handshake import handshake
from toolvet.controller.authority import (
    AUTHORITY_LIFE,
    LEAF_LIFE,
    MAX_AUTHORITIES,
    SIGNERS,
    Authority,
    ServingPair,
    bundle,
    completed,
    fits,
    issue,
    new_authority,
    read_authority,
    read_bundle,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ("gate.toolvet-system.svc", "gate.toolvet-system.svc.cluster.local")


def meet(folder: Path, pair: ServingPair, trusted: bytes, name: str = NAMES[0]) -> str | None:
    return handshake(folder, (pair.certificate, pair.key), trusted, name)


def now() -> datetime:
    return datetime.now(UTC)


def end(pair: ServingPair) -> datetime:
    return x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc


@pytest.mark.parametrize("name", NAMES)
def test_a_strict_client_accepts_the_pair_of_either_authority(tmp_path: Path, name: str) -> None:
    authorities = [new_authority(now()), new_authority(now())]
    for signer in authorities:
        assert meet(tmp_path, issue([signer], NAMES, now()), bundle(authorities), name) == "TLSv1.3"


def test_a_client_refuses_a_pair_of_another_authority_or_name(tmp_path: Path) -> None:
    pair = issue([new_authority(now())], NAMES, now())
    with pytest.raises(ssl.SSLCertVerificationError):
        meet(tmp_path, pair, bundle([new_authority(now())]))
    authority = new_authority(now())
    with pytest.raises(ssl.SSLCertVerificationError):
        meet(tmp_path, issue([authority], NAMES, now()), bundle([authority]), "gate.elsewhere.svc")


def test_the_longest_names_fit() -> None:
    names = [f"{'s' * 63}.{'n' * 63}.svc", f"{'s' * 63}.{'n' * 63}.svc.cluster.local"]
    authority = new_authority(NOW)
    pair = issue([authority], names, NOW)
    assert fits(pair.certificate, pair.key, [authority], names, NOW)


def test_authorities_survive_writing_and_reading() -> None:
    authority = new_authority(NOW)
    read = read_authority(authority.pem(), authority.key_pem())
    assert read is not None
    assert (read.pem(), read.key_pem()) == (authority.pem(), authority.key_pem())
    assert [each.certificate for each in read_bundle(authority.pem() * 2)] == [authority.certificate] * 2


def test_no_key_shows_in_a_repr() -> None:
    authority = new_authority(NOW)
    pair = issue([authority], NAMES, NOW)
    assert "key" not in repr(authority)
    assert "PRIVATE" not in repr(pair)


@pytest.mark.parametrize("key", [None, b"", b"rubbish", b"\xff\xfe"])
def test_an_authority_with_a_lost_key_is_only_trusted(key: bytes | None) -> None:
    read = read_authority(new_authority(NOW).pem(), key)
    assert read is not None
    assert read.key is None
    assert not read.can_sign(NOW)


def test_another_authority_s_key_does_not_count() -> None:
    read = read_authority(new_authority(NOW).pem(), new_authority(NOW).key_pem())
    assert read is not None
    assert read.key is None


@pytest.mark.parametrize(
    "torn", [b"", b"rubbish", b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"]
)
def test_what_is_no_authority_is_none(torn: bytes) -> None:
    assert read_authority(torn, None) is None
    assert read_bundle(torn) == []


def test_a_leaf_is_no_authority() -> None:
    leaf = issue([new_authority(NOW)], NAMES, NOW)
    assert read_authority(leaf.certificate, leaf.key) is None
    assert read_bundle(leaf.certificate) == []


def test_a_leaf_is_renewed_after_two_thirds_of_its_life() -> None:
    authorities = [new_authority(NOW)]
    pair = issue(authorities, NAMES, NOW)
    due = NOW + LEAF_LIFE * 2 / 3
    assert fits(pair.certificate, pair.key, authorities, NAMES, due - timedelta(hours=1))
    assert not fits(pair.certificate, pair.key, authorities, NAMES, due + timedelta(hours=1))


def test_a_leaf_of_the_future_another_name_or_another_authority_does_not_fit() -> None:
    authorities = [new_authority(NOW)]
    pair = issue(authorities, NAMES, NOW)
    assert not fits(pair.certificate, pair.key, authorities, NAMES, NOW - timedelta(days=1))
    assert not fits(pair.certificate, pair.key, authorities, ["other.toolvet-system.svc"], NOW)
    assert not fits(pair.certificate, pair.key, [new_authority(NOW)], NAMES, NOW)
    assert not fits(pair.certificate, issue(authorities, NAMES, NOW).key, authorities, NAMES, NOW)
    assert not fits(pair.certificate[:-40], pair.key, authorities, NAMES, NOW)


def test_there_are_two_that_can_sign_and_they_end_apart() -> None:
    authorities = completed({}, [], NOW)
    assert list(authorities) == [0, 1]
    assert authorities[1].end - authorities[0].end == AUTHORITY_LIFE / 2
    assert completed(authorities, [], NOW) == authorities


def test_over_ten_years_every_new_leaf_is_of_an_authority_trusted_for_months() -> None:
    authorities = completed({}, [], NOW)
    first = set(authorities)
    since = dict.fromkeys(authorities, NOW)
    pair, made = issue(authorities.values(), NAMES, NOW), NOW
    for day in range(3650):
        moment = NOW + timedelta(days=day)
        authorities = completed(authorities, [], moment)
        for number in authorities:
            since.setdefault(number, moment)
        assert len(authorities) <= SIGNERS + 1
        if fits(pair.certificate, pair.key, authorities.values(), NAMES, moment):
            continue
        assert moment - made >= LEAF_LIFE / 2
        pair, made = issue(authorities.values(), NAMES, moment), moment
        signer = next(
            number
            for number, authority in authorities.items()
            if fits(pair.certificate, pair.key, [authority], NAMES, moment)
        )
        assert authorities[signer].end >= end(pair)
        assert signer in first or moment - since[signer] >= timedelta(days=60)
    assert max(authorities) > 10


def test_an_authority_that_was_trusted_is_trusted_on_until_it_ends() -> None:
    lost = new_authority(NOW, timedelta(days=100))
    authorities = completed({}, [lost, lost], NOW)
    assert authorities[0] == Authority(lost.certificate)
    assert len(authorities) == 1 + SIGNERS
    assert completed(authorities, [lost], NOW) == authorities
    after = completed(authorities, [lost], lost.end + timedelta(seconds=1))
    assert all(each.certificate != lost.certificate for each in after.values())


def test_however_many_were_lost_the_bundle_stays_bounded_and_can_sign() -> None:
    lost = [new_authority(NOW + timedelta(minutes=number)) for number in range(20)]
    later = NOW + timedelta(hours=1)
    authorities = completed({}, lost, later)
    assert len(authorities) == MAX_AUTHORITIES
    assert sum(each.can_sign(later) for each in authorities.values()) == SIGNERS
    # The youngest of the lost stay: their leaves are the ones still served.
    assert lost[-1].certificate in [each.certificate for each in authorities.values()]
    assert lost[0].certificate not in [each.certificate for each in authorities.values()]
