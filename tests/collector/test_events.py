"""Events on an MCPSource: each turn of its life once, in codes and counts."""

import json
from datetime import UTC, datetime

from collector.mcp_server import RewritingServer
from collector.watching import (
    CANARY,
    admin_apply,
    condition,
    definition,
    listed,
    looked,
    source,
    status,
    wait,
)
from story.team import Team
from toolvet.collector.events import SourceEvent, events
from toolvet.kube.event import MAX_NOTE_BYTES

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def told(team: Team):
    found = [
        item for item in listed(team, "events.events.k8s.io") if item["regarding"]["kind"] == "MCPSource"
    ]
    found.sort(key=lambda item: item["eventTime"])
    return [(item["type"], item["reason"], item["note"]) for item in found]


def test_each_turn_is_told_once_and_in_codes(team: Team) -> None:
    tools = [definition("read"), definition("write"), definition("send"), definition("list")]
    with RewritingServer(*tools) as server:
        admin_apply(team, source(server))
        wait(lambda: condition(team, "Observed").get("status") == "True", "not observed")
        catalog = status(team)["digest"]
        expected = [("Normal", "FirstObserved", f"4 tools, catalog {catalog}")]
        assert told(team) == expected

        server.tools = [{**tool, "description": f"Other. {CANARY}"} for tool in tools]
        looked(team, 2)
        note = "4 changes: 4 material, 0 minor\n" + "".join(
            f"  tool:org.example/{name} 1.2.3: description_changed\n" for name in ("read", "write", "send")
        )
        expected.append(("Warning", "ChangesRecorded", note + "  and 1 more"))
        wait(lambda: len(told(team)) == 2, "the changes are not told")
        assert told(team) == expected

        server.down = True
        wait(lambda: status(team).get("unknownReason") == "refused", "not unknown")
        since = status(team)["attemptedAt"]
        wait(lambda: status(team)["attemptedAt"] != since, "no second look")
        server.down = False
        wait(lambda: condition(team, "Observed")["status"] == "True", "not back")
        admin_apply(team, source(server, credentialsSecretName="missing"))
        wait(lambda: condition(team, "Stalled").get("reason") == "credentials_missing", "not stalled")
        expected += [
            ("Warning", "ObservationUnknown", "refused: what the look before it showed still counts"),
            ("Normal", "ObservedAgain", f"4 tools, catalog {told(team)[3][2].rpartition(' ')[2]}"),
            ("Warning", "Stalled", "credentials_missing: the source cannot be looked at as it is"),
        ]
        assert told(team) == expected
        assert CANARY not in json.dumps(listed(team, "events.events.k8s.io"))


def _status(observed=None, stalled=None, **members):
    given = {"Observed": observed, "Stalled": stalled}
    conditions = [
        {"type": kind, "status": standing, "reason": reason, "message": "", "lastTransitionTime": "then"}
        for kind, pair in given.items()
        if pair
        for standing, reason in [pair]
    ]
    return {"toolCount": 1, "digest": "0" * 12, "conditions": conditions, **members}


def test_a_state_that_lasts_is_told_once_and_a_repeated_pass_says_the_same() -> None:
    def reasons(before, after):
        obj = {
            "apiVersion": "toolvet.dev/v1alpha1",
            "kind": "MCPSource",
            "metadata": {"name": "files", "namespace": "team", "uid": "1"},
            "status": before,
        }
        found = events(obj, after, (), NOW, "test")
        assert found == events(obj, after, (), NOW, "test")
        assert all(len(item["note"]) <= MAX_NOTE_BYTES for item in found)
        return [item["reason"] for item in found]

    seen = {"observedAt": "then"}
    good, bad = ("True", "complete_listing"), ("False", "refused")
    old = ("Unknown", "refused")
    stuck, stuck_otherwise = ("True", "credentials_missing"), ("True", "reference_missing")
    assert reasons({}, _status(good, **seen)) == [SourceEvent.FIRST_OBSERVED]
    assert reasons({}, _status(old)) == [SourceEvent.OBSERVATION_UNKNOWN]
    assert reasons(_status(old), _status(old)) == []
    assert reasons(_status(old), _status(good, **seen)) == [SourceEvent.FIRST_OBSERVED]
    assert reasons(_status(good, **seen), _status(good, **seen)) == []
    assert reasons(_status(good, **seen), _status(bad, **seen)) == [SourceEvent.OBSERVATION_UNKNOWN]
    assert reasons(_status(bad, **seen), _status(("False", "timed_out"), **seen)) == []
    assert reasons(_status(bad, **seen), _status(old, **seen)) == [SourceEvent.OBSERVATION_UNKNOWN]
    assert reasons(_status(old, **seen), _status(good, **seen)) == [SourceEvent.OBSERVED_AGAIN]
    assert reasons(_status(good, **seen), _status(bad, stuck, **seen)) == [SourceEvent.STALLED]
    assert reasons(_status(bad, stuck, **seen), _status(bad, stuck, **seen)) == []
    assert reasons(_status(bad, stuck, **seen), _status(bad, stuck_otherwise, **seen)) == [
        SourceEvent.STALLED
    ]
