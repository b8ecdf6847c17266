"""Whose an enablement is, who decides and consumes a held call, and what the collector alone writes.

Everybody here holds the chart's own roles and no more, but where a test says otherwise.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.api import ApiError
from controlplane.waiting import wait_until
from crds.api import Resources, refusal
from crds.objects import DIGEST, account, acknowledgement, change, enablement, held_call, in_seconds, source
from crds.rights import bind, give

CANARY = "canary"
COLLECTOR = "system:serviceaccount:toolvet-system:toolvet-collector"
CONSUMPTION = "0a" * 16


@pytest.fixture
def somebody(resources: Resources) -> Callable[..., tuple[Resources, str]]:
    """Somebody with some of the chart's roles in the namespace; a name of their own."""

    def invited(part: str, *roles: str) -> tuple[Resources, str]:
        name = part if part.startswith("system:") else f"{part}-{resources.namespace}"
        for role in roles:
            bind(resources.bed, name, f"toolvet-{role}", resources.namespace)
        return resources.as_user(name), name

    return invited


@pytest.fixture
def collector(resources: Resources) -> Resources:
    plurals = ["toolchanges", "mcpsources/status", "toolenablements/status"]
    verbs = ["create", "get", "update", "patch", "delete"]
    give(resources.bed, COLLECTOR, resources.namespace, {"resources": plurals, "verbs": verbs})
    return resources.as_user(COLLECTOR)


# -- enablements ------------------------------------------------------------------------------------------


def test_an_account_enables_in_its_own_name_and_in_no_other(somebody, resources: Resources) -> None:
    alice, name = somebody("alice", "account-holder")
    assert alice.accepts(enablement(name))
    told = alice.refusal(enablement(f"{CANARY}-bob"))
    assert "subject: not_the_caller" in told
    assert CANARY not in told.partition("denied request:")[2]
    agent, agent_name = somebody(f"system:serviceaccount:{resources.namespace}:assistant", "agent")
    assert "cannot create" in agent.refusal(enablement(agent_name))


def test_only_the_subject_changes_what_it_enabled_and_acknowledged(somebody) -> None:
    alice, name = somebody("alice", "account-holder")
    bob, _ = somebody("bob", "account-holder")
    hers = enablement(name, defaultRule="Blocked")
    alice.create(hers)
    for spec in (
        {"acknowledged": [acknowledgement()]},
        {"defaultRule": "Allowed"},
        {"rules": [{"toolId": "tool:a.b/c", "rule": "Allowed"}]},
        {"subject": CANARY},
    ):
        told = refusal(lambda spec=spec: bob.patch(hers, {"spec": spec}))
        assert "subject: not_the_caller" in told or "spec: immutable" in told
        assert CANARY not in told.partition("denied request:")[2]
    bob.patch(hers, {"metadata": {"labels": {"team": "a"}}})
    assert alice.patch(hers, {"spec": {"acknowledged": [acknowledgement()]}})["spec"]["acknowledged"]


def test_who_may_delegate_enables_and_acknowledges_for_others(somebody) -> None:
    _, name = somebody("alice", "account-holder")
    admin, _ = somebody("admin", "policy-admin")
    hers = enablement(name)
    admin.create(hers)
    admin.patch(hers, {"spec": {"acknowledged": [acknowledgement()]}})
    admin.delete(hers)


def test_what_was_acknowledged_stays_and_subject_and_source_too(somebody) -> None:
    alice, name = somebody("alice", "account-holder")
    hers = enablement(name, acknowledged=[acknowledgement("one"), acknowledgement("two")])
    alice.create(hers)
    for told in (
        [acknowledgement("one")],
        [acknowledgement("two"), acknowledgement("one")],
        [acknowledgement("one"), acknowledgement("three"), acknowledgement("two")],
        [],
        None,
    ):
        answer = refusal(lambda told=told: alice.patch(hers, {"spec": {"acknowledged": told}}))
        assert "acknowledged: immutable" in answer
    more = [acknowledgement(item) for item in ("one", "two", "three")]
    assert len(alice.patch(hers, {"spec": {"acknowledged": more}})["spec"]["acknowledged"]) == 3
    for spec in ({"subject": "bob"}, {"sourceName": "other"}):
        assert "immutable" in refusal(lambda spec=spec: alice.patch(hers, {"spec": spec}))


