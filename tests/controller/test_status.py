"""What a running controller makes of changes, on a real API server with the chart's own rights."""

import json
import os
import time
from datetime import UTC, datetime, timedelta

from controller.cluster import NOTICED, Cluster, Controller, Team
from controller.objects import AGENT, approval, binding, catalog, deployment, inventory, policy, snapshot
from toolvet.core.denial import short_digest
from toolvet.core.side_effect import SideEffectClass

CHANGES = int(os.environ.get("TOOLVET_TEST_CHANGES", "10"))
READ, SEARCH = binding("read"), binding("search")


def approved(team: Team, found=None, **settings):
    """Make a catalog live, captured and approved; returns the snapshot's name."""
    live = found or catalog(READ, SEARCH)
    team.create(inventory(live))
    taken = team.create(snapshot(live))
    team.create(approval(taken, **settings))
    return taken["metadata"]["name"]


def test_a_change_is_in_status_and_event_within_five_seconds(team):
    name = approved(team)
    team.create(deployment())
    team.soon(
        lambda: team.status("ToolInventory", AGENT).get("workloads", {}).get("eligible") == 1, "not counted"
    )
    slowest, before = (
        0.0,
        len(team.events("CatalogDrifted", AGENT)),
    )  # it may have been seen before its approval
    for number in range(CHANGES):
        # Back and forth: a digest that was seen before is a change like any other.
        live = catalog(binding("read", schema=number % 3 + 1), SEARCH)
        started = time.monotonic()
        changed = team.change(inventory(live))
        generation, digits = changed["metadata"]["generation"], short_digest(live.digest)

        def noticed(generation=generation, live=live, digits=digits, number=number):
            status = team.status("ToolInventory", AGENT)
            events = team.events("CatalogDrifted", AGENT)
            return (
                status.get("observedGeneration") == generation
                and status["catalogDigest"] == live.digest
                and status["workloads"] == {"governed": 1, "eligible": 0, "drifted": 1}
                and team.status("RunToolCatalogSnapshot", name)["eligibility"] == "re-review-required"
                and len(events) == before + number + 1
                and any(digits in item["note"] and item["type"] == "Warning" for item in events)
            )

        team.soon(noticed, f"change {number} went unnoticed")
        slowest = max(slowest, time.monotonic() - started)
    print(f"{CHANGES} changes, slowest {slowest:.2f} s")
    assert slowest < NOTICED
    assert len(team.events("CatalogChanged", AGENT)) == CHANGES
    regarding = team.events("CatalogDrifted", AGENT)[0]["regarding"]
    assert (regarding["kind"], regarding["apiVersion"]) == ("Deployment", "apps/v1")


def test_everything_a_status_says(team):
    name = approved(team)
    team.create(deployment())
    team.soon(lambda: team.condition("RunToolCatalogSnapshot", name, "Eligible")[0] == "True", "not eligible")
    live = catalog(binding("read", schema="c", side_effect=SideEffectClass.DESTRUCTIVE), binding("write"))
    team.change(inventory(live))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("catalogDigest") == live.digest, "not noticed")
    status = team.status("ToolInventory", AGENT)
    changes = [
        {
            "toolId": "tool:org.example/read",
            "version": "1.0.0",
            "codes": ["schema_changed", "side_effect_changed"],
        },
        {"toolId": "tool:org.example/search", "version": "1.0.0", "codes": ["tool_unavailable"]},
        {"toolId": "tool:org.example/write", "version": "1.0.0", "codes": ["tool_added"]},
    ]
    before = catalog(READ, SEARCH)
    change = status["lastChange"]
    assert change.pop("time")
    assert change == {
        "observedGeneration": 2,
        "previousGeneration": 1,
        "catalogDigest": live.digest,
        "previousCatalogDigest": before.digest,
        "added": 1,
        "removed": 1,
        "changed": 1,
        "unchanged": 0,
        "entries": [
            {
                "toolId": "tool:org.example/read",
                "version": "1.0.0",
                "change": "changed",
                "fields": ["side_effect_class", "schema_digest"],
            },
            {"toolId": "tool:org.example/search", "version": "1.0.0", "change": "removed"},
            {"toolId": "tool:org.example/write", "version": "1.0.0", "change": "added"},
        ],
    }
    assert status["lastApproved"] == {
        "snapshotName": name,
        "catalogDigest": before.digest,
        "differenceCount": 3,
        "differences": changes,
    }
    assert (status["toolCount"], status["inventoryDigest"]) == (2, live.inventory_digest)
    assert team.condition("ToolInventory", AGENT, "Approved") == ("False", "not_approved")
    taken = team.status("RunToolCatalogSnapshot", name)
    assert taken["reasons"] == ["schema_changed", "tool_added", "tool_unavailable"]
    assert taken["differences"] == changes
    assert taken["approvals"] == {"required": 1, "valid": 1}
    assert team.condition("RunToolCatalogSnapshot", name, "Approved") == ("True", "approved")
    assert team.condition("RunToolCatalogSnapshot", name, "Eligible") == ("False", "snapshot_outdated")
    # An explanation of a refusal on the workload, free of anything but names, codes and digests.
    digits = short_digest(live.digest)
    (note,) = (item["note"] for item in team.events("CatalogDrifted", AGENT) if digits in item["note"])
    assert note.splitlines() == [
        f"not_approved: inventory {AGENT}, live catalog {digits}",
        f"since {name}: 1 added, 1 removed, 1 changed",
        "  tool:org.example/read 1.0.0: schema_changed, side_effect_changed",
        "  tool:org.example/search 1.0.0: tool_unavailable",
        "  tool:org.example/write 1.0.0: tool_added",
        f"review: kubectl toolvet capture {AGENT} -n {team.namespace}",
    ]


