"""Wait for a condition instead of a time."""

import time
from collections.abc import Callable

POLL_SECONDS = 0.05


def wait_until(
    condition: Callable[[], object], seconds: float, complaint: str, pause: float = POLL_SECONDS
) -> None:
    """Return as soon as ``condition()`` is true, asked every ``pause`` seconds and at least once.

    Errors: TimeoutError ``<complaint> after <seconds> s``; whatever the condition raises.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{complaint} after {seconds:.0f} s")
        time.sleep(pause)
