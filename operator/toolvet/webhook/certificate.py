"""The serving pair, swapped without closing the listener; the last good one is kept.

The listener holds one front context whose ``sni_callback`` hands each handshake the current context.
Loading into a live context instead would break every later handshake when the pair is torn.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

from toolvet.kube.process import log

_LOGGER = logging.getLogger("toolvet.webhook")
CERTIFICATE_FILE = "tls.crt"
KEY_FILE = "tls.key"

_Stamp = tuple[tuple[int, int, int], ...]


class ServingCertificate:
    """The pair in a folder, as a kubelet projects it."""

    def __init__(self, folder: Path) -> None:
        self._files = (folder / CERTIFICATE_FILE, folder / KEY_FILE)
        self._seen: _Stamp | None = None
        self._current: ssl.SSLContext | None = None
        self.front = _new_context()
        # Called for every ClientHello, with or without a server name in it.
        self.front.sni_callback = self._choose

    @property
    def loaded(self) -> bool:
        """Tell whether there has been one good pair."""
        return self._current is not None

    def _choose(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None

    def refresh(self) -> None:
        """Look at the files; take the pair when it changed and is whole."""
        try:
            stamp: _Stamp = tuple(
                (status.st_ino, status.st_mtime_ns, status.st_size)
                for status in (path.stat() for path in self._files)
            )
        except OSError:
            return
        if stamp == self._seen:
            return
        self._seen = stamp
        fresh = _new_context()
        try:
            # Without a password of ours OpenSSL would ask for one on the terminal, and wait.
            fresh.load_cert_chain(*self._files, password="")  # it fits no encrypted key
        except (OSError, ValueError):
            # Torn, unreadable or not a pair: told once, and looked at again when a file changes.
            log(_LOGGER, logging.WARNING, "certificate_refused", kept_previous=self.loaded)
            return
        self._current = fresh
        log(_LOGGER, logging.INFO, "certificate_loaded")


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