def test_revoking_and_deleting_an_approval_reach_every_status(team):
    name = approved(team)
    team.create(deployment())
    team.soon(
        lambda: team.status("ToolInventory", AGENT).get("workloads", {}).get("eligible") == 1, "not eligible"
    )
    team.change({"kind": "CatalogApproval", "metadata": {"name": "yes"}, "spec": {"revoked": True}})
    team.soon(
        lambda: team.condition("CatalogApproval", "yes", "Valid") == ("False", "revoked"), "still valid"
    )
    team.soon(lambda: team.status("ToolInventory", AGENT)["workloads"]["drifted"] == 1, "not drifted")
    assert team.condition("ToolInventory", AGENT, "Approved") == ("False", "approval_revoked")
    assert team.condition("RunToolCatalogSnapshot", name, "Approved") == ("False", "approval_revoked")
    assert team.condition("RunToolCatalogSnapshot", name, "Eligible") == ("False", "approval_revoked")
    assert team.status("RunToolCatalogSnapshot", name)["eligibility"] == "eligible"  # the catalogs are equal
    assert team.events("CatalogDrifted", AGENT)
    team.delete("CatalogApproval", "yes")
    team.soon(
        lambda: team.condition("ToolInventory", AGENT, "Approved") == ("False", "not_approved"),
        "the deleted approval is still told of",
    )
    drifted = len(team.events("CatalogDrifted", AGENT))
    team.create(approval(team.get("RunToolCatalogSnapshot", name), name="again"))
    team.soon(lambda: team.condition("ToolInventory", AGENT, "Approved")[0] == "True", "not approved again")
    assert [item["type"] for item in team.events("CatalogEligible", AGENT)] == ["Normal"]
    team.delete("CatalogApproval", "again")
    team.soon(
        lambda: team.condition("ToolInventory", AGENT, "Approved")[0] == "False", "deletion is no revocation"
    )
    # Nothing of the catalog changed, and yet it is another occasion: another Event.
    assert len(team.events("CatalogDrifted", AGENT)) == drifted + 1


