"""``python -m node up|down|footprint``: a node with the product on it to play with, and to measure."""

import sys

from controlplane.build import BuildError
from controlplane.commands import CommandError
from controlplane.lifecycle import ControlPlaneError
from image.build import built_image
from image.programs import ImageError
from node.bed import Node, NodeError
from node.footprint import measure, table
from node.packages import PackageError
from node.release import install
from node.standing import StandingError, hold, put_down, put_up

IDLE_SECONDS = 120.0
_ERRORS = (
    *(BuildError, CommandError, ControlPlaneError, ImageError, NodeError, PackageError, StandingError),
    *(RuntimeError, TimeoutError),
)


def main(arguments: list[str]) -> int:
    """Return the exit code: 0 done, 1 it cannot be done, 2 bad use."""
    commands = {"up": put_up, "down": put_down, "hold": hold, "footprint": footprint}
    if len(arguments) != 1 or arguments[0] not in commands:
        print("usage: python -m node up|down|footprint", file=sys.stderr)
        return 2
    try:
        commands[arguments[0]]()
    except _ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def footprint() -> None:
    """Install the chart on a new node, wait, and print what it takes while nothing happens."""
    image = built_image()
    with Node() as bed:
        bed.load_image(image.archive)
        print(table(measure(install(bed, image.reference), IDLE_SECONDS)))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
