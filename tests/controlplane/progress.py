"""Say on stderr what takes long: in place on a terminal, a line every ten seconds elsewhere."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

INTERVAL_SECONDS = 10.0
INTERVAL_TERMINAL_SECONDS = 1.0


class Progress:
    """Repeats the latest text of ``say`` with the time since start until the block ends."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._terminal = sys.stderr.isatty()
        self._text = "starting"
        self._started = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)

    def say(self, text: str) -> None:
        """Set what is going on now; it is printed at the next interval."""
        self._text = text

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._print()
        if self._terminal:
            print(file=sys.stderr)

    def _repeat(self) -> None:
        interval = INTERVAL_TERMINAL_SECONDS if self._terminal else INTERVAL_SECONDS
        # The first line comes soon: a build that starts silently looks hung.
        delay = 0.2
        while not self._ended.wait(delay):
            self._print()
            delay = interval

    def _print(self) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        line = f"[{minutes}:{seconds:02}] {self._title}: {self._text}"
        if self._terminal:
            print(f"\r\x1b[K{line[:110]}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
