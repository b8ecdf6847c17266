"""Values of every member of our specs: at the borders of its grammar, just beyond them, and at random."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from crds.objects import DIGEST, LONGEST_CAPABILITY, LONGEST_NAMESPACE, LONGEST_VERSION

Draw = Callable[[Random], Any]

EMOJI = "\U0001f600"  # one code point, two UTF-16 units, four bytes
ODD = ["", " ", "\n", "a\n", " a", "a\x00", "\u00e9", "a\u0661", EMOJI, "A", "a_b", "\uff41", "a\u200b"]


@dataclass(frozen=True)
class Pool:
    """Values that are right, and values that are wrong."""

    good: list[Any]
    bad: list[Any]

    def __call__(self, random: Random) -> Any:
        return random.choice(self.bad if random.random() < 0.35 else self.good)


_VERSIONS = Pool(
    ["0.0.0", "1.9.0", "1.10.0", "10.0.0", "1.0.0", LONGEST_VERSION],
    [
        *("", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.00", "v1.0.0", "1.0.0-rc1", "1.0.0+b", "-1.0.0", "1..0"),
        *("1.0.0\n", "\n1.0.0", " 1.0.0", "1.0.\u0660", "1,0,0", f"{LONGEST_VERSION}9", "1.0.0\x00"),
        *("\uff11.0.0", "1.0.0@1.0.0", EMOJI),
    ],
)
_LABELS = Pool(
    ["a", "0", "org", "a-b", "a--b", "9z", "l" * 63],
    ["", "-a", "a-", "l" * 64, "Org", "a_b", "\u00e9", "a\n", "a:1", " a", "a\x00", EMOJI],
)
_LOCALS = Pool(
    ["a", "a-", "a--b", "z9", "a" * 64, "list-notes"],
    [
        *(
            "",
            "0a",
            "-a",
            "Up",
            "a_b",
            "a" * 65,
            "a\u00e9",
            "a\n",
            "a\x00",
            f"a{EMOJI}",
            "a.b",
            "a/b",
            "a\u0661",
        ),
        *(" a", "a ", "a@", "a@1", "a@1.0", "a@01.0.0", "a@1.0.0\n", "a@1.0.0@1.0.0", "a@1.0.0-x"),
    ],
)
LOCALS = _LOCALS.good
HEX = "0123456789abcdef"


def _identifiers(kind: str, others: list[str], tails: Pool, longest: Pool) -> Pool:
    at = f"{kind}:org.example/"
    good = [
        *(f"{kind}:{label}.b/x" for label in _LABELS.good),
        *(f"{kind}:b.{label}/x" for label in _LABELS.good),
    ]
    bad = [
        *(f"{kind}:{label}.b/x" for label in _LABELS.bad),
        *(f"{kind}:b.{label}/x" for label in _LABELS.bad),
    ]
    good += [
        *(f"{at}{name}" for name in _LOCALS.good),
        *(f"{at}x{tail}" for tail in tails.good),
        *longest.good,
    ]
    bad += [*(f"{at}{name}" for name in _LOCALS.bad), *(f"{at}x{tail}" for tail in tails.bad), *longest.bad]
    bad += [f"{other}:org.example/x" for other in [*others, kind.upper(), f"{kind}s", "x", "", f" {kind}"]]
    bad += [
        kind,
        f"{kind}:",
        "org.example/x",
        f"{kind}:org/x",
        f"{kind}:org.example",
        f"{kind}:org.example/a/b",
    ]
    bad += [f"{kind}:{LONGEST_NAMESPACE}l/x", f"{kind}:a.{LONGEST_NAMESPACE}/x", *ODD]
    return Pool([*good, f"{kind}:{LONGEST_NAMESPACE}/x"], bad)


_LONGEST_TOOL = f"tool:{LONGEST_NAMESPACE}/{'a' * 64}"
_DIGESTS = Pool(
    [DIGEST, "sha256:" + HEX * 4],
    [
        *(
            "",
            DIGEST[7:],
            DIGEST[:-1],
            f"{DIGEST}0",
            f"{DIGEST}\n",
            f"{DIGEST[:-1]}\n",
            f" {DIGEST}",
            "sha256:",
        ),
        *(
            f"sha512:{DIGEST[7:]}",
            f"SHA256:{DIGEST[7:]}",
            f"{DIGEST[:-1]}A",
            f"{DIGEST[:-1]}g",
            "sha256:" + "A" * 64,
        ),
        *(
            f"{DIGEST[:-1]}\u0661",
            f"{DIGEST[:-1]}{EMOJI}",
            f"{DIGEST[:-1]}\x00",
            f"{DIGEST[:40]}\n{DIGEST[41:]}",
        ),
    ],
)
NAMES = Pool(
    ["a", "assistant", "a.b", "0", "a-b.c-d", "a--b", "n" * 236],
    ["n" * 237, "n" * 254, "-a", "a-", "a.", ".a", "a..b", "a.-b", "a-.b", "a/b", "a b", EMOJI * 236, *ODD],
)
USERS = Pool(
    ["admin", "system:serviceaccount:a:b", "u" * 512, EMOJI * 512, "a\nb", "\x00", " ", "\u00e9"],
    ["", "u" * 513, EMOJI * 513],
)
_RUN = "run_" + HEX * 2
_EXPIRIES = Pool(
    [
        *(
            "2030-01-31T12:00:00Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999Z",
            "2030-06-15T01:02:03.1Z",
        ),
        *(f"{year}-02-29T00:00:00Z" for year in ("0004", "0400", "1600", "2000", "2024", "2096", "2400")),
        *(f"2030-{month:02}-30T00:00:00Z" for month in range(1, 13) if month != 2),
        *(f"2030-{month:02}-31T00:00:00Z" for month in (1, 3, 5, 7, 8, 10, 12)),
    ],
    [
        *(f"{year}-02-29T00:00:00Z" for year in ("0000", "0100", "1900", "2023", "2100", "2200")),
        *(f"2030-{month:02}-31T00:00:00Z" for month in (2, 4, 6, 9, 11)),
        *(
            f"2030-{month:02}-{day:02}T00:00:00Z"
            for month, day in ((0, 1), (13, 1), (1, 0), (1, 32), (2, 30))
        ),
        *(
            f"2030-01-31T{time}Z"
            for time in ("24:00:00", "23:60:00", "23:59:60", "12:00", "12", "120000", "1:2:3")
        ),
        *(
            f"2030-01-31T12:00:00{end}"
            for end in ("", "z", "+00:00", "-07:00", "+02", ".Z", ",1Z", ".1234567Z", " Z")
        ),
        *(
            "2030-01-31t12:00:00Z",
            "2030-01-31 12:00:00Z",
            "2030-01-31",
            "20300131T120000Z",
            "2030-W05-4T12:00:00Z",
        ),
        *(
            "\u0662030-01-31T12:00:00Z",
            "+2030-01-31T12:00:00Z",
            "12030-01-31T12:00:00Z",
            "2030-1-31T12:00:00Z",
        ),
        *(
            "2030-01-31T12:00:00Z\n",
            "0000-01-01T00:00:00Z",
            "never",
            f"2030-01-31T12:00:00.{'0' * 20}Z",
            *ODD,
        ),
    ],
)
_AGES = Pool(
    ["720h", "1h30m", "1s", "1m", "999999h999999m999999s", "0h0m1s", "01h", "000001m", "1h0s"],
    [
        *(
            "0h",
            "0h0m0s",
            "00s",
            "1d",
            "h",
            "1",
            "1000000h",
            "1m1h",
            "1h1h",
            "1h ",
            "1h\n",
            "\n1h",
            "\u0661h",
        ),
        *("-1h", "+1h", "1.5h", "1H", "1h 1m", "9" * 25, "1h\x00", "P1D", *ODD),
    ],
)
_BOOLEANS = Pool([True, False, None], ["true", "", 0, 1, 1.0, [], {}])
_COUNTS = Pool(
    [1, 2, 10, None],
    [
        0,
        -1,
        11,
        2**31 - 1,
        2**31,
        2**32 + 1,
        2**63 - 1,
        2**63,
        2**64,
        -(2**63),
        1.0,
        1.5,
        1e30,
        -0.0,
        "1",
        True,
        [1],
    ],
)
KEYS = Pool(
    ["a", "app.kubernetes.io/name", "k" * 317, EMOJI * 317, "\n", "\x00", "version", "a.b[0]"],
    ["", "k" * 318, EMOJI * 318],
)
VALUES = Pool(["", "v", "v" * 63, EMOJI * 63, "\n", "\x00", None], ["v" * 64, EMOJI * 64, 1, True, [], {}])
NAMESPACES = Pool(
    ["a", "0", "a-b", "a--b", "n" * 63, "kube-system"], ["n" * 64, "a.b", "-a", "a-", None, 1, *ODD]
)
ACCOUNTS = Pool(["a", "default", "s" * 253, EMOJI * 253, "A b", "\n"], ["", "s" * 254, EMOJI * 254, None, 1])
CLASSES = ["none", "read-only", "idempotent-write", "non-idempotent-write", "destructive"]


def _label_maps() -> Pool:
    def sized(count: int) -> dict[str, str]:
        return {f"key-{index}": "v" for index in range(count)}

    good = [{key: "v"} for key in KEYS.good] + [{"k": value} for value in VALUES.good]
    bad = [{key: "v"} for key in KEYS.bad] + [{"k": value} for value in VALUES.bad]
    good += [None, *(sized(count) for count in (0, 2, 16)), {**sized(16), "none": None}]
    return Pool(good, [*bad, sized(17), {**sized(15), "": "v"}, [], "", [{}]])


def _random_identifier(kind: str) -> Draw:
    def draw(random: Random) -> str:
        labels = [random.choice(_LABELS.good) for _ in range(random.choice([2, 2, 3, 5]))]
        if random.random() < 0.2:
            labels[random.randrange(len(labels))] = random.choice(_LABELS.bad)
        return f"{kind}:{'.'.join(labels)}/{_LOCALS(random)}"

    return draw


def _random_moment(random: Random) -> str:
    year = random.choice([0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 2030, 2100, 9999])
    date = f"{year:04}-{random.randint(0, 13):02}-{random.randint(0, 32):02}"
    time = f"{random.randint(0, 24):02}:{random.randint(0, 60):02}:{random.randint(0, 60):02}"
    return f"{date}T{time}{random.choice(['', '', '.1', '.123456', '.1234567'])}{random.choice('ZZZz')}"


POOLS: dict[str, Pool] = {
    "toolId": _identifiers(
        "tool",
        ["capability", "purpose"],
        Pool([""], ["@1.0.0", "@0.0.0", "@1.0", "@", "@01.0.0"]),
        Pool([_LONGEST_TOOL], [f"{_LONGEST_TOOL}a", f"{_LONGEST_TOOL}@1.0.0"]),
    ),
    "version": _VERSIONS,
    "capabilityClass": _identifiers(
        "capability",
        ["tool", "purpose"],
        Pool(["@1.0.0", "@0.0.0", "@10.20.30", f"@{LONGEST_VERSION}9"], ["@", "@1", "@1.0.01", "@1.0.0 "]),
        Pool([LONGEST_CAPABILITY], [f"{LONGEST_CAPABILITY}9", f"{LONGEST_CAPABILITY[:-1]}\u0661"]),
    ),
    "sideEffectClass": Pool(
        CLASSES,
        ["None", "read_only", "READ-ONLY", "destructive\n", " none", "write", "x" * 33, "n\u043ene", *ODD],
    ),
    "schemaDigest": _DIGESTS,
    "implementationId": _DIGESTS,
    "inventoryName": NAMES,
    "name": Pool(NAMES.good, ["default", *NAMES.bad]),
    "catalogDigest": _DIGESTS,
    "snapshotDigest": _DIGESTS,
    "snapshotName": NAMES,
    "runId": Pool(
        [_RUN, None],
        [
            "",
            _RUN[:-1],
            f"{_RUN}0",
            f"{_RUN}\n",
            f"{_RUN[:-1]}\n",
            _RUN.upper(),
            f"act_{_RUN[4:]}",
            _RUN[4:],
            1,
            *ODD,
        ],
    ),
    "capturedBy": Pool([*USERS.good, None], USERS.bad),
    "approvedBy": USERS,
    "expiresAt": Pool([*_EXPIRIES.good, None], _EXPIRIES.bad),
    "revoked": _BOOLEANS,
    "requiredApprovals": _COUNTS,
    "maxApprovalAge": Pool([*_AGES.good, None], _AGES.bad),
    "all": _BOOLEANS,
    "reviewOn": Pool(
        ["AnyChange", "MaterialChange", None],
        ["", "anyChange", "AnyChange ", "MaterialChange\n", "MinorChange", "x" * 17, 1, True, *ODD],
    ),
    "matchLabels": _label_maps(),
}
MEMBERS: dict[str, Draw] = {
    **POOLS,
    "toolId": lambda random: random.choice([POOLS["toolId"], _random_identifier("tool")])(random),
    "capabilityClass": lambda random: random.choice(
        [POOLS["capabilityClass"], _random_identifier("capability")]
    )(random),
    "expiresAt": lambda random: random.choice([POOLS["expiresAt"], _random_moment])(random),
}
ITEMS: dict[str, Pool] = {
    "deliverySubjects": Pool(USERS.good, [*USERS.bad, None, 1]),
    "serviceAccountNames": ACCOUNTS,
    "namespaces": NAMESPACES,
    "minorChangeOf": Pool(_DIGESTS.good, [*_DIGESTS.bad, None, 1]),
}
"""By the name of the list."""


def digest(random: Random) -> str:
    return "sha256:" + "".join(random.choices(HEX, k=64))