def test_nobody_begins_afresh(somebody, resources: Resources) -> None:
    """Not by deleting, not one by one nor all at once; not by a second one; not by an owner that is gone."""
    alice, name = somebody("alice", "account-holder")
    give(
        resources.bed,
        name,
        resources.namespace,
        {"resources": ["toolenablements"], "verbs": ["deletecollection", "delete"]},
    )
    hers = enablement(name)
    alice.create(hers)
    assert "name: not_permitted" in refusal(lambda: alice.delete(hers))
    whole = resources.path(hers).partition("?")[0]
    told = refusal(lambda: alice.call("DELETE", whole))
    assert "name: not_permitted" in told
    assert "name: wrong_name" in alice.refusal(enablement(name, name="notes.second"))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "0" * 8}
    told = refusal(lambda: alice.patch(hers, {"metadata": {"ownerReferences": [owner]}}))
    assert "owner_references: not_permitted" in told
    owned = enablement(name, "other")
    owned["metadata"]["ownerReferences"] = [owner]
    assert "owner_references: not_permitted" in alice.refusal(owned)
    assert resources.get(hers)["metadata"]["uid"]


def test_an_enablement_is_named_after_source_and_subject(resources: Resources) -> None:
    for subject in (
        "alice@example.com",
        "system:serviceaccount:team-a:assistant",
        "https://issuer.example/#Alice",
        "--a--",
    ):
        assert resources.accepts(enablement(subject))
    for name in ("notes", "notes.alic", "notes.alice-", "other.alice", "notes.alice.example"):
        with pytest.raises(ApiError) as caught:
            resources.create(enablement("alice", name=name), dry_run=True)
        assert caught.value.status == 422


def test_a_namespace_with_enablements_and_changes_is_deleted(resources: Resources) -> None:
    name = resources.bed.create_namespace()
    there = replace(resources, namespace=name)
    there.create(enablement("alice"))
    collector = there.as_user(COLLECTOR)
    give(there.bed, COLLECTOR, name, {"resources": ["toolchanges"], "verbs": ["create"]})
    collector.create(change())
    resources.bed.kubectl("delete", "namespace", name, "--wait", "--timeout=60s")


# -- held calls -------------------------------------------------------------------------------------------


@pytest.fixture
def agent(somebody, resources: Resources) -> tuple[Resources, str]:
    return somebody(f"system:serviceaccount:{resources.namespace}:assistant", "agent")


def decided(call: dict, by: str, phase: str = "Approved") -> dict:
    return {**call, "status": {"phase": phase, "decidedBy": by}}


def consumed(call: dict, by: str, token: str = CONSUMPTION) -> dict:
    return {**call, "status": {"phase": "Consumed", "decidedBy": by, "consumptionId": token}}


def test_a_call_is_asked_for_in_ones_own_name_and_for_a_day_at_most(agent) -> None:
    asking, name = agent
    assert asking.accepts(held_call(name))
    told = asking.refusal({**held_call(f"{CANARY}-else"), "metadata": held_call(name)["metadata"]})
    assert "requested_by: not_the_caller" in told
    assert CANARY not in told
    assert asking.accepts(held_call(name, expiresAt=in_seconds(24 * 3600 - 60)))
    for far in (in_seconds(24 * 3600 + 60), in_seconds(-1), "9999-12-31T23:59:59Z"):
        told = asking.refusal(held_call(name, expiresAt=far))
        assert "expires_at: out_of_range" in told
        assert far not in told