def test_an_approval_expires_on_time(team):
    ends = datetime.now(UTC) + timedelta(seconds=4)
    name = approved(team, expires_at=ends.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    team.soon(lambda: team.condition("CatalogApproval", "yes", "Valid") == ("True", "valid"), "not valid", 3)
    team.soon(
        lambda: team.condition("CatalogApproval", "yes", "Valid") == ("False", "expired"), "still valid", 9
    )
    assert datetime.now(UTC) >= ends
    team.soon(
        lambda: team.condition("ToolInventory", AGENT, "Approved") == ("False", "approval_expired"), "stays"
    )
    assert team.condition("RunToolCatalogSnapshot", name, "Eligible") == ("False", "approval_expired")
    assert "lastApproved" not in team.status("ToolInventory", AGENT)


def test_a_deleted_inventory_leaves_its_snapshots_ineligible(team):
    name = approved(team)
    team.soon(lambda: team.condition("RunToolCatalogSnapshot", name, "Eligible")[0] == "True", "not eligible")
    team.delete("ToolInventory", AGENT)
    team.soon(
        lambda: team.condition("RunToolCatalogSnapshot", name, "Eligible") == ("False", "inventory_missing"),
        "stays",
    )
    status = team.status("RunToolCatalogSnapshot", name)
    assert (status["eligibility"], status["reasons"]) == ("re-review-required", ["tool_unavailable"])
    assert status["differenceCount"] == 2
    # Made again, it is a new object: no change is invented between the two.
    team.create(inventory(catalog(READ, SEARCH)))
    team.soon(
        lambda: team.condition("RunToolCatalogSnapshot", name, "Eligible")[0] == "True", "not eligible again"
    )
    assert "lastChange" not in team.status("ToolInventory", AGENT)


def test_the_policy_counts_distinct_approvers(team, controller):
    name = approved(team)
    team.soon(lambda: team.condition("ToolInventory", AGENT, "Approved")[0] == "True", "not approved")
    team.create(policy(2))
    try:
        team.soon(
            lambda: team.condition("CatalogPolicy", "default", "Ready") == ("True", "accepted"), "no status"
        )
        team.soon(
            lambda: team.condition("ToolInventory", AGENT, "Approved") == ("False", "not_approved"), "stays"
        )
        assert team.status("RunToolCatalogSnapshot", name)["approvals"] == {"required": 2, "valid": 1}
        second = approval(team.get("RunToolCatalogSnapshot", name), "second", name="second")
        kubeconfig = team.bed.kubeconfig("second", ("system:masters",))
        text = json.dumps(second)
        team.bed.kubectl("create", "-n", team.namespace, "-f", "-", input=text, kubeconfig=kubeconfig)
        team.soon(
            lambda: team.condition("ToolInventory", AGENT, "Approved")[0] == "True", "two do not suffice"
        )
    finally:
        team.delete("CatalogPolicy", "default")


def test_only_a_namespace_with_a_mode_is_governed(team):
    approved(team)
    team.create(deployment())

    def governed():
        return team.status("ToolInventory", AGENT).get("workloads", {}).get("governed")

    team.soon(lambda: governed() == 1, "not governed")
    team.label(None)
    team.soon(lambda: governed() == 0, "still governed")
    team.label("warn")
    team.soon(lambda: governed() == 1, "not governed again")


def test_every_governed_kind_is_counted_once(team):
    approved(team)
    team.create(deployment("web"))
    team.create({**deployment("db", kind="StatefulSet")})
    team.create(deployment("alone", kind="ReplicaSet"))
    pod = deployment("bare")["spec"]["template"]
    team.bed.api(
        "POST", f"/api/v1/namespaces/{team.namespace}/serviceaccounts", {"metadata": {"name": AGENT}}
    )
    team.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}, "spec": pod["spec"]})
    team.create(deployment("other", account="somebody"))
    team.bed.api("PATCH", team.path("Deployment", "web"), {"spec": {"replicas": 1}})

    def made(plural, prefix=""):
        found = team.bed.api("GET", f"/{prefix}/namespaces/{team.namespace}/{plural}")["items"]
        return [item for item in found if item["metadata"].get("ownerReferences")]

    # What the controller manager has made of them: two ReplicaSets and the Pod of one.
    team.soon(
        lambda: len(made("replicasets", "apis/apps/v1")) == 2 and made("pods", "api/v1"), "not made", 20
    )
    team.change(inventory(catalog(READ)))
    team.soon(lambda: team.status("ToolInventory", AGENT).get("observedGeneration") == 2, "not noticed")
    assert team.status("ToolInventory", AGENT)["workloads"] == {"governed": 4, "eligible": 0, "drifted": 4}


