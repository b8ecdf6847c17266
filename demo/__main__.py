"""``python -m demo`` tells the story; ``python -m demo sandbox`` leaves everything running."""

import signal
import sys

from controlplane.build import BuildError
from controlplane.commands import CommandError
from demo.sandbox import play
from demo.story import tell
from demo.terminal import DemoError


def main(arguments: list[str]) -> int:
    """Return the exit code: 0 done, 1 it did not end as it should, 2 bad use."""
    if arguments not in ([], ["sandbox"]):
        print("usage: python -m demo [sandbox]", file=sys.stderr)
        return 2
    try:
        if arguments:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            play()
        else:
            tell()
    except (BuildError, CommandError, DemoError, TimeoutError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
