"""What one collector costs: many live servers on loopback, each listed once a minute."""

from __future__ import annotations

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from controlplane.bed import ControlPlane
from controlplane.installation import Installation
from controlplane.waiting import wait_until

SERVERS = 500
TOOLS = 40
INTERVAL = 60
MEASURED_SECONDS = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")


def _tool(server: int, index: int) -> dict[str, object]:
    text = f"Reads record {index} of store {server} and returns it with its history. " * 4
    properties = {
        f"field_{place}": {"type": "string", "description": f"The value number {place} to look for."}
        for place in range(6)
    }
    schema = {"type": "object", "properties": properties, "required": ["field_0"]}
    return {"name": f"read_{index}", "description": text, "inputSchema": schema}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bodies: dict[int, bytes] = {}  # noqa: RUF012  # one table for all connections

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = int(self.path.split("/")[1])
        if request["method"] == "server/discover":
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "bench", "version": "1.0.0"}  # type: ignore[assignment]
            listed = json.dumps(result).encode()
        else:
            listed = self.bodies[server]
        body = b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(request["id"]).encode(), listed)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def measure() -> dict[str, float]:
    """Return the share of a core and the resident MiB of one collector in its steady state."""
    _Handler.bodies = {
        server: json.dumps({"tools": [_tool(server, index) for index in range(TOOLS)]}).encode()
        for server in range(SERVERS)
    }
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, daemon=True).start()
    values = {"collector": {"enabled": True, "allow": ["127.0.0.1"]}}
    with (
        ControlPlane() as bed,
        Installation(bed, values, processes=False) as product,
        bed.namespace() as team,
    ):
        account = f"{product.namespace}:{product.chart.fullname}-collector"
        role = f"{product.chart.fullname}-collector-secrets"
        bed.kubectl(
            *("-n", team, "create", "rolebinding", "collector", "--clusterrole", role),
            *("--serviceaccount", account),
        )
        path = f"/apis/toolvet.dev/v1alpha1/namespaces/{team}/mcpsources"
        for server in range(SERVERS):
            bed.api("POST", path, _source(server, http.server_port))
        process = product.start_collector()
        observed = f"{path}?limit=1000"

        def all_seen() -> bool:
            items = bed.api("GET", observed)["items"]
            return all("observedAt" in item.get("status", {}) for item in items)

        started = time.monotonic()
        wait_until(all_seen, 300.0, "not every source was looked at", 2.0)
        first = time.monotonic() - started
        wait_until(
            lambda: time.monotonic() - started > first + INTERVAL, 2 * INTERVAL, "time stands still", 1.0
        )
        before, at = _cpu(process.pid), time.monotonic()
        wait_until(
            lambda: time.monotonic() - at > MEASURED_SECONDS, 2 * MEASURED_SECONDS, "time stands still", 1.0
        )
        share = (_cpu(process.pid) - before) / (time.monotonic() - at)
        found = {"firstLooksSeconds": first, "cores": share, "residentMiB": _resident(process.pid)}
    http.shutdown()
    return found


def _source(server: int, port: int) -> dict[str, object]:
    defaults = {"idNamespace": "org.example", "capabilityClass": "capability:org.example/records"}
    return {
        "apiVersion": "toolvet.dev/v1alpha1",
        "kind": "MCPSource",
        "metadata": {"name": f"s{server}"},
        "spec": {
            "url": f"http://127.0.0.1:{port}/{server}/mcp",
            "inventoryName": f"agent-{server}",
            "intervalSeconds": INTERVAL,
            "mapping": {"defaults": defaults},
        },
    }


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def sources() -> str:
    """Return the figures as a section of the report."""
    found = measure()
    return (
        f"## Live servers\n\n{SERVERS} servers of {TOOLS} tools on loopback, each listed every {INTERVAL} s "
        f"by one collector:\n{found['cores']:.2f} of a core, {found['residentMiB']:.0f} MiB at most, and "
        f"{found['firstLooksSeconds']:.0f} s until every one was seen first."
    )
