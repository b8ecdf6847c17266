"""Two processes and one Lease: who writes, and what becomes of changes nobody was there to see."""

import signal
import threading
import time
import urllib.request
from collections.abc import Iterator

import pytest

from controller.cluster import WRITES, Cluster, Team, token_of
from controller.objects import AGENT, binding, catalog, inventory
from controlplane.api import ApiError
from controlplane.bed import ControlPlane
from controlplane.waiting import wait_until

TAKEOVER = 20.0  # seconds after a kill: the Lease's duration, a look, and some


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    with ControlPlane(audit=True) as bed:
        yield Cluster(bed)


@pytest.fixture
def leader(pair):
    found = pair.start_leader()
    yield found
    found.process.kill()


@pytest.fixture
def standby(pair, leader):
    found = pair.start_controller()
    wait_until(lambda: found.said("waiting_for_lease"), 20, "the second does not wait")
    yield found
    found.process.kill()


@pytest.fixture
def team(pair) -> Iterator[Team]:
    with pair.bed.namespace(labels={"toolvet.dev/mode": "audit"}) as name:
        yield Team(pair, name)


def leads(pair: Cluster, controller) -> bool:
    return pair.holder().startswith(f"{controller.identity}_")


def test_a_change_between_two_leaders_is_not_lost(pair, leader, standby, team):
    team.create(inventory(catalog(binding("read"))))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("observedGeneration") == 1, "not seen", 15)
    leader.process.kill()
    team.change(inventory(catalog(binding("read", schema="c"))))
    team.change(inventory(catalog(binding("read", schema="d"), binding("write"))))
    wait_until(lambda: leads(pair, standby), TAKEOVER, "nobody takes over")
    team.soon(
        lambda: team.status("ToolInventory", AGENT)["observedGeneration"] == 3, "the change is lost", 15
    )
    change = team.status("ToolInventory", AGENT)["lastChange"]
    assert (change["observedGeneration"], change["previousGeneration"]) == (3, 1)
    assert (change["added"], change["removed"], change["changed"], change["unchanged"]) == (1, 0, 1, 0)
    team.soon(lambda: team.events("CatalogChanged", AGENT), "no Event")


def test_the_history_says_what_changed_although_the_status_was_lost(pair, leader, team):
    """Killed after it saw a generation and before its status: the next leader compares with what was seen."""
    team.create(inventory(catalog(binding("read"))))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("observedGeneration") == 1, "not seen", 15)
    team.change(inventory(catalog(binding("read", schema="c"))))
    team.soon(lambda: team.status("ToolInventory", AGENT)["observedGeneration"] == 2, "not seen")
    leader.process.kill()
    # As if generation 2's status had not been written, and another edit came.
    path = f"{team.path('ToolInventory', AGENT)}/status"
    team.bed.api("PATCH", path, {"status": {"observedGeneration": 1, "lastChange": None}})
    team.change(inventory(catalog(binding("read", schema="d"))))
    heir = pair.start_leader()
    try:
        team.soon(lambda: team.status("ToolInventory", AGENT)["observedGeneration"] == 3, "not seen", 15)
        change = team.status("ToolInventory", AGENT)["lastChange"]
        assert (change["previousGeneration"], change["changed"]) == (2, 1)
    finally:
        heir.process.kill()


def test_a_stopped_leader_hands_over_within_three_seconds(pair, leader, standby):
    with urllib.request.urlopen(f"http://127.0.0.1:{standby.health_port}/readyz", timeout=5) as answer:
        assert answer.status == 200  # a standby is ready
    wait_until(lambda: leader.said("leading"), 20, "it does not lead")
    started = time.monotonic()
    leader.process.send_signal(signal.SIGTERM)
    wait_until(lambda: leads(pair, standby), 10, "nobody takes over")
    took = time.monotonic() - started
    print(f"takeover after SIGTERM: {took:.2f} s")
    assert took < 3
    assert leader.process.wait(10) == 0
    assert not leader.said("part_ended")


def test_a_leader_that_was_frozen_never_writes_again(pair, leader, standby, team):
    team.create(inventory(catalog(binding("read"))))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("observedGeneration") == 1, "not seen", 15)
    leader.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: leads(pair, standby), TAKEOVER, "nobody takes over")
    since = pair.audit_size()
    # Work waits for it when it wakes up.
    team.change(inventory(catalog(binding("read", schema="c"))))
    leader.process.send_signal(signal.SIGCONT)
    assert leader.process.wait(20) == 1
    assert any(line.get("error", "").startswith("LeaseLostError") for line in leader.log())
    team.soon(lambda: team.status("ToolInventory", AGENT)["observedGeneration"] == 2, "nobody works", 15)
    entries = list(pair.audited(since))
    writers = {token_of(entry) for entry in entries if entry["verb"] in WRITES}
    assert standby.token_id in writers  # the ids are those of the tokens
    assert leader.token_id not in writers
    assert leads(pair, standby)


def test_a_lease_that_somebody_takes_away_ends_the_process(pair, leader):
    wait_until(lambda: leader.said("leading"), 20, "it does not lead")
    lease = pair.lease()
    lease["spec"]["holderIdentity"] = "somebody-else"
    path = (
        f"/apis/coordination.k8s.io/v1/namespaces/{pair.chart.namespace}/leases/{lease['metadata']['name']}"
    )
    for _ in range(20):
        try:
            pair.bed.api("PUT", path, lease)
            break
        except RuntimeError:  # it renewed in between
            lease = pair.lease() | {"spec": lease["spec"]}
    assert leader.process.wait(20) == 1
    assert pair.holder() == "somebody-else"


def test_a_kind_that_goes_away_ends_the_process_and_the_next_one_waits_for_it(pair, leader, team):
    """A restart is the cure, not a process that looks alive and hears nothing."""
    team.create(inventory(catalog(binding("read"))))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("observedGeneration") == 1, "not seen", 15)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    found = pair.bed.api("GET", f"{path}/catalogpolicies.toolvet.dev")
    pair.bed.api("DELETE", f"{path}/catalogpolicies.toolvet.dev")
    try:
        assert leader.process.wait(60) == 1
        assert leader.said("part_ended"), leader.process.tail()
        heir = pair.start_controller()
        wait_until(lambda: heir.said("kind_not_served"), 30, "it does not say what it waits for")
    finally:
        metadata = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
        again = {**found, "metadata": metadata, "status": None}
        wait_until(lambda: not exists(pair, f"{path}/catalogpolicies.toolvet.dev"), 20, "it stays")
        pair.bed.api("POST", path, again)
    team.change(inventory(catalog(binding("read", schema="c"))))
    team.soon(lambda: team.status("ToolInventory", AGENT)["observedGeneration"] == 2, "it does not go on", 30)
    heir.process.kill()


def exists(pair, path):
    try:
        return pair.bed.api("GET", path)
    except ApiError:
        return None


def test_without_its_rights_it_waits_and_says_so(pair, leader):
    wait_until(lambda: leader.said("leading"), 20, "it does not lead")
    name = f"{pair.chart.fullname}-controller"
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"
    rules = pair.bed.api("GET", path)["rules"]
    pair.bed.api("PATCH", path, {"rules": []})
    try:
        second = pair.start_controller()
        leader.process.send_signal(signal.SIGTERM)
        wait_until(lambda: leads(pair, second), 20, "nobody leads")
        wait_until(lambda: second.said("kind_not_served"), 10, "it does not say why it waits")
        assert second.process.poll() is None
    finally:
        pair.bed.api("PATCH", path, {"rules": rules})
    threading.Event().wait(1.5)
    assert second.process.poll() is None
    second.process.kill()
