"""One long-lived process that answers for the reference; a line of cases each way, one at a time."""

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance import reference

ORACLE = Path(__file__).parent / "oracle"
CODEC = Path(__file__).parents[1] / "contracts" / "vectors"

Question = tuple[str, dict[str, Any]]
"""A family, and the input of one case in it."""


class OracleError(RuntimeError):
    """The reference's process ended; its own words are on stderr."""


class Oracle:
    """A context manager; ``ask`` sends and ``answers`` waits, so that both sides can work at once."""

    def __enter__(self) -> Self:
        python = reference.interpreter()
        # Nothing of ours may be importable there but the codec; the order of hashes is not to matter.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= {"PYTHONPATH": str(CODEC), "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [str(python), str(ORACLE)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()  # it may be in the middle of a line
        self._process.communicate()

    def ask(self, questions: list[Question]) -> None:
        """Send a batch; exactly one call of ``answers`` must follow."""
        try:
            self._stdin.write(json.dumps(questions) + "\n")
            self._stdin.flush()
        except BrokenPipeError as error:
            raise OracleError("the reference's process does not read") from error

    def answers(self) -> list[dict[str, Any]]:
        """Return the outcomes of the batch sent last, in its order."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise OracleError(f"the reference's process ended with code {self._process.wait()}")
        outcomes: list[dict[str, Any]] = json.loads(line)
        return outcomes

    def outcomes(self, questions: list[Question]) -> list[dict[str, Any]]:
        """Ask and wait."""
        self.ask(questions)
        return self.answers()

    @property
    def _stdin(self) -> Any:
        return self._process.stdin
