"""Servers that kagent and ToolHive declare, found by the chart's collector where their kinds are served."""

import pytest
from tests.mcp.http_servers import free_port

from collector.mcp_server import RewritingServer
from collector.watching import admin_apply, condition, definition, inventory, source, status, wait
from crds.address_books import KAGENT, KMCP, TOOLHIVE, definitions
from story.team import Team
from toolvet.collector.address_book import url_of
from toolvet.core.tool_source import SourceReference
from toolvet.kube import kubeconfig
from toolvet.kube.client import connect

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def books(team: Team):
    """Install the kinds on demand; they are gone at the end."""
    installed = []

    def install():
        for obj in definitions():
            team.bed.api("POST", CRDS, obj)
            installed.append(obj["metadata"]["name"])
        team.bed.kubectl("wait", "--for=condition=Established", "crd", *installed, "--timeout=30s")

    yield install
    for name in installed:
        team.bed.api("DELETE", f"{CRDS}/{name}")


def book(kind, name="elsewhere", **members):
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **members}


def referring(kind, name="elsewhere"):
    return source(None, ref={"apiVersion": kind.api_version, "kind": kind.kind, "name": name})


def stalled(team, reason):
    wait(lambda: condition(team, "Stalled").get("reason") == reason, f"the source does not say {reason}")


def test_a_server_is_where_another_system_says(team: Team, books) -> None:
    with (
        RewritingServer(definition("read")) as server,
        RewritingServer(definition("a"), definition("b")) as two,
    ):
        admin_apply(team, referring(KAGENT))
        stalled(team, "reference_not_served")
        books()
        stalled(team, "reference_missing")
        admin_apply(team, book(KAGENT, spec={"protocol": "STREAMABLE_HTTP"}))
        stalled(team, "reference_without_url")
        assert not inventory(team)
        admin_apply(team, book(KAGENT, spec={"protocol": "STREAMABLE_HTTP", "url": server.url}))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        assert not condition(team, "Stalled")
        assert len(inventory(team)) == 1

        # Another book, another server: ToolHive says where agents reach it once it runs.
        admin_apply(team, book(TOOLHIVE, spec={"image": "example.org/files"}, status={"phase": "Pending"}))
        admin_apply(team, referring(TOOLHIVE))
        stalled(team, "reference_without_url")
        assert len(inventory(team)) == 1, "what was observed stays"
        admin_apply(team, book(TOOLHIVE, status={"phase": "Running", "url": two.url}))
        wait(lambda: len(inventory(team)) == 2, "not observed")

        # An address is an address, whoever wrote it down.
        admin_apply(team, book(TOOLHIVE, status={"url": f"http://169.254.169.254:{free_port()}/mcp"}))
        wait(lambda: status(team).get("unknownReason") == "forbidden_address", "not refused")
        admin_apply(team, book(TOOLHIVE, status={"url": "file:///etc/passwd"}))
        stalled(team, "url_invalid_scheme")
        assert len(inventory(team)) == 2


async def test_a_server_that_kmcp_runs_is_its_service(team: Team, books) -> None:
    books()
    admin_apply(team, book(KMCP, spec={"deployment": {"port": 3000}}))
    admin_apply(team, book(KMCP, "portless", spec={"deployment": {"port": "3000"}}))
    reference = SourceReference(KMCP.api_version, KMCP.kind, "elsewhere")
    login = kubeconfig.load(team.bed.kubeconfig(), None)
    async with connect(login.credentials, user_agent="test") as api:
        assert (
            await url_of(api, team.namespace, reference) == f"http://elsewhere.{team.namespace}.svc:3000/mcp"
        )
    admin_apply(team, referring(KMCP, "portless"))
    stalled(team, "reference_without_url")