def test_an_inventory_of_the_account_takes_the_workload_from_the_annotated_one(team):
    approved(team)
    team.create(deployment("bot", account="bot", inventory=AGENT))

    def governed(name):
        return team.status("ToolInventory", name).get("workloads", {}).get("governed")

    team.soon(lambda: governed(AGENT) == 1, "the annotation does not bind")
    team.create(inventory(catalog(READ), name="bot"))
    team.soon(lambda: governed("bot") == 1, "the account's inventory does not govern")
    team.soon(lambda: governed(AGENT) == 0, "both govern")
    # It names another inventory than the one that governs, which the gate refuses.
    assert team.status("ToolInventory", "bot")["workloads"]["drifted"] == 1
    team.delete("ToolInventory", "bot")
    team.soon(lambda: governed(AGENT) == 1, "it is nobody's")


def test_a_burst_of_edits_ends_at_the_last_one(team):
    approved(team)
    team.soon(lambda: team.status("ToolInventory", AGENT).get("observedGeneration") == 1, "not seen")
    for number in range(40):
        changed = team.change(inventory(catalog(binding("read", schema=number + 1), SEARCH)))
    generation = changed["metadata"]["generation"]
    team.soon(lambda: team.status("ToolInventory", AGENT)["observedGeneration"] == generation, "it lags")
    status = team.status("ToolInventory", AGENT)
    assert status["lastChange"]["observedGeneration"] == generation
    assert status["lastChange"]["changed"] == 1
    path = f"/apis/apps/v1/namespaces/{team.namespace}/controllerrevisions"
    kept = [item["revision"] for item in team.bed.api("GET", path)["items"]]
    assert generation in kept
    assert len(kept) <= 10


def test_more_than_fifty_workloads_get_one_event_with_counts(team):
    approved(team)
    for number in range(53):
        team.create(deployment(f"agent-{number:02}"))
    team.soon(
        lambda: team.status("ToolInventory", AGENT).get("workloads", {}).get("eligible") == 53,
        "not counted",
        15,
    )
    team.change(inventory(catalog(READ)))
    team.soon(lambda: team.status("ToolInventory", AGENT)["workloads"]["drifted"] == 53, "not drifted")
    events = team.events("CatalogDrifted")
    assert len([item for item in events if item["regarding"]["kind"] == "Deployment"]) == 50
    rest = [item["note"] for item in events if item["regarding"]["kind"] == "ToolInventory"]
    assert len(rest) == 1
    assert "3 more workloads" in rest[0]
    assert "3 drifted, 0 eligible again" in rest[0]


def test_a_stored_inventory_that_cannot_be_understood_has_a_code_and_stops_nothing(
    cluster: Cluster, controller: Controller, team: Team
):
    """As a CRD of another release, or a restore past it, could leave it."""
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toolinventories.toolvet.dev"
    whole = team.bed.api("GET", definition)
    lax = json.loads(json.dumps(whole["spec"]["versions"]))
    schema = lax[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["tools"]
    del schema["items"]["x-kubernetes-validations"]
    team.bed.api("PATCH", definition, {"spec": {"versions": lax}})
    broken = inventory(catalog(READ))
    broken["spec"]["tools"][0]["version"] = "SECRET-VALUE"
    try:

        def stored():
            try:
                return team.create(broken)
            except Exception:  # noqa: BLE001  # the API server needs a moment to serve the lax schema
                return None

        team.soon(stored, "the broken object is refused", 20)
    finally:
        team.bed.api("PATCH", definition, {"spec": {"versions": whole["spec"]["versions"]}})
    team.soon(lambda: team.condition("ToolInventory", AGENT, "Stalled")[0] == "True", "nothing says so", 10)
    item = team.get("ToolInventory", AGENT)
    assert item["status"]["observedGeneration"] == 1
    messages = {condition["type"]: condition["message"] for condition in item["status"]["conditions"]}
    assert messages == {
        "Approved": "spec.tools[0].version: invalid_semver",
        "Stalled": "spec.tools[0].version: invalid_semver",
    }
    assert "SECRET-VALUE" not in json.dumps(item["status"])
    assert "SECRET-VALUE" not in controller.process.log.read_text()
    # Others go on, and so does this one once it is mended.
    team.change(inventory(catalog(READ)))
    team.soon(lambda: team.condition("ToolInventory", AGENT, "Stalled")[0] == "", "still stalled", 10)
    assert team.condition("ToolInventory", AGENT, "Approved") == ("False", "not_approved")
