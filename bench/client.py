"""One kept-alive connection to the API server; standard library only, so that it costs every arm the same."""

import http.client
import json
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

TIMEOUT_SECONDS = 15.0


class UnexpectedAnswerError(RuntimeError):
    """The API server answered otherwise than the measurement presumes."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API server of 127.0.0.1 listens and who we are to it: PEM files."""

    port: int
    authority: Path
    certificate: Path
    key: Path

    def arguments(self) -> list[str]:
        """Return the same as arguments of a process; see ``from_arguments``."""
        return [str(self.port), str(self.authority), str(self.certificate), str(self.key)]

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> "Access":
        """Read back what ``arguments`` returned."""
        port, *files = arguments
        return cls(int(port), *(Path(file) for file in files))


class Connection:
    """Calls one after the other over one connection."""

    def __init__(self, access: Access) -> None:
        context = ssl.create_default_context(cafile=access.authority)
        context.load_cert_chain(access.certificate, access.key)
        self._http = http.client.HTTPSConnection(
            "127.0.0.1", access.port, timeout=TIMEOUT_SECONDS, context=context
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Return status and content. Errors: OSError and http.client.HTTPException without an answer."""
        self._http.request(method, path, body=body, headers={"Content-Type": "application/json"})
        response = self._http.getresponse()
        return response.status, response.read()

    def expect(self, status: int, method: str, path: str, body: bytes | None = None) -> float:
        """Return the seconds until the answer. Errors: UnexpectedAnswerError for another status."""
        started = time.perf_counter()
        found, content = self.call(method, path, body)
        seconds = time.perf_counter() - started
        if found != status:
            raise UnexpectedAnswerError(f"{method} {path}: {found} {content[:500]!r}")
        return seconds


def encoded(value: dict[str, Any]) -> bytes:
    """Return a request body."""
    return json.dumps(value).encode()
