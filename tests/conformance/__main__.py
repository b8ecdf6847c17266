"""``python -m conformance [--cases N] [--seed S] [--family F ...]``: ours against the reference.

One summary line a family on stdout, progress and differences on stderr. Exit codes: 0 no difference but the
listed ones, 1 a difference or a reference that cannot be run, 2 bad use.
"""

import argparse
import sys

from conformance import generators
from conformance.allowed import ALLOWED
from conformance.client import Oracle, OracleError
from conformance.differential import Report, compare
from conformance.reference import InstallError

CASES = 20_000
SHOWN = 5


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES, help="in total, over all families")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases")
    parser.add_argument("--family", action="append", choices=list(generators.FAMILIES), help="only this one")
    return parser.parse_args()


def run(cases: int, seed: int, families: list[str]) -> list[Report]:
    shares = generators.shares(cases)
    reports = []
    with Oracle() as oracle:
        for family in families:
            print(f"{family}: {shares[family]} cases", file=sys.stderr)
            report = compare(oracle, family, seed, shares[family])
            for difference in report.differences[:SHOWN]:
                print(difference, file=sys.stderr)
            print(report, flush=True)
            reports.append(report)
    return reports


def main() -> int:
    given = arguments()
    try:
        reports = run(given.cases, given.seed, given.family or list(generators.FAMILIES))
    except (InstallError, OracleError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    found = sum(len(report.differences) for report in reports)
    for entry in ALLOWED:
        count = sum(report.allowed[entry.name] for report in reports)
        print(f"listed difference {entry.name}: {count} cases. {entry.reason}", file=sys.stderr)
    print(f"{sum(report.cases for report in reports)} cases, {found} differences that are not listed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