def test_an_account_has_so_many_calls_an_hour_and_under_its_own_enablements_alone(agent, somebody) -> None:
    asking, name = agent
    right = held_call(name, 31)
    assert asking.accepts(right)
    own, hour = account(name), right["metadata"]["name"].split(".")[-2]
    last = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dt%H")
    for wrong in ("32", "01", "-1", "", "1.1", "x"):
        told = asking.refusal({**right, "metadata": {"name": f"{own}.{hour}.{wrong}".rstrip(".")}})
        assert "name: wrong_name" in told or "metadata.name: Invalid" in told, told
    for wrong in (f"{own}.{last}.1", f"{own}.1", f"{CANARY}.{hour}.1", f"x{own}.{hour}.1", f"{hour}.1"):
        told = asking.refusal({**right, "metadata": {"name": wrong}})
        assert "name: wrong_name" in told, told
        assert CANARY not in told.partition("denied request:")[2]
    told = asking.refusal({**right, "metadata": {"generateName": f"{own}.{hour}"}})
    assert "name: wrong_name" in told
    for wrong in (f"notes.{CANARY}", f"notes.x{own}", own):
        told = asking.refusal(held_call(name, enablementName=wrong))
        assert "enablement_name: not_the_caller" in told, told
        assert CANARY not in told.partition("denied request:")[2]
    for slot in range(32):
        asking.create(held_call(name, slot))
    with pytest.raises(ApiError, match="409 AlreadyExists"):
        asking.create(held_call(name, 31))


def test_a_held_call_is_approved_by_a_decider_and_consumed_once_by_who_asked(
    agent, somebody, resources: Resources
) -> None:
    asking, name = agent
    decider, decider_name = somebody("decider", "call-decider")
    stored = asking.create(held_call(name))
    assert asking.get(stored)["status"] == {"phase": "Held"}
    approved = decider.put(decided(asking.get(stored), decider_name), "status")
    assert approved["status"]["phase"] == "Approved"
    done = asking.put(consumed(approved, decider_name), "status")
    assert done["status"]["consumptionId"] == CONSUMPTION
    # Not again: neither with a version, nor with a patch that has none.
    again = consumed(done, decider_name, "0b" * 16)
    assert "consumption_id: immutable" in refusal(lambda: asking.put(again, "status"))
    told = refusal(lambda: resources.patch(stored, {"status": {"consumptionId": "0b" * 16}}, "status"))
    assert "consumption_id: immutable" in told


def test_an_agent_does_not_decide_whatever_it_may(agent, resources: Resources) -> None:
    asking, name = agent
    stored = asking.create(held_call(name))
    held = asking.get(stored)
    assert "phase: not_permitted" in refusal(lambda: asking.put(decided(held, name), "status"))
    bind(resources.bed, name, "toolvet-call-decider", resources.namespace)
    assert "decided_by: not_independent: who asked" in refusal(
        lambda: asking.put(decided(held, name), "status")
    )
    told = refusal(lambda: asking.put(decided(held, f"{CANARY}-else"), "status"))
    assert "decided_by: not_the_caller" in told
    assert CANARY not in told
    assert "immutable" in refusal(lambda: asking.put(consumed(held, name), "status"))


def test_a_service_account_of_the_namespace_decides_nothing(agent, somebody, resources: Resources) -> None:
    asking, name = agent
    stored = asking.create(held_call(name))
    inside, inside_name = somebody(f"system:serviceaccount:{resources.namespace}:other", "call-decider")
    told = refusal(lambda: inside.put(decided(asking.get(stored), inside_name), "status"))
    assert "decided_by: not_independent: a service account" in told
    outside, outside_name = somebody("system:serviceaccount:elsewhere:approver", "call-decider")
    outside.put(decided(asking.get(stored), outside_name), "status")


def test_deciding_needs_the_verb_on_that_call(agent, somebody, resources: Resources) -> None:
    asking, name = agent
    calls = [held_call(name, slot) for slot in (1, 2)]
    for call in calls:
        asking.create(call)
    decider, decider_name = somebody("decider")
    bed, namespace = resources.bed, resources.namespace
    give(bed, decider_name, namespace, {"resources": ["heldtoolcalls/status"], "verbs": ["update"]})
    give(
        bed,
        decider_name,
        namespace,
        {
            "resources": ["heldtoolcalls"],
            "verbs": ["decide"],
            "resourceNames": [calls[0]["metadata"]["name"]],
        },
    )
    one, two = (asking.get(call) for call in calls)
    assert "phase: not_permitted" in refusal(lambda: decider.put(decided(two, decider_name), "status"))
    assert decider.put(decided(one, decider_name, "Denied"), "status")["status"]["phase"] == "Denied"


