"""No refusal of the API server by our rules, and no fault of our models, repeats the value it refuses.

What the API server itself repeats, whatever the schema says, is ECHOES: it decodes and names before our rules
are asked. docs/trust-model.md tells its users.
"""

import re
import traceback

import pytest

from parity.canaries import WORD, canaries, full, told
from parity.objects import KINDS
from parity.verdicts import UNSTORED, Server, read
from toolvet.core.errors import ContractError

KEY = "the key of a label selector"
UNKNOWN = "the name of an unknown member"
WRONG_TYPE = "a value of the wrong type"
ECHOES = {
    UNKNOWN: re.compile(rf'unknown field "[^"]*{WORD}"|[\w.\[\]]*\.{WORD}: field not declared in schema'),
    KEY: re.compile(rf"spec\.(?:overrides\[0\]\.)?agents\.matchLabels\.{WORD}\b"),
    WRONG_TYPE: re.compile(r": expected (?:map|list|string|numeric|boolean)[^:]*, got .*"),
}
SENT = {"create": {UNKNOWN, KEY}, "apply": {UNKNOWN, KEY, WRONG_TYPE}}
"""What is repeated to whom creates and to whom applies server-side."""


@pytest.mark.parametrize("verb", SENT)
@pytest.mark.parametrize("kind", KINDS)
def test_the_api_server_repeats_no_more_than_is_documented(server: Server, kind: str, verb: str) -> None:
    send = {"create": server.create, "apply": server.apply}[verb]
    seen: set[str] = set()
    refused = 0
    for obj in canaries(kind):
        answer = send(obj)
        refused += answer.stored is None
        message = answer.message
        for echo, pattern in ECHOES.items():
            message, count = pattern.subn("", message)
            seen |= {echo} if count else set()
        assert not told(message), answer.message
    assert refused > 50
    assert seen == SENT[verb] - (set() if kind == "CatalogPolicy" else {KEY})


def test_the_api_server_repeats_an_objects_name(server: Server) -> None:
    obj = full("ToolInventory")
    obj["metadata"]["name"] = f"{WORD} "
    assert told(server.create(obj).message)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_of_the_models_repeats_nothing(kind: str) -> None:
    for obj in canaries(kind):
        stored = {**obj, "metadata": {**UNSTORED, **obj["metadata"]}}
        if WORD in obj["metadata"]:
            continue  # Kubernetes' own type, which no model reads
        with pytest.raises(ContractError) as caught:
            read(stored, kind)
        error = caught.value
        shown = [line for line in traceback.format_exception(error) if not line.startswith("  File")]
        # What is printed, logged with its cause, or shown by a debugger.
        for text in (str(error), repr(error), repr(error.args), repr(vars(error)), "".join(shown)):
            assert not told(text), obj
        assert error.__context__ is None
        assert error.__cause__ is None
