"""The shipped JSON Schema refuses what the parser refuses, save what no schema can say (CONTRACTS 5.5)."""

import json
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from contracts.vector_files import DEFAULT_FOLDER, read_folder
from contracts.vectors.vector_codec import decode
from toolvet.core.errors import ContractError
from toolvet.core.inventory import MAX_RECORDS, ToolInventory

SCHEMA = json.loads((files("toolvet.core") / "tool_inventory.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
DIGEST = "sha256:" + "0" * 64
RECORD = {
    "tool_id": "tool:org.example/a",
    "version": "1.0.0",
    "capability_class": "capability:org.example/x",
    "side_effect_class": "none",
    "schema_digest": DIGEST,
}
MANY = 500  # uniqueItems takes the square of that


def json_documents():
    """Every document of the vectors that JSON can carry, as JSON carries it."""
    for case in read_folder(DEFAULT_FOLDER):
        if case.family == "inventory" and case.input["op"] == "inventory_from_mapping":
            yield case.name, decode(case.input["document"])
        if case.family == "identifiers" and case.input["type"].startswith("record."):
            field = case.input["type"].removeprefix("record.")
            record = RECORD | {field: decode(case.input["value"])}
            yield case.name, {"schema_version": "openmed.agent.tool_inventory.v1", "tools": [record]}


def as_json(document):
    try:
        text = json.dumps(document, allow_nan=False)
    except (TypeError, ValueError):
        return None
    same = json.loads(text)
    return same if same == document else None


def few(document):
    tools = document.get("tools") if isinstance(document, dict) else None
    return not isinstance(tools, list) or len(tools) <= MANY


DOCUMENTS = [
    (name, found) for name, raw in json_documents() if few(found := as_json(raw)) and found is not None
]


def refusal(document):
    try:
        ToolInventory.from_dict(document)
    except ContractError as error:
        return error.code
    return None


def test_the_schema_is_valid_and_self_contained():
    Draft202012Validator.check_schema(SCHEMA)
    references = [text for text in json.dumps(SCHEMA).split('"') if text.startswith("#/")]
    assert references == ["#/$defs/tool_inventory_record"]
    assert SCHEMA["properties"]["tools"]["maxItems"] == MAX_RECORDS
    assert "(?" not in json.dumps(SCHEMA)  # no group that RE2 or ECMA-262 would read otherwise


def test_there_are_documents_of_both_kinds():
    verdicts = [refusal(document) for _, document in DOCUMENTS]
    assert sum(code is None for code in verdicts) >= 40
    assert sum(code is not None for code in verdicts) > 80


@pytest.mark.parametrize("document", [item for _, item in DOCUMENTS], ids=[name for name, _ in DOCUMENTS])
def test_schema_and_parser_agree(document):
    code = refusal(document)
    if code == "duplicate_record":  # a schema sees it only where the whole records are equal
        assert VALIDATOR.is_valid({**document, "tools": document["tools"][:1]})
    else:
        assert VALIDATOR.is_valid(document) is (code is None)