def test_only_who_asked_consumes(agent, somebody) -> None:
    asking, name = agent
    decider, decider_name = somebody("decider", "call-decider")
    stored = asking.create(held_call(name))
    approved = decider.put(decided(asking.get(stored), decider_name), "status")
    told = refusal(lambda: decider.put(consumed(approved, decider_name), "status"))
    assert "requested_by: not_the_caller" in told
    assert "decided_by: immutable" in refusal(lambda: asking.put(consumed(approved, name), "status"))
    asking.put(consumed(approved, decider_name), "status")


def test_nothing_else_moves(agent, somebody, resources: Resources) -> None:
    asking, name = agent
    decider, decider_name = somebody("decider", "call-decider")
    phases: dict[str, list[dict]] = {
        "Held": [],
        "Denied": [{"phase": "Denied", "decidedBy": decider_name}],
        "Approved": [{"phase": "Approved", "decidedBy": decider_name}],
        "Consumed": [
            {"phase": "Approved", "decidedBy": decider_name},
            {"phase": "Consumed", "decidedBy": decider_name, "consumptionId": CONSUMPTION},
        ],
    }
    allowed = {("Held", "Denied"), ("Held", "Approved"), ("Approved", "Consumed")}
    statuses = {
        "Held": {"phase": "Held"},
        "Denied": {"phase": "Denied", "decidedBy": decider_name},
        "Approved": {"phase": "Approved", "decidedBy": decider_name},
        "Consumed": {"phase": "Consumed", "decidedBy": decider_name, "consumptionId": "0b" * 16},
    }
    for number, (phase, steps) in enumerate(phases.items()):
        call = held_call(name, number)
        asking.create(call)
        for step in steps:
            actor = asking if step["phase"] == "Consumed" else decider
            actor.put({**asking.get(call), "status": step}, "status")
        for target, status in statuses.items():
            if (phase, target) in allowed or (phase, target) in {
                ("Held", "Held"),
                ("Approved", "Approved"),
                ("Denied", "Denied"),
            }:
                continue
            for actor in (asking, decider, resources):
                told = refusal(
                    lambda actor=actor, call=call, status=status: actor.put(
                        {**asking.get(call), "status": status}, "status"
                    )
                )
                assert "immutable" in told or "one_of" in told, (phase, target, told)
        if phase != "Held":
            for nothing in ({}, None):
                bare = {**asking.get(call), "status": nothing}
                assert "immutable" in refusal(lambda bare=bare: asking.put(bare, "status"))
        assert "spec: immutable" in refusal(
            lambda call=call: resources.patch(call, {"spec": {"argumentsDigest": DIGEST}})
        )


def test_a_misspelt_status_is_refused_and_not_repeated(agent, somebody) -> None:
    asking, name = agent
    decider, decider_name = somebody("decider", "call-decider")
    stored = asking.get(asking.create(held_call(name)))
    for status in (
        {"phase": "Canary"},
        {"phase": "Held", "decidedBy": CANARY},
        {"phase": "Approved"},
        {"phase": "Held", "consumptionId": CANARY},
        {"phase": "Approved", "decidedBy": decider_name, "consumptionId": CANARY},
        {"phase": "Approved", "decidedBy": CANARY},
        {"phase": CANARY * 8},
    ):
        told = refusal(lambda status=status: decider.put({**stored, "status": status}, "status"))
        assert CANARY not in told.lower(), told


