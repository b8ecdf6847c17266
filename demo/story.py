"""The story of the design, told on a real API server: refused, reviewed, admitted, changed, refused again."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mcp.real_server import CONSTRAINT, MCP_PACKAGE, NEWER, OLDER, installed

from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from controlplane.people import People, invite
from controlplane.waiting import wait_until
from demo.terminal import Terminal

NAMESPACE = "team-a"
AGENT = "assistant"
DRIFT_SECONDS = 5.0
_MANIFEST = Path(__file__).resolve().parent.parent / "examples" / "agent.yaml"


def tell() -> None:
    """Tell the whole story; raises when any part of it does not end as told."""
    print("Toolvet demo: nothing is simulated but the kubelet; Pods do not run.", flush=True)
    with ControlPlane(audit=True) as bed:
        print(f"A real control plane is up ({bed.start_seconds:.1f} s).", flush=True)
        with Installation(bed) as product:
            bed.kubectl("create", "namespace", NAMESPACE)
            people = invite(bed, product.chart.fullname, NAMESPACE)
            terminal = Terminal(_environment(bed), bed.directory)
            _story(terminal, bed, people)
            print(
                f"\nDone in {terminal.seconds:.0f} s. Everything ran in {bed.directory}; it is removed now."
            )
    print("What stays: the cache of downloaded and built programs (make clean-cache removes it).")
    print("To play yourself: make sandbox")


def _environment(bed: ControlPlane) -> dict[str, str]:
    environment = bed.command_environment()
    ours = str(Path(sys.executable).parent)  # toolvet and kubectl-toolvet
    return {**environment, "PATH": f"{ours}{os.pathsep}{environment['PATH']}", "COLUMNS": "200"}


def _live(release: str) -> tuple[str, str]:
    """Return the command that makes a release of the MCP server the live catalog, and how it is shown."""
    server = " ".join(installed(MCP_PACKAGE, release, CONSTRAINT))
    shown = f"{MCP_PACKAGE} ({release})"
    pipe = (
        f"toolvet inventory from-mcp --name {AGENT} -n {NAMESPACE} --id-namespace example.org "
        "--tool-version 1.0.0 --capability capability:example.org/git@1.0.0 -- {server}"
        " | kubectl apply --server-side -f -"
    )
    return pipe.format(server=server), pipe.format(server=shown)


@contextmanager
def _manifest_in(directory: Path) -> Iterator[None]:
    (directory / "agent.yaml").write_text(_MANIFEST.read_text(encoding="utf-8"), encoding="utf-8")
    yield


def _story(terminal: Terminal, bed: ControlPlane, people: People) -> None:
    apply = f"kubectl apply --server-side -n {NAMESPACE} -f agent.yaml"
    with _manifest_in(bed.directory):
        with terminal.step("The platform engineer has Toolvet govern the namespace"):
            terminal.run(f"toolvet namespace enforce {NAMESPACE}", as_user=people.engineer)
        with terminal.step(f"CI publishes the agent's live catalog: the tools of {MCP_PACKAGE} {OLDER}"):
            command, shown = _live(OLDER)
            terminal.run(command, as_user=people.producer, shown=shown)
        with terminal.step("The developer rolls the agent out: refused, nobody has reviewed its tools"):
            terminal.run(apply, as_user=people.developer, refused=True)
        with terminal.step("A reviewer captures the catalog and approves it"):
            _review(terminal, people)
        with terminal.step("The same apply, at once"):
            terminal.run(apply, as_user=people.developer)
        with terminal.step(f"{MCP_PACKAGE} {NEWER} becomes live: same agent, other tools"):
            command, shown = _live(NEWER)
            terminal.run(command, as_user=people.producer, shown=shown)
            _wait_for_drift(bed)
            columns = f"kubectl get tvinv,tvsnap,tvappr -n {NAMESPACE}"
            terminal.run(columns, as_user=people.developer)
            selector = "type=Warning,involvedObject.kind=Deployment"
            events = f"kubectl get events -n {NAMESPACE} --field-selector {selector}"
            terminal.run(events, as_user=people.developer)
        with terminal.step("The next rollout is refused, and says what changed"):
            restart = f"kubectl rollout restart deployment/{AGENT} -n {NAMESPACE}"
            terminal.run(restart, as_user=people.developer, refused=True)
        with terminal.step("The reviewer looks at the difference and approves the new catalog"):
            _review(terminal, people)
        with terminal.step("The rollout goes through"):
            terminal.run(restart, as_user=people.developer)


def _review(terminal: Terminal, people: People) -> None:
    out = terminal.run(f"kubectl toolvet capture {AGENT} -n {NAMESPACE}", as_user=people.reviewer)
    snapshot = out.strip().rpartition("/")[2]
    terminal.run(f"kubectl toolvet approve {snapshot} -n {NAMESPACE} --expires 90d", as_user=people.reviewer)


def _wait_for_drift(bed: ControlPlane) -> None:
    def drifted() -> bool:
        out = bed.kubectl("get", "tvinv", AGENT, "-n", NAMESPACE, "-o", "json").stdout
        status = json.loads(out).get("status", {})
        return status.get("workloads", {}).get("drifted") == 1

    wait_until(drifted, DRIFT_SECONDS, "the controller has not marked the agent drifted")
