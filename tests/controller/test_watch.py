"""kopf may watch and nothing else: what makes it write or keep state is never registered."""

import logging
from pathlib import Path

import pytest

from toolvet.controller import watch
from toolvet.controller.routing import POLICY_KEY, WATCHED, WATCHED_WORKLOADS, Key, Kind, Routing
from toolvet.kube.incluster import ServiceAccount
from toolvet.kube.names import APPROVALS, INVENTORIES, NAMESPACES, POLICIES, SNAPSHOTS

DEPLOYMENTS = next(kind.resource for kind in WATCHED_WORKLOADS if kind.resource.plural == "deployments")


@pytest.fixture
def account(tmp_path):
    (tmp_path / "token").write_text("abc")
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    return ServiceAccount(tmp_path, environment)


def test_only_event_handlers_exist(account):
    handlers = watch.registry(WATCHED, account, Path("ca.crt"), lambda *_: None)
    assert len(handlers._watching.get_all_handlers()) == len(WATCHED)
    for style in ("_changing", "_spawning", "_indexing", "_webhooks"):
        assert not handlers.__dict__[style].get_all_handlers(), style
    activities = handlers._activities.get_all_handlers()
    assert [str(handler.activity) for handler in activities] == ["authentication"]
    watched = {(h.selector.group, h.selector.any_name) for h in handlers._watching.get_all_handlers()}
    assert watched == {(resource.group, resource.plural) for resource in WATCHED}


def test_the_default_registry_is_empty(account):
    import kopf  # noqa: PLC0415  # the module's own registry is what is looked at

    watch.registry(WATCHED, account, Path("ca.crt"), lambda *_: None)
    default = kopf.get_default_registry()
    for style in ("_watching", "_changing", "_spawning", "_indexing", "_webhooks"):
        assert not default.__dict__[style].get_all_handlers(), style


def test_nothing_of_kopf_writes(account):
    chosen = watch.settings()
    assert chosen.peering.standalone
    assert chosen.scanning.disabled
    assert not chosen.posting.enabled
    assert chosen.admission.managed is None


async def test_the_token_is_read_again_at_each_login(account, tmp_path):
    handlers = watch.registry(WATCHED, account, Path("ca.crt"), lambda *_: None)
    (login,) = handlers._activities.get_all_handlers()
    assert (await login.fn()).token == "abc"
    (tmp_path / "new").write_text("def")
    (tmp_path / "new").rename(tmp_path / "token")
    assert (await login.fn()).token == "def"


def test_libraries_log_no_text_of_theirs():
    record = logging.LogRecord("kopf.objects", logging.WARNING, "/a/b.py", 7, "secret %s", ("value",), None)
    assert watch.ContentFree().filter(record)
    assert record.getMessage() == "library_message"
    assert record.fields == {"logger": "kopf.objects", "at": "b.py:7"}
    own = logging.LogRecord("toolvet.controller", logging.WARNING, "/a/b.py", 7, "leading", (), None)
    assert watch.ContentFree().filter(own)
    assert own.getMessage() == "leading"


# -- routing -------------------------------------------------------------------------------------------


def keys(*names, namespace="team"):
    return {Key(Kind.INVENTORY, namespace, name) for name in names}


def obj(name, namespace="team", uid="u", spec=None, **metadata):
    return {"metadata": {"name": name, "namespace": namespace, "uid": uid, **metadata}, "spec": spec or {}}


def deployment(account="agent", uid="w", status=None, **annotations):
    binds = {f"toolvet.dev/{key}": value for key, value in annotations.items()}
    template = {"metadata": {"annotations": binds}, "spec": {"serviceAccountName": account}}
    return obj("web", uid=uid, spec={"template": template}) | {"status": status or {}}


def test_inventories_and_their_evidence():
    routing = Routing()
    assert routing.keys(INVENTORIES, obj("agent"), deleted=False) == keys("agent")
    evidence = obj("agent-1", spec={"inventoryName": "agent"})
    assert routing.keys(SNAPSHOTS, evidence, deleted=False) == keys("agent")
    assert routing.keys(APPROVALS, evidence, deleted=True) == keys("agent")
    assert routing.keys(SNAPSHOTS, obj("x", spec={"inventoryName": "../x"}), deleted=False) == set()
    assert routing.keys(SNAPSHOTS, {"metadata": {"name": "x"}}, deleted=False) == set()
    assert routing.all() == keys("agent")


def test_the_policy_concerns_everybody():
    routing = Routing()
    routing.keys(INVENTORIES, obj("a"), deleted=False)
    routing.keys(INVENTORIES, obj("b", namespace="other"), deleted=False)
    expected = keys("a") | keys("b", namespace="other") | {POLICY_KEY}
    assert routing.keys(POLICIES, {"metadata": {"name": "default"}}, deleted=True) == expected
    routing.forget(Key(Kind.INVENTORY, "team", "a"))
    assert routing.all() == keys("b", namespace="other")


def test_a_namespace_matters_when_its_mode_changes():
    routing = Routing()
    routing.keys(INVENTORIES, obj("a"), deleted=False)

    def seen(mode, **labels):
        named = {"toolvet.dev/mode": mode, **labels} if mode else labels
        return routing.keys(NAMESPACES, {"metadata": {"name": "team", "labels": named}}, deleted=False)

    assert seen(None) == set()  # at first sight the inventory's own event does it
    assert seen("enforce") == keys("a")
    assert seen("enforce", other="label") == set()
    assert seen("warn") == keys("a")
    assert seen(None) == keys("a")


def test_a_workload_matters_when_its_binding_changes():
    routing = Routing()

    def seen(found, *, deleted=False):
        return routing.keys(DEPLOYMENTS, found, deleted=deleted)

    assert seen(deployment()) == keys("agent")
    assert seen(deployment(status={"replicas": 3})) == set()
    assert seen(deployment(inventory="shared")) == keys("agent", "shared")
    assert seen(deployment("default", inventory="shared")) == keys("agent", "shared")
    assert seen(deployment("default")) == keys("shared")
    assert seen(deployment("default"), deleted=True) == set()
    assert seen(deployment("agent", uid="2")) == keys("agent")
    assert seen(deployment("agent", uid="2"), deleted=True) == keys("agent")
    assert seen({"metadata": {"namespace": "team", "uid": "3"}}) == set()


def test_an_inventory_of_the_account_concerns_the_annotated_one_too():
    routing = Routing()
    routing.keys(DEPLOYMENTS, deployment("bot", inventory="shared"), deleted=False)
    assert routing.keys(INVENTORIES, obj("bot"), deleted=False) == keys("bot", "shared")
    assert routing.keys(INVENTORIES, obj("shared"), deleted=False) == keys("shared")