def test_an_expired_call_is_neither_approved_nor_consumed_by_the_api_servers_clock(agent, somebody) -> None:
    asking, name = agent
    decider, decider_name = somebody("decider", "call-decider")
    late = asking.create(held_call(name, 1, expiresAt=in_seconds(3)))
    unused = asking.create(held_call(name, 2, expiresAt=in_seconds(3)))
    approved = decider.put(decided(asking.get(unused), decider_name), "status")
    path = asking.path(unused, unused["metadata"]["name"], "status", dry_run=True)

    def is_expired() -> bool:
        try:
            asking.call("PUT", path, consumed(approved, decider_name))
        except ApiError as error:
            return "expires_at: expired" in str(error)
        return False

    assert not is_expired()
    wait_until(is_expired, 10, "the call does not expire")
    held = asking.get(late)
    # Whoever writes a status cannot take the API server's note of the time away.
    for fields in (held["metadata"]["managedFields"], [], [{}], None):
        forged = decided({**held, "metadata": {**held["metadata"], "managedFields": fields}}, decider_name)
        assert "expires_at: expired" in refusal(lambda forged=forged: decider.put(forged, "status"))
        written = {"metadata": {"managedFields": fields}, "status": forged["status"]}
        assert "expires_at: expired" in refusal(
            lambda written=written: decider.patch(late, written, "status")
        )
    # Nor does a forged note on the object itself help.
    owner = asking.bed.api("GET", asking.path(late, late["metadata"]["name"]).partition("?")[0])
    past = [{**entry, "time": "2020-01-01T00:00:00Z"} for entry in owner["metadata"]["managedFields"]]
    asking.bed.api(
        "PATCH", asking.path(late, late["metadata"]["name"]), {"metadata": {"managedFields": past}}
    )
    assert "expires_at: expired" in refusal(
        lambda: decider.put(decided(asking.get(late), decider_name), "status")
    )
    # A refusal is still recorded.
    assert (
        decider.put(decided(asking.get(late), decider_name, "Denied"), "status")["status"]["phase"]
        == "Denied"
    )


def test_an_expired_call_is_not_applied_either(agent, somebody) -> None:
    asking, name = agent
    _, decider_name = somebody("decider", "call-decider")
    call = held_call(name, expiresAt=in_seconds(2))
    asking.create(call)
    applied = {
        "apiVersion": call["apiVersion"],
        "kind": call["kind"],
        "metadata": {"name": call["metadata"]["name"]},
        "status": {"phase": "Approved", "decidedBy": decider_name},
    }
    kubeconfig = asking.bed.kubeconfig(decider_name, ("system:authenticated",))

    def told(*more: str) -> str:
        done = asking.bed.kubectl(
            *("apply", "--server-side", "--subresource=status", "-n", asking.namespace, "-f", "-", *more),
            input=json.dumps(applied),
            kubeconfig=kubeconfig,
            check=False,
        )
        return done.stderr

    assert told("--dry-run=server") == ""
    wait_until(lambda: "expires_at: expired" in told("--dry-run=server"), 10, "the call does not expire")


# -- what the collector alone writes ------------------------------------------------------------------------


def test_changes_are_recorded_by_the_collector_alone(resources: Resources, collector: Resources) -> None:
    told = resources.refusal(change(f"{CANARY}-1"))
    assert "spec: not_the_collector" in told
    assert CANARY not in told.partition("denied request:")[2]
    collector.create(change())
    assert "spec: not_the_collector" in refusal(
        lambda: resources.patch(change(), {"metadata": {"labels": {"a": "b"}}})
    )
    assert "spec: immutable" in refusal(lambda: collector.patch(change(), {"spec": {"severity": "Minor"}}))
    developer = resources.as_user(f"developer-{resources.namespace}")
    give(
        resources.bed,
        f"developer-{resources.namespace}",
        resources.namespace,
        {"resources": ["toolchanges"], "verbs": ["delete"]},
    )
    assert "spec: not_the_collector" in refusal(lambda: developer.delete(change()))
    collector.delete(change())
    # The account counts, in the release's namespace; not one of that name elsewhere.
    for name in ("system:serviceaccount:default:toolvet-collector", "toolvet-collector"):
        give(resources.bed, name, resources.namespace, {"resources": ["toolchanges"], "verbs": ["create"]})
        assert "not_the_collector" in resources.as_user(name).refusal(change())


def test_statuses_of_sources_and_enablements_are_the_collectors(
    resources: Resources, collector: Resources
) -> None:
    for obj, status in (
        (source(), {"toolCount": 1}),
        (enablement("alice"), {"pendingCount": 0, "effectiveRules": []}),
    ):
        resources.create(obj)
        told = refusal(lambda obj=obj, status=status: resources.patch(obj, {"status": status}, "status"))
        assert "status: not_the_collector" in told
        assert collector.patch(obj, {"status": status}, "status")["status"] == status
