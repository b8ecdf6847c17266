"""Laws of one look against what is remembered (issue: live servers): what is published, what is recorded."""

from datetime import timedelta
from random import Random

import pytest
import rfc8785

from toolvet.collector.memory import from_secret, to_secret
from toolvet.core.change_evidence import evidence
from toolvet.core.change_reason import ChangeReason, ChangeResult, Reading, ToolFlag
from toolvet.core.ignored_path import without
from toolvet.core.source_look import Forms, look_of
from toolvet.core.source_memory import Components, rebuilt
from toolvet.core.source_pass import Circumstances, run
from toolvet.core.tool_account import ChangeEvent
from toolvet.core.tool_mapping import ToolMapping
from toolvet.core.tool_source import IgnoredPath, ToolSource
from toolvet.mcp.definition import implementation_id

FORMS = Forms(rfc8785.dumps, implementation_id)
UID = "0a0a0a0a-0000-0000-0000-000000000000"
MAPPING = ToolMapping("org.example", "1.0.0", "capability:org.example/text")


def tool(name, description="Reads.", **members):
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **members}


class Server:
    """Plays looks one after the other, as the collector does."""

    def __init__(self, *ignored, mapping=MAPPING, reading=Reading.STRICT):
        minute = timedelta(minutes=1)
        self.source = ToolSource(
            "files", "https://a.example", None, "agent", None, minute, minute, mapping, ignored, reading
        )
        self.memory = None
        self.previous = None
        self.published = {}
        self.approved = None
        self.acknowledged = frozenset()
        self.may_record = True
        self.recorded = []

    def look(self, *tools, instructions=None, version="9.9.9"):
        look = look_of(
            tools, self.source.ignored_paths, FORMS, instructions=instructions, server_version=version
        )
        told = Circumstances(
            source=self.source,
            source_uid=UID,
            generation=1,
            previous=self.previous,
            published=self.published,
            approved_digest=self.approved,
            acknowledged=self.acknowledged,
            may_record=self.may_record,
        )
        passed = run(self.memory, look, told, FORMS)
        self.memory, self.previous = passed.memory, look
        self.published = {binding.key: binding for binding in passed.catalog.bindings}
        self.recorded += passed.changes
        return passed

    def restart(self):
        secret, _ = to_secret("files", "team", self.memory)
        self.memory, self.previous = from_secret(secret), None

    def approve(self, passed):
        self.approved = passed.catalog.digest


def test_first_sight_is_a_baseline_and_flags_what_stands_out():
    server = Server()
    passed = server.look(tool("read", "Reads.\u200bSecretly."), tool("write"))
    assert not passed.changes
    assert passed.flags == {"read": (ToolFlag.CONCEALED_TEXT,)}
    assert [binding.tool.tool_id for binding in passed.catalog.bindings] == [
        "tool:org.example/read",
        "tool:org.example/write",
    ]
    # A tool that comes later is at its first sight, too: the inventory says so, and no change does.
    assert not server.look(tool("read"), tool("write"), tool("send")).changes


def test_one_look_withdraws_and_two_record():
    server = Server()
    first = server.look(tool("read"))
    second = server.look(tool("read", "Sends."))
    assert second.catalog.digest != first.catalog.digest
    assert (second.changes, second.unconfirmed) == ((), 1)
    third = server.look(tool("read", "Sends."))
    (change,) = third.changes
    assert change.record.event is ChangeEvent.CHANGED
    assert change.record.severity is ChangeResult.MATERIAL
    assert change.record.reasons == (ChangeReason.DESCRIPTION_CHANGED,)
    assert (change.before["description"], change.after["description"]) == ("Reads.", "Sends.")
    assert not server.look(tool("read", "Sends.")).changes


def test_going_back_takes_two_looks_to_count():
    server = Server()
    first = server.look(tool("read")).catalog.digest
    away = server.look(tool("read", "Sends.")).catalog.digest
    assert server.look(tool("read")).catalog.digest == away
    assert server.look(tool("read")).catalog.digest == first
    assert not server.recorded


def test_a_flapping_tool_never_matches_again_and_is_called_unstable():
    server = Server()
    first = server.look(tool("read"), tool("write")).catalog.digest
    for turn in range(1, 8):
        # A tool beside it is not held up by it.
        passed = server.look(
            tool("read", f"Turn {turn % 2}."), tool("write", "Sends." if turn > 2 else "Reads.")
        )
        assert passed.catalog.digest != first
    assert passed.unstable == {"read": ("fingerprint",)}
    assert [change.record.tool_id for change in server.recorded] == ["tool:org.example/write"]


