"""Entry point of ``toolvet`` and ``kubectl toolvet``: what runs, and the exit code of its end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn

from toolvet.core.errors import ContractError

_BAD_INPUT = 2
_UNKNOWN = 3
_INTERRUPTED = 130


def _process(name: str) -> Callable[[Sequence[str]], int]:
    def run(argv: Sequence[str]) -> int:
        # Loaded by name and late: the command line must not pay for the processes, nor they for it.
        return int(import_module(f"toolvet.{name}.main").run(list(argv)))

    return run


PROCESSES = {
    "controller": (
        "Run the controller: keeps the status of inventories, snapshots and approvals.",
        _process("controller"),
    ),
    "collector": (
        "Run the collector: lists the tools of live MCP servers and records their changes.",
        _process("collector"),
    ),
    "webhook": ("Run the admission webhook: the gate before governed workloads.", _process("webhook")),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; no error ends in a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ContractError as error:
        return _report(error)
    except ModuleNotFoundError as error:
        extra = "operator" if arguments[:1] and arguments[0] in PROCESSES else "cli"
        sys.stderr.write(f"error: module {error.name} is missing: install 'toolvet[{extra}]'\n")
        return _BAD_INPUT
    except Exception as error:  # noqa: BLE001  # the last resort: its text may hold content, its type does not
        sys.stderr.write(f"error: internal: {type(error).__name__}\n")
        return _UNKNOWN


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] and arguments[0] in PROCESSES:
        return PROCESSES[arguments[0]][1](arguments[1:])
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays in force
            signal.signal(number, _terminated)
    from toolvet.cli import app  # noqa: PLC0415  # the processes need none of it

    app.list_processes(PROCESSES)
    return app.run(arguments, program=_program())


def _report(error: ContractError) -> int:
    from toolvet.cli.output import print_error  # noqa: PLC0415  # only needed on this path

    print_error(error)
    return _BAD_INPUT


def _program() -> str:
    # kubectl starts plugins under their file name; people type it as two words.
    return "kubectl toolvet" if Path(sys.argv[0]).stem == "kubectl-toolvet" else "toolvet"


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    # The default action would leave a started server behind.
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
