"""Certificates kept on a real API server, with nothing but the rights the chart gives the controller."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from controller.handshake import handshake
from controller.release import CONFIGURATION, FULLNAME, RELEASE, Release
from controlplane.api import ApiError as AdminError
from controlplane.bed import ControlPlane
from controlplane.chart import CHART
from controlplane.waiting import wait_until
from toolvet.controller.authority import LEAF_LIFE, SIGNERS, new_authority, read_bundle
from toolvet.controller.serving import ServingSettings, ensure_serving, keep_serving
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.names import CA_MANAGER, SECRETS

pytestmark = pytest.mark.cluster

MODES = ["enforce.toolvet.dev", "warn.toolvet.dev", "audit.toolvet.dev"]


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    """Start one for this module: a webhook configuration without a gate would stop other tests."""
    with ControlPlane(audit=True) as bed:
        yield bed


@pytest.fixture(scope="module")
def installed(controlplane: ControlPlane) -> Iterator[Release]:
    with controlplane.namespace("certificates-") as namespace:
        controlplane.helm(
            *("install", RELEASE, CHART, "--namespace", namespace, "--set", "crds.enabled=false"),
        )
        deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments/{FULLNAME}-controller"
        container = controlplane.api("GET", deployments)["spec"]["template"]["spec"]["containers"][0]
        arguments = dict(zip(container["args"][1::2], container["args"][2::2], strict=True))
        settings = ServingSettings(
            namespace=arguments["--namespace"],
            ca_secret=arguments["--ca-secret"],
            tls_secret=arguments["--tls-secret"],
            service=arguments["--service"],
            webhook_configuration=arguments["--webhook-configuration"],
            check_seconds=0.2,
        )
        yield Release(controlplane, namespace, settings)
        controlplane.helm("uninstall", RELEASE, "--namespace", namespace)


@pytest.fixture
def release(installed: Release) -> Release:
    installed.delete(installed.ca)
    installed.delete(installed.tls)
    installed.bed.api("PUT", CONFIGURATION, installed.untrusted_configuration())
    return installed


@pytest.fixture
async def api(release: Release) -> AsyncIterator[ApiClient]:
    directory = release.bed.service_account(release.namespace, f"{FULLNAME}-controller")
    account = ServiceAccount(directory, release.bed.environment())
    async with connect(account, user_agent="toolvet-controller") as client:
        yield client


async def eventually(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(wait_until, condition, 20.0, "still not so")


def leaf(release: Release) -> x509.Certificate:
    return x509.load_pem_x509_certificate(release.data(release.tls)["tls.crt"])


async def test_from_nothing_to_a_trusted_pair(release: Release, api: ApiClient, tmp_path: Path) -> None:
    before = len(release.writes())
    changed = await ensure_serving(api, release.settings, now())
    assert (changed.authorities, changed.ca_bundle, changed.serving_pair) == (True, True, True)
    assert sorted(release.data(release.ca)) == ["ca-0.crt", "ca-0.key", "ca-1.crt", "ca-1.key"]
    assert release.secret(release.tls)["type"] == "kubernetes.io/tls"
    assert list(release.bundles()) == MODES
    assert release.data(release.tls)["ca.crt"] == release.bundle()
    assert len(read_bundle(release.bundle())) == SIGNERS
    assert release.verifies(tmp_path)
    # The API server trusts an authority before any gate can serve a leaf of it.
    order = [name for _, name in release.writes()[before:]]
    assert order == [release.ca, release.ca, FULLNAME, release.tls]


async def test_a_second_pass_writes_nothing(release: Release, api: ApiClient) -> None:
    await ensure_serving(api, release.settings, now())
    versions, writes = release.versions(), release.writes()
    changed = await ensure_serving(api, release.settings, now())
    assert not changed
    assert changed.configuration_found
    assert release.versions() == versions
    assert release.writes() == writes


async def test_the_trust_is_ours_and_the_rest_is_helm_s(release: Release, api: ApiClient) -> None:
    await ensure_serving(api, release.settings, now())
    managers = {
        entry["manager"]: json.dumps(entry["fieldsV1"])
        for entry in release.configuration()["metadata"]["managedFields"]
    }
    assert managers[CA_MANAGER].count("f:caBundle") == len(MODES)
    assert "f:rules" not in managers[CA_MANAGER]


@pytest.mark.parametrize("apply", ["--server-side=true", "--server-side=false"])
async def test_a_helm_upgrade_keeps_the_trust(release: Release, api: ApiClient, apply: str) -> None:
    await ensure_serving(api, release.settings, now())
    trusted = release.bundle()
    seconds = 7 if apply.endswith("true") else 8
    release.bed.helm(
        *("upgrade", RELEASE, CHART, "--namespace", release.namespace, apply),
        *("--set", f"crds.enabled=false,webhook.timeoutSeconds={seconds}"),
    )
    assert {webhook["timeoutSeconds"] for webhook in release.configuration()["webhooks"]} == {seconds}
    assert release.bundle() == trusted
    assert not await ensure_serving(api, release.settings, now())


async def test_a_lost_authority_secret_is_made_anew_and_the_old_ones_stay_trusted(
    release: Release, api: ApiClient, tmp_path: Path
) -> None:
    await ensure_serving(api, release.settings, now())
    before, old = release.data(release.tls), read_bundle(release.bundle())
    release.delete(release.ca)
    await ensure_serving(api, release.settings, now())
    trusted = read_bundle(release.bundle())
    assert trusted[: len(old)] == old
    assert len(trusted) == len(old) + SIGNERS
    # Still trusted, so still served: nothing a gate has to follow.
    after = release.data(release.tls)
    assert (after["tls.crt"], after["tls.key"]) == (before["tls.crt"], before["tls.key"])
    assert release.verifies(tmp_path)
    assert not await ensure_serving(api, release.settings, now())


async def test_both_secrets_lost_the_gates_pair_stays_trusted(
    release: Release, api: ApiClient, tmp_path: Path
) -> None:
    await ensure_serving(api, release.settings, now())
    served = release.data(release.tls)
    release.delete(release.ca)
    release.delete(release.tls)
    await ensure_serving(api, release.settings, now())
    # A gate goes on with the pair it has until its volume follows.
    host = release.settings.names[0]
    assert handshake(tmp_path, (served["tls.crt"], served["tls.key"]), release.bundle(), host)
    assert release.data(release.tls)["tls.crt"] != served["tls.crt"]
    assert release.verifies(tmp_path)
    assert not await ensure_serving(api, release.settings, now())


@pytest.mark.parametrize(
    "torn",
    [
        {"tls.crt": b""},
        {"tls.key": b""},
        {"tls.key": new_authority(now()).key_pem()},
        {"tls.crt": b"rubbish", "tls.key": b"\x00\xff"},
        {"tls.crt": new_authority(now()).pem()},
    ],
    ids=["no certificate", "no key", "another key", "rubbish", "another certificate"],
)
async def test_a_torn_pair_is_replaced(
    release: Release, api: ApiClient, tmp_path: Path, torn: dict[str, bytes | None]
) -> None:
    await ensure_serving(api, release.settings, now())
    trusted = release.bundle()
    release.write(release.tls, torn)
    changed = await ensure_serving(api, release.settings, now())
    assert (changed.authorities, changed.ca_bundle, changed.serving_pair) == (False, False, True)
    assert release.bundle() == trusted
    assert release.verifies(tmp_path)


@pytest.mark.parametrize("lost", ["ca-0.key", "ca-0.crt"])
async def test_an_authority_with_a_lost_half_is_replaced_and_stays_trusted(
    release: Release, api: ApiClient, tmp_path: Path, lost: str
) -> None:
    await ensure_serving(api, release.settings, now())
    served, old = release.data(release.tls)["tls.crt"], read_bundle(release.bundle())
    release.write(release.ca, {lost: b"rubbish"})
    await ensure_serving(api, release.settings, now())
    certificates = [each.certificate for each in read_bundle(release.bundle())]
    assert {each.certificate for each in old} < set(certificates)
    assert len(certificates) == len(old) + 1
    assert release.data(release.tls)["tls.crt"] == served
    assert release.verifies(tmp_path)
    assert not await ensure_serving(api, release.settings, now())


async def test_what_others_keep_in_the_secrets_stays(release: Release, api: ApiClient) -> None:
    await ensure_serving(api, release.settings, now())
    release.write(release.ca, {"note": b"theirs", "ca-0.key": None})
    release.write(release.tls, {"keystore.p12": b"theirs", "tls.key": b""})
    await ensure_serving(api, release.settings, now())
    assert release.data(release.ca)["note"] == b"theirs"
    assert release.data(release.tls)["keystore.p12"] == b"theirs"
    assert not await ensure_serving(api, release.settings, now())


async def test_trust_taken_away_or_spoiled_is_written_again(release: Release, api: ApiClient) -> None:
    await ensure_serving(api, release.settings, now())
    trusted = release.bundle()
    configuration = release.configuration()
    configuration["webhooks"][0]["clientConfig"].pop("caBundle")
    spoiled = base64.b64encode(new_authority(now()).pem()).decode()
    configuration["webhooks"][1]["clientConfig"]["caBundle"] = spoiled
    release.bed.api("PUT", CONFIGURATION, configuration)
    changed = await ensure_serving(api, release.settings, now())
    assert (changed.authorities, changed.ca_bundle, changed.serving_pair) == (False, True, False)
    assert release.bundle() == trusted


async def test_the_leaf_is_renewed_after_two_thirds_of_its_life(release: Release, api: ApiClient) -> None:
    start = now()
    await ensure_serving(api, release.settings, start)
    first, trusted = leaf(release), release.bundle()
    assert not await ensure_serving(api, release.settings, start + LEAF_LIFE * 2 / 3 - timedelta(hours=1))
    changed = await ensure_serving(api, release.settings, start + LEAF_LIFE * 2 / 3 + timedelta(hours=1))
    assert (changed.authorities, changed.ca_bundle, changed.serving_pair) == (False, False, True)
    assert leaf(release).not_valid_after_utc > first.not_valid_after_utc
    assert release.bundle() == trusted


async def test_two_years_pass_and_the_old_leaf_is_always_trusted(release: Release, api: ApiClient) -> None:
    start = now()
    await ensure_serving(api, release.settings, start)
    for days in range(10, 740, 10):
        served = leaf(release)
        moment = start + timedelta(days=days)
        await ensure_serving(api, release.settings, moment)
        # A gate may still serve the pair of the pass before.
        trusted = [each.certificate for each in read_bundle(release.bundle()) if each.end > moment]
        assert any(each.subject == served.issuer for each in trusted)
        assert served.not_valid_after_utc > moment
        assert len(trusted) <= SIGNERS + 1
    assert "ca-0.crt" not in release.data(release.ca)


async def test_leaves_of_both_authorities_verify(release: Release, api: ApiClient, tmp_path: Path) -> None:
    await ensure_serving(api, release.settings, now())
    trusted, first = release.bundle(), leaf(release)
    assert release.verifies(tmp_path)
    release.write(release.ca, {"ca-0.key": None})
    release.write(release.tls, {"tls.crt": b""})
    await ensure_serving(api, release.settings, now())
    assert leaf(release).issuer != first.issuer
    # Also for an API server that has only seen the bundle as it was before.
    assert release.verifies(tmp_path, trusted)


async def test_a_missing_configuration_is_waited_for_and_not_made(
    release: Release, api: ApiClient, tmp_path: Path
) -> None:
    configuration = release.untrusted_configuration()
    release.bed.api("DELETE", CONFIGURATION)
    try:
        changed = await ensure_serving(api, release.settings, now())
        assert not changed.configuration_found
        with pytest.raises(AdminError):
            release.configuration()
    finally:
        for field in ("resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"):
            configuration["metadata"].pop(field)
        release.bed.api("POST", CONFIGURATION.rpartition("/")[0], configuration)
    changed = await ensure_serving(api, release.settings, now())
    assert (changed.authorities, changed.ca_bundle, changed.serving_pair) == (False, True, False)
    assert release.verifies(tmp_path)


async def test_two_writers_at_once_end_in_one_state(release: Release, api: ApiClient, tmp_path: Path) -> None:
    passes = [ensure_serving(api, release.settings, now()) for _ in range(4)]
    outcomes = await asyncio.gather(*passes, return_exceptions=True)
    faults = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(fault, ApiError) and fault.status == 409 for fault in faults)
    assert len(faults) < len(outcomes)
    await ensure_serving(api, release.settings, now())
    assert release.verifies(tmp_path)
    assert not await ensure_serving(api, release.settings, now())


async def test_the_account_can_write_no_other_secret(release: Release, api: ApiClient) -> None:
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other"}}
    with pytest.raises(ApiError) as refused:
        await api.apply(SECRETS, release.namespace, other, manager=CA_MANAGER)
    assert refused.value.status == 403
    with pytest.raises(ApiError) as refused:
        await api.create(SECRETS, release.namespace, other)
    assert refused.value.status == 403


async def test_kept_until_told_to_stop(
    release: Release, api: ApiClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="toolvet")
    stop = asyncio.Event()
    keeping = asyncio.create_task(keep_serving(api, release.settings, stop, now))
    try:
        await eventually(lambda: all(release.bundles().values()))
        for name in (release.tls, release.ca, release.tls):
            release.delete(name)
            await eventually(lambda name=name: release.holds_data(name))
        # An idle release writes nothing.
        versions, writes = release.versions(), release.writes()
        await asyncio.sleep(1.5)
        assert release.versions() == versions
        assert release.writes() == writes
    finally:
        stop.set()
        await asyncio.wait_for(keeping, 10)
    assert release.verifies(tmp_path)
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "certificates_written" in logged
    for name, value in (release.data(release.ca) | release.data(release.tls)).items():
        if name.endswith(".key"):
            assert value.splitlines()[1].decode() not in logged


async def test_a_failing_api_server_is_told_once_a_try_and_survived(
    release: Release, api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="toolvet")
    # What an immutable Secret refuses stays refused until somebody deletes it.
    release.bed.api(
        "POST",
        f"/api/v1/namespaces/{release.namespace}/secrets",
        {"metadata": {"name": release.ca}, "immutable": True},
    )
    stop = asyncio.Event()
    keeping = asyncio.create_task(keep_serving(api, release.settings, stop, now))
    try:
        await eventually(lambda: any(record.message == "certificates_failed" for record in caplog.records))
        # A leaf of an authority that is nowhere kept or trusted was not served.
        with pytest.raises(AdminError):
            release.secret(release.tls)
        release.delete(release.ca)
        await eventually(lambda: all(release.bundles().values()))
    finally:
        stop.set()
        await asyncio.wait_for(keeping, 10)
    failed = [record for record in caplog.records if record.message == "certificates_failed"]
    assert vars(failed[0])["fields"] == {"status": 422, "reason": "Invalid"}