def test_restarts_with_another_default_are_unstable_until_it_is_ignored():
    def served(value):
        schema = {"type": "object", "properties": {"zone": {"type": "string", "default": value}}}
        return {**tool("now"), "inputSchema": schema}

    pointer = IgnoredPath("/inputSchema/properties/zone/default", "now")
    plain, ignoring = Server(), Server(pointer)
    for value in ("a", "b", "c"):
        for _ in range(2):
            loud, quiet = plain.look(served(value)), ignoring.look(served(value))
    assert loud.unstable["now"] == ("fingerprint", "contract")
    assert {reason for change in plain.recorded for reason in change.record.reasons} == {
        ChangeReason.DEFAULT_CHANGED
    }
    assert not quiet.unstable
    assert not ignoring.recorded
    # A server that says it is another release is not unstable for that.
    released = Server()
    for value, version in (("a", "1.0.0"), ("b", "1.1.0"), ("c", "1.2.0")):
        for _ in range(2):
            last = released.look(served(value), version=version)
    assert not last.unstable


def test_removed_and_back_it_meets_its_old_baseline():
    server = Server()
    server.look(tool("read"), tool("write"))
    gone = server.look(tool("read"))
    assert len(gone.catalog.bindings) == 1
    assert not gone.changes
    (removed,) = server.look(tool("read")).changes
    assert (removed.record.event, removed.record.after) == (ChangeEvent.REMOVED, None)
    server.restart()
    for _ in range(3):
        server.look(tool("read"), tool("write", "Sends."))
    back = server.recorded[-1]
    assert back.record.event is ChangeEvent.RETURNED
    assert back.record.reasons == (ChangeReason.DESCRIPTION_CHANGED,)
    assert back.before["description"] == "Reads."
    assert len(server.recorded) == 2


def test_small_changes_add_up_and_what_is_observed_never_becomes_the_baseline():
    def served(**limits):
        schema = {"type": "object", "properties": {"n": {"type": "integer", **limits}}}
        return {**tool("count"), "inputSchema": schema}

    server = Server()
    server.approve(server.look(served(minimum=1)))
    server.look(served(minimum=1))
    for limits in ({"minimum": 2}, {"minimum": 2, "maximum": 9}):
        for _ in range(2):
            passed = server.look(served(**limits))
    assert [change.record.severity for change in server.recorded] == [ChangeResult.MINOR] * 2
    assert {change.before["inputSchema"]["properties"]["n"]["minimum"] for change in server.recorded} == {1}
    assert passed.minor_change_of == (server.approved,)
    # A material one takes that away at its first look.
    assert server.look(served(minimum=2, description="Tell all.")).minor_change_of == ()


def test_an_approval_makes_the_baseline_and_one_account_does_not():
    server = Server()
    server.look(tool("read"))
    server.look(tool("read", "Sends."))
    (change,) = server.look(tool("read", "Sends.")).changes
    assert server.memory.tools["read"].baseline["description"] == "Reads."
    server.acknowledged = frozenset({change.record.name})
    passed = server.look(tool("read", "Sends."))
    assert server.memory.tools["read"].baseline["description"] == "Sends."
    assert not server.memory.tools["read"].approved
    server.approve(passed)
    server.look(tool("read", "Sends."))
    assert server.memory.tools["read"].approved
    assert server.memory.approved_digest == passed.catalog.digest


def test_a_return_to_the_baseline_is_recorded_and_a_second_excursion_is_another_fact():
    server = Server()
    for text in ("Reads.", "Sends.", "Reads.", "Sends."):
        for _ in range(2):
            server.look(tool("read", text))
    severities = [change.record.severity for change in server.recorded]
    assert severities == [ChangeResult.MATERIAL, ChangeResult.MINOR, ChangeResult.MATERIAL]
    assert len({change.record.name for change in server.recorded}) == 3


def test_a_repeated_pass_meets_its_own_change():
    one, other = Server(), Server()
    for server in (one, other):
        server.look(tool("read"))
        server.look(tool("read", "Sends."))
        server.look(tool("read", "Sends."))
    assert one.recorded[0].record == other.recorded[0].record


def test_a_restart_keeps_the_baselines_and_needs_two_looks_of_its_own():
    server = Server()
    server.look(tool("read"), instructions="Be kind.")
    server.restart()
    assert not server.look(tool("read", "Sends."), instructions="Be cruel.").changes
    recorded = server.look(tool("read", "Sends."), instructions="Be cruel.").changes
    assert [change.record.tool_id for change in recorded] == ["tool:org.example/read", None]
    assert recorded[1].record.reasons == (ChangeReason.INSTRUCTIONS_CHANGED,)


def test_a_lost_memory_starts_nobody_afresh():
    server = Server()
    passed = server.look(tool("read"), tool("write"))
    exacts = {item.tool.tool_id: item.implementation_id for item in passed.catalog.bindings}
    digests = {
        identity.tool_id: server.previous.tools[name].components
        for name, identity in passed.identities.tools.items()
    }
    server.memory, server.previous = rebuilt(digests, exacts, passed.identities.tools), None
    for _ in range(2):
        server.look(tool("read"), tool("write", "Sends."))
    (change,) = server.recorded
    assert change.record.reasons == (ChangeReason.UNCLASSIFIABLE,)
    assert change.record.severity is ChangeResult.MATERIAL
    # Equal digests say what the definition was.
    assert server.memory.tools["read"].baseline == tool("read")


