"""A few plain calls to the API server as admin: what the bed itself needs, standard library only."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 30.0


class ApiError(RuntimeError):
    """The API server said no: ``status`` is the HTTP status, ``reason`` Kubernetes' own."""

    def __init__(self, method: str, path: str, status: int, answer: dict[str, Any]) -> None:
        self.status = status
        self.reason: str = answer.get("reason", "")
        super().__init__(f"{method} {path}: {status} {self.reason}: {answer.get('message', '')}")


class ApiClient:
    """Talks to 127.0.0.1:``port`` with a client certificate; one connection a call."""

    def __init__(self, port: int, authority: Path, certificate: Path, key: Path) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=authority)
        self._tls.load_cert_chain(certificate, key)

    def call(
        self, method: str, path: str, body: object = None, *, seconds: float = TIMEOUT_SECONDS
    ) -> dict[str, Any]:
        """Return the decoded answer ({} if it is not a JSON object).

        Errors: ApiError for a status of 400 and above, OSError if there is no answer.
        """
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=seconds, context=self._tls)
        try:
            data = None if body is None else json.dumps(body)
            content = "application/merge-patch+json" if method == "PATCH" else "application/json"
            headers = {"Accept": "application/json", "Content-Type": content}
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        answer = _object(text)
        if response.status >= http.client.BAD_REQUEST:
            raise ApiError(method, path, response.status, answer)
        return answer


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:  # /readyz answers prose
        return {}
    return value if isinstance(value, dict) else {}
