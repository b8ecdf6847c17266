"""A live MCP server on loopback whose tools a test rewrites; sessionless, one answer a request."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODERN = "2026-07-28"


class RewritingServer:
    """``tools`` and ``instructions`` are served as they are at the time; ``down`` answers 503 instead.

    ``headers`` go with every answer; ``failure`` is a status and a body instead of one.
    """

    def __init__(self, *tools, version="1.2.3", tls=None):
        self.tools = list(tools)
        self.instructions = None
        self.version = version
        self.down = False
        self.headers = {}
        self.failure = None
        self.listings = 0
        self.seen_headers = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.seen_headers.append(dict(self.headers))
                if outer.down:
                    self._send(503, b"")
                elif outer.failure is not None:
                    self._send(*outer.failure)
                elif "id" not in request:
                    self._send(202, b"")
                else:
                    result = outer.result(request["method"])
                    answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
                    self._send(200, json.dumps(answer).encode())

            def _send(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def result(self, method):
        info = {"name": "rewriting", "version": self.version}
        if method == "server/discover":
            found = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": info}
            return found | ({"instructions": self.instructions} if self.instructions else {})
        self.listings += 1
        return {"tools": self.tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}

    @property
    def url(self):
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/mcp"

    @property
    def port(self):
        return self._server.server_port

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
