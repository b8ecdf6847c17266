"""The background: a steady rate of writes to ConfigMaps, which no webhook of ours sees.

``python -m bench.writer SECONDS NAMESPACE ACCESS...`` runs until then or SIGTERM, and prints its rate.
"""

import signal
import sys
import threading
import time

from bench.client import Access, Connection, encoded

RATE = 120  # writes a second
_THREADS = 4
_OBJECTS = 20
_CREATED = 201
_OK = 200


def _path(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps{name and f'/{name}'}"


def _config_map(name: str, count: int) -> bytes:
    return encoded({"metadata": {"name": name}, "data": {"count": str(count), "filler": "x" * 512}})


def create_objects(connection: Connection, namespace: str) -> None:
    """Make the objects that are written over and over: their number never grows."""
    for number in range(_OBJECTS):
        connection.expect(_CREATED, "POST", _path(namespace), _config_map(f"background-{number}", 0))


def _write(
    access: Access, namespace: str, first: int, end: float, stop: threading.Event, done: list[int]
) -> None:
    with Connection(access) as connection:
        due = time.monotonic() + first / RATE
        count = 0
        while due < end and not stop.wait(max(0.0, due - time.monotonic())):
            name = f"background-{(first + count * _THREADS) % _OBJECTS}"
            connection.expect(_OK, "PUT", _path(namespace, name), _config_map(name, count))
            count += 1
            # Behind its time it does not catch up in a burst.
            due = max(due + _THREADS / RATE, time.monotonic() - _THREADS / RATE)
            done[first] = count


def main(arguments: list[str]) -> int:
    """Write until the time is over; returns the exit code."""
    seconds, namespace, *access = arguments
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    started = time.monotonic()
    done = [0] * _THREADS
    threads = [
        threading.Thread(
            target=_write,
            args=(Access.from_arguments(access), namespace, first, started + float(seconds), stop, done),
        )
        for first in range(_THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"rate {sum(done) / (time.monotonic() - started):.0f}", flush=True)  # noqa: T201  # read by the bench
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