def test_what_does_not_fit_is_unclassifiable():
    noise = Random(7)  # noqa: S311  # seeded
    large = [tool(f"t{index}", noise.randbytes(40_000).hex()) for index in range(40)]
    server = Server()
    server.look(*large)
    _, kept = to_secret("files", "team", server.memory)
    lost = [name for name, known in kept.tools.items() if known.baseline is None]
    assert 0 < len(lost) < 40
    server.memory = kept
    changed = [{**item, "title": "New"} if item["name"] == lost[0] else item for item in large]
    server.look(*changed)
    server.look(*changed)
    assert [change.record.reasons for change in server.recorded] == [(ChangeReason.UNCLASSIFIABLE,)]


def test_unmapped_and_colliding_tools_are_seen():
    server = Server()
    server.approve(server.look(tool("read.file")))
    passed = server.look(tool("read.file"), tool("read_file"), tool("\u202elist"))
    assert sorted(passed.identities.faults.values()) == [
        "name: unmapped_tool",
        "tool_id: collision",
        "tool_id: collision",
    ]
    assert all(item.tool.tool_id.startswith("tool:unmapped.") for item in passed.catalog.bindings)
    assert len(passed.catalog.bindings) == 3
    assert passed.minor_change_of == ()


def test_a_version_is_stated_and_never_guessed():
    open_mapping = ToolMapping("org.example", None, "capability:org.example/text")
    for stated, version in (("1.2.3", "1.2.3"), ("v1.2.3", "0.0.0"), ("1.2", "0.0.0"), (None, "0.0.0")):
        passed = Server(mapping=open_mapping).look(tool("read"), version=stated)
        assert passed.catalog.bindings[0].tool.version == version
        assert bool(passed.identities.faults) == (version == "0.0.0")


def test_a_malformed_tool_is_marked_among_good_ones():
    server = Server()
    server.look(tool("read"), tool("write"))
    broken = {**tool("write"), "inputSchema": None}
    for _ in range(2):
        passed = server.look(tool("read"), broken, {"description": "nameless"}, 7)
    (change,) = passed.changes
    assert change.record.reasons == (ChangeReason.MALFORMED,)
    assert change.record.after == Components(server.previous.tools["write"].exact)
    assert server.previous.nameless == 2


def test_a_full_history_records_no_more_but_still_withdraws():
    server = Server()
    first = server.look(tool("read")).catalog.digest
    server.may_record = False
    for _ in range(3):
        passed = server.look(tool("read", "Sends."))
    assert not server.recorded
    assert passed.catalog.digest != first
    server.may_record = True
    assert len(server.look(tool("read", "Sends.")).changes) == 1


def test_the_order_of_a_listing_plays_no_part():
    tools = [tool(f"t{index}") for index in range(9)]
    server = Server()
    digests = set()
    for seed in range(20):
        shuffled = Random(seed).sample(tools, 9)  # noqa: S311  # seeded
        digests.add(server.look(*shuffled).catalog.digest)
    assert len(digests) == 1
    assert not server.recorded


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/a/b", {"name": "x", "a": {}, "l": [1, {"k": 2}]}),
        ("/l/1/k", {"name": "x", "a": {"b": 1}, "l": [1, {}]}),
        ("/l/0", {"name": "x", "a": {"b": 1}, "l": [{"k": 2}]}),
        ("/l/00", None),
        ("/l/9", None),
        ("/name", None),
        ("/a/c", None),
    ],
)
def test_ignored_paths(path, left):
    definition = {"name": "x", "a": {"b": 1}, "l": [1, {"k": 2}]}
    found = without(definition, [IgnoredPath(path)])
    assert found == (definition if left is None else left)
    assert without(definition, [IgnoredPath(path, "other")]) is definition
    assert definition == {"name": "x", "a": {"b": 1}, "l": [1, {"k": 2}]}


def test_evidence_shows_the_bytes_that_differ():
    padding = "x" * 50_000
    texts = (padding + middle + padding for middle in ("Reads.", "Sends\u200b."))
    before, after = evidence(*(tool("read", text) for text in texts), rfc8785.dumps)
    assert "Reads." in before.text
    assert "Sends\\u{200B}." in after.text
    for side in (before, after):
        assert len(side.text.encode()) <= 16 * 1024
        assert "bytes not shown]" in side.text
        assert side.hidden > 80_000
    assert before.digest != after.digest


def test_evidence_of_much_that_differs_stays_within_bounds():
    noise = Random(3)  # noqa: S311  # seeded
    texts = ["".join(chr(noise.randrange(0x20, 0x2FFF)) for _ in range(30_000)) for _ in range(2)]
    for side in evidence(*(tool("read", text) for text in texts), rfc8785.dumps):
        assert len(side.text.encode()) <= 16 * 1024
    assert evidence(None, tool("read"), rfc8785.dumps)[0] is None
