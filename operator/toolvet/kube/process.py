"""What the two processes share: their options, their log lines, their end on a signal."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolvet.kube.incluster import DEFAULT_DIRECTORY

_HEARD = (signal.SIGTERM, signal.SIGINT)


class _JsonLines(logging.Formatter):
    """One JSON object a line; fields are codes, names and numbers, never the text of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return json.dumps(line, default=str)


def log(logger: logging.Logger, level: int, event: str, **fields: object) -> None:
    """Write one line with its fields."""
    logger.log(level, event, extra={"fields": fields})


def where(error: BaseException) -> str:
    """Name the type of an exception and the line that raised it; its text may hold values and is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def set_up_logging(*, verbose: bool) -> None:
    """Send our own lines to stderr; libraries only speak up from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("toolvet").setLevel(logging.DEBUG if verbose else logging.INFO)


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the options both processes have; a repeated option's last value wins."""
    arguments = argparse.ArgumentParser(prog=f"toolvet {name}", description=description, allow_abbrev=False)
    arguments.add_argument(
        "--service-account-dir",
        type=Path,
        default=DEFAULT_DIRECTORY,
        help="folder with token, ca.crt and namespace (default: %(default)s)",
    )
    arguments.add_argument("--bind-address", default=None, help="address to listen on (default: all)")
    arguments.add_argument("--verbose", action="store_true", help="log more")
    return arguments


def on_stop(stop: Callable[[], None]) -> None:
    """Call ``stop`` once on SIGTERM or SIGINT; a second signal ends the process as usual."""
    loop = asyncio.get_running_loop()

    def heard() -> None:
        for number in _HEARD:
            loop.remove_signal_handler(number)
        stop()

    for number in _HEARD:
        loop.add_signal_handler(number, heard)
