"""The serving pair, swapped without closing the listener; the last good one is kept.

The listener holds one front context whose ``sni_callback`` hands each handshake the current context.
Loading into a live context instead would break every later handshake when the pair is torn. A whole pair
that is not valid at the moment waits as long as the one in use is: no caller would accept it.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from toolvet.kube.process import log

_LOGGER = logging.getLogger("toolvet.webhook")
CERTIFICATE_FILE = "tls.crt"
KEY_FILE = "tls.key"

_Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    context: ssl.SSLContext
    start: datetime
    end: datetime

    def is_valid(self, now: datetime) -> bool:
        return self.start <= now <= self.end


class ServingCertificate:
    """The pair in a folder, as a kubelet projects it."""

    def __init__(self, folder: Path) -> None:
        self._files = (folder / CERTIFICATE_FILE, folder / KEY_FILE)
        self._seen: _Stamp | None = None
        self._current: _Pair | None = None
        self._waiting: _Pair | None = None
        self.front = _new_context()
        # Called for every ClientHello, with or without a server name in it.
        self.front.sni_callback = self._choose

    @property
    def loaded(self) -> bool:
        """Tell whether there has been one whole pair."""
        return self._current is not None

    def _choose(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current.context
        return None

    def refresh(self, now: datetime) -> None:
        """Look at the files; take the pair when it changed, is whole and no worse than the one in use."""
        self._read(now)
        fresh = self._waiting
        if fresh is None or (
            self._current is not None and self._current.is_valid(now) and not fresh.is_valid(now)
        ):
            return
        self._current, self._waiting = fresh, None
        log(_LOGGER, logging.INFO, "certificate_loaded", valid=fresh.is_valid(now))

    def _read(self, now: datetime) -> None:
        """Read the files where they changed; what they hold waits to be taken."""
        try:
            stamp: _Stamp = tuple(
                (status.st_ino, status.st_mtime_ns, status.st_size)
                for status in (path.stat() for path in self._files)
            )
        except OSError:
            return
        if stamp == self._seen:
            return
        self._seen, self._waiting = stamp, None
        try:
            fresh = self._pair()
        except (OSError, ValueError, UnsupportedAlgorithm):
            # Torn, unreadable or not a pair: told once, and looked at again when a file changes.
            log(_LOGGER, logging.WARNING, "certificate_refused", kept_previous=self.loaded)
            return
        if not fresh.is_valid(now):
            log(_LOGGER, logging.WARNING, "certificate_not_valid_now", kept_previous=self.loaded)
        self._waiting = fresh

    def _pair(self) -> _Pair:
        context = _new_context()
        # Without a password of ours OpenSSL would ask for one on the terminal, and wait.
        context.load_cert_chain(*self._files, password="")  # it fits no encrypted key
        # Files swapped between the two reads have another stamp, and both are read again.
        leaf = x509.load_pem_x509_certificate(self._files[0].read_bytes())
        return _Pair(context, leaf.not_valid_before_utc, leaf.not_valid_after_utc)


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
