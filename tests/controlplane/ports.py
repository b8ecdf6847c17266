"""Free loopback ports."""

import random
import socket
from pathlib import Path

_LOWEST = 15000
_given: set[int] = set()


def free_port(address: str = "127.0.0.1") -> int:
    """Return a TCP port nobody listens on at ``address``, never the same one twice in this process.

    It lies below the kernel's ephemeral range where there is one: between choosing a port and listening
    on it, an outgoing connection could otherwise take it as its source port.
    """
    highest = _ephemeral_start() - 1
    for _ in range(200):
        wanted = random.randint(_LOWEST, highest) if highest > _LOWEST + 1000 else 0  # noqa: S311
        with socket.socket() as probe:
            try:
                probe.bind((address, wanted))
            except OSError:
                continue
            port: int = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port
    raise OSError("no free loopback port found")


def _ephemeral_start() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32768
