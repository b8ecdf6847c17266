"""``python -m controlplane build``: make the programs now; ``path``: print their directory."""

import sys

from controlplane.build import BuildError, programs


def main(arguments: list[str]) -> int:
    """Return the exit code: 0 done, 1 the programs cannot be made, 2 bad use."""
    if arguments not in (["build"], ["path"]):
        print("usage: python -m controlplane build|path", file=sys.stderr)
        return 2
    try:
        found = programs()
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if arguments == ["path"]:
        print(found["kube-apiserver"].parent)
    else:
        print(f"control plane programs are in {found['kube-apiserver'].parent}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
