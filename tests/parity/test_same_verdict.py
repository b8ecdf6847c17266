"""The API server with our CRDs and our models accept exactly the same objects, and read them the same.

``TOOLVET_PARITY_OBJECTS`` sets how many are drawn (default 6000), ``TOOLVET_PARITY_SEED`` which.

Left out, each because it is not the CRDs' and the models' to judge:

- What the API server gives a stored object (uid, creation time) is given to the models, too: the run id of a
  snapshot that declares none follows from the uid.
- Members of the metadata but the name, and ``generateName``: Kubernetes' own type, decoded before our schema
  is asked; models read stored objects.
- ``apiVersion`` and ``kind``: on the API server the path says which resource is meant, here the caller.
- Members of ``status``: the API server drops a status that comes with a creation, and no verdict reads one.
- Rules on updates (immutability): a model sees one object. tests/crds proves them.
- Names of members that occur twice: JSON for the API server, a mapping for the models. tests/kube proves our
  readers of documents.
- Unpaired surrogates: no UTF-8 holds one. The API server reads U+FFFD instead.
- That ``catalogDigest`` is the digest of the bindings: the API server cannot hash. Models do not refuse it
  either; all who decide recompute it (controller: digest_mismatch).

What they share is stated by what was found: nulls of optional members are dropped by the API server before it
judges, and the models take them for absent; defaults are the models' defaults.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from random import Random

import pytest

from parity.borders import borders, sizes
from parity.conftest import SOURCES
from parity.faults import drawn
from parity.objects import KINDS, Object
from parity.verdicts import Answer, Server, as_stored, fault, read
from toolvet.core.errors import ContractError

OBJECTS = int(os.environ.get("TOOLVET_PARITY_OBJECTS", "6000"))
SEED = os.environ.get("TOOLVET_PARITY_SEED", "1")
SHOWN = 5

SHOWN_CHARACTERS = 1500
TRANSITION = re.compile(r"oldSelf")


def messages(kind: str) -> set[str]:
    """The codes of a kind's CEL rules that need no older object."""
    (source,) = [text for text in (path.read_text() for path in SOURCES) if f"\n    kind: {kind}\n" in text]
    rules = source.split("- rule:")[1:]
    found = [
        re.search(r'message: "?(\w+(?:\.\w+)?: \w+)', rule) for rule in rules if not TRANSITION.search(rule)
    ]
    return {match[1] for match in found if match}


def schema_rules(kind: str) -> list[str]:
    """What the API server's schema says of each kind; an approval has no list."""
    found = ["Required value", "Too long", "must be of type", "unknown field"]
    return found if kind == "CatalogApproval" else [*found, "Too many"]


def disagreement(obj: Object, answer: Answer, seen: Counter[str], good: bool | None) -> str | None:
    """Compare the API server's answer with our models', and both with what is right where that is known."""
    kind = obj["kind"]
    ours = fault(as_stored(obj, answer.stored), kind)
    seen.update([answer.message, str(ours)])
    verdicts = f"API server: {answer.message or 'accepted'}; models: {ours or 'accepted'}"
    if (answer.stored is None) != (ours is not None):
        return verdicts
    if good is not None and good is not (ours is None):
        return f"both are wrong: {verdicts}"
    if answer.stored is None:
        return None
    try:
        same = read(answer.stored, kind) == read(as_stored(obj, answer.stored), kind)
    except ContractError as error:
        return f"stored, and then refused: {error}"
    return None if same else "read otherwise than stored"


def random_objects(kind: str) -> Iterator[tuple[str, Object, None]]:
    random = Random(f"{SEED} {kind}")  # noqa: S311  # nothing here is a secret
    for number in range(OBJECTS // len(KINDS)):
        yield f"random {number}", drawn(random, kind), None


@pytest.mark.parametrize("kind", KINDS)
def test_one_verdict(server: Server, kind: str) -> None:
    seen: Counter[str] = Counter()
    accepted = Counter[bool]()
    differing = []
    for place, obj, good in chain(borders(kind), sizes(kind), random_objects(kind)):
        answer = server.create(obj)
        if (found := disagreement(obj, answer, seen, good)) is not None:
            differing.append(f"{place}: {found}\n{json.dumps(obj)[:SHOWN_CHARACTERS]}")
        if good is None:
            accepted[answer.stored is not None] += 1
    assert not differing, f"{len(differing)} differ:\n\n" + "\n\n".join(differing[:SHOWN])
    # Neither judge says yes or no to everything, and every rule has had its say.
    assert min(accepted.values()) > accepted.total() // 6, accepted
    told = "\n".join(seen)
    assert not [code for code in (*messages(kind), *schema_rules(kind)) if code not in told]
