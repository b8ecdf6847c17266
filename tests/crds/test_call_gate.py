"""An agent's process asks before it calls, with the chart's own role: on the real API server."""

import logging
import re
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.ports import free_port
from controlplane.waiting import wait_until
from crds.api import Resources
from crds.call_bed import COLLECTOR, CallBed
from crds.objects import DIGEST, OTHER_DIGEST
from crds.rights import bind
from toolvet.collector.finished_calls import delete_finished_calls
from toolvet.core.errors import CallStoreError
from toolvet.core.held_call import KEPT, SLOTS
from toolvet.kube.call_store import in_cluster_calls
from toolvet.runtime import BlockReason, CallGate, CallVerdict

ARGUMENTS = {"path": "a.txt", "lines": [1, 2.5]}


@pytest.fixture
def bed(resources: Resources) -> CallBed:
    return CallBed(resources)


@pytest.fixture(autouse=True)
def _within_one_hour() -> None:
    """Names are of an hour, and these tests count them."""

    def far_from_its_end() -> bool:
        now = datetime.now(UTC)
        return (now.minute, now.second) < (59, 40)

    wait_until(far_from_its_end, 25, "the hour does not pass", pause=0.5)


async def asked(bed: CallBed, arguments=ARGUMENTS, fingerprint=DIGEST, user=None, **options):
    """What a process that has just been started is told."""
    async with bed.gate(user, **options) as gate:
        return await gate.decide(bed.tool, arguments, definition_fingerprint=fingerprint)


async def test_allowed_is_allowed_for_the_definition_that_was_judged(bed: CallBed) -> None:
    bed.enable("Allowed")
    assert await asked(bed)
    told = await asked(bed, fingerprint=OTHER_DIGEST)
    assert (told.allowed, bool(told), told.reason) == (False, False, BlockReason.DEFINITION_MISMATCH)
    async with bed.gate() as gate:
        other = await gate.decide("tool:org.example/other", {}, definition_fingerprint=DIGEST)
    assert other.reason is BlockReason.UNKNOWN_TOOL
    bed.judge("Blocked")
    assert (await asked(bed)).reason is BlockReason.RULE_BLOCKED
    assert bed.calls() == []


async def test_what_is_missing_stale_or_not_judged_allows_nothing(bed: CallBed, resources: Resources) -> None:
    assert (await asked(bed)).reason is BlockReason.ENABLEMENT_MISSING
    resources.create(bed.enablement)
    assert (await asked(bed)).reason is BlockReason.RULES_NOT_READY
    bed.judge("Allowed")
    assert (await asked(bed)).reason is BlockReason.NOT_OBSERVED, "there is no source"
    resources.delete(bed.enablement)
    bed.enable("Allowed")
    assert await asked(bed)
    bed.observe(datetime.now(UTC) - timedelta(hours=1))
    assert (await asked(bed)).reason is BlockReason.NOT_OBSERVED
    bed.observe(datetime.now(UTC))
    bed.judge("Allowed", ready="False")
    assert (await asked(bed)).reason is BlockReason.RULES_NOT_READY
    bed.judge("Allowed", fingerprint=None)
    assert (await asked(bed)).reason is BlockReason.DEFINITION_MISMATCH
    bed.judge("Allowed")
    assert await asked(bed)
    resources.patch(bed.enablement, {"spec": {"defaultRule": "Blocked"}})
    assert (await asked(bed)).reason is BlockReason.RULES_NOT_READY, "judged before it was changed"


async def test_one_approval_is_one_call_of_these_arguments_and_this_definition(bed: CallBed) -> None:
    bed.enable("AskFirst")
    held = await asked(bed)
    assert (held.verdict, held.call_name) == (CallVerdict.HELD, bed.slot(0))
    assert held.expires_at is not None
    again = await asked(bed, {"lines": [1.0, 2.5], "path": "a.txt"})
    assert again == held, "the same call, asked for by a process that was started anew"
    other = await asked(bed, {**ARGUMENTS, "path": "b.txt"})
    assert other.call_name == bed.slot(1)
    bed.decide(held.call_name)
    assert not await asked(bed, {**ARGUMENTS, "path": "b.txt"})
    assert not await asked(bed, fingerprint=OTHER_DIGEST)
    done = await asked(bed)
    assert done
    assert done.call_name == held.call_name
    stored = bed.call(held.call_name)["status"]
    assert (stored["phase"], stored["decidedBy"]) == ("Consumed", bed.decider)
    assert re.fullmatch("[0-9a-f]{32}", stored["consumptionId"])
    once_more = await asked(bed)
    assert (once_more.verdict, once_more.call_name) == (CallVerdict.HELD, bed.slot(2))


async def test_another_definition_needs_another_decision(bed: CallBed) -> None:
    bed.enable("AskFirst")
    held = await asked(bed)
    bed.decide(held.call_name)
    bed.judge("AskFirst", fingerprint=OTHER_DIGEST)
    assert (await asked(bed)).reason is BlockReason.DEFINITION_MISMATCH
    new = await asked(bed, fingerprint=OTHER_DIGEST)
    assert (new.verdict, new.call_name) == (CallVerdict.HELD, bed.slot(1))


async def test_denied_is_blocked_until_its_time(bed: CallBed) -> None:
    bed.enable("AskFirst")
    held = await asked(bed, life=timedelta(seconds=20))
    bed.decide(held.call_name, "Denied")
    told = await asked(bed)
    assert (told.reason, told.call_name) == (BlockReason.DENIED, held.call_name)
    later = await asked(bed, now=lambda: held.expires_at)
    assert (later.verdict, later.call_name) == (CallVerdict.HELD, bed.slot(1))


async def test_another_agent_cannot_use_the_approval(bed: CallBed, resources: Resources) -> None:
    bed.enable("AskFirst")
    held = await asked(bed)
    bed.decide(held.call_name)
    other = CallBed(resources, "other")
    resources.create(other.enablement)
    other.judge("AskFirst")
    told = await asked(other)
    assert (told.verdict, told.call_name) == (CallVerdict.HELD, other.slot(0))
    assert bed.call(held.call_name)["status"]["phase"] == "Approved"
    # Nor does the agent decide its own, whatever role it gets.
    bind(resources.bed, other.agent, "toolvet-call-decider", resources.namespace)
    agent = resources.as_user(other.agent)
    call = {**bed.call(told.call_name), "status": {"phase": "Approved", "decidedBy": other.agent}}
    with pytest.raises(Exception, match="not_independent"):
        agent.put(call, "status")
    assert not await asked(other)


async def test_an_expired_approval_is_not_consumed_though_the_agents_clock_is_slow(bed: CallBed) -> None:
    bed.enable("AskFirst")
    held = await asked(bed, life=timedelta(seconds=3))
    bed.decide(held.call_name)
    slow = held.expires_at - timedelta(seconds=2)
    async with bed.gate() as gate:
        # Wait for the API server's clock, with a call of the same life that nobody decides.
        last = await gate.decide_within(10, bed.tool, {}, poll=0.5, definition_fingerprint=DIGEST)
        assert last.verdict is CallVerdict.HELD
    told = await asked(bed, now=lambda: slow, life=timedelta(hours=1))
    assert (told.verdict, told.call_name) == (CallVerdict.HELD, bed.slot(2))
    assert bed.call(held.call_name)["status"]["phase"] == "Approved"


async def test_waiting_ends_with_the_decision_or_with_the_time(bed: CallBed) -> None:
    bed.enable("AskFirst")
    async with bed.gate(life=timedelta(seconds=3)) as gate:
        told = await gate.decide_within(30, bed.tool, {}, poll=0.2, definition_fingerprint=DIGEST)
        assert told.reason is BlockReason.EXPIRED
    held = await asked(bed)
    bed.decide(held.call_name)
    async with bed.gate() as gate:
        assert await gate.decide_within(5, bed.tool, ARGUMENTS, definition_fingerprint=DIGEST)
        still = await gate.decide_within(1, bed.tool, {"a": 1}, poll=0.2, definition_fingerprint=DIGEST)
        assert still.verdict is CallVerdict.HELD
    assert len(bed.calls()) == 3


async def test_an_account_has_so_many_calls_until_those_that_are_over_go(bed: CallBed) -> None:
    bed.enable("AskFirst")
    async with bed.gate() as gate:
        for number in range(SLOTS):
            held = await gate.decide(bed.tool, {"n": number}, definition_fingerprint=DIGEST)
            assert held.call_name == bed.slot(number)
        told = await gate.decide(bed.tool, {"n": SLOTS}, definition_fingerprint=DIGEST)
        assert told.reason is BlockReason.QUOTA_EXCEEDED
        for number, phase in enumerate(("Approved", "Denied", "Approved")):
            bed.decide(bed.slot(number), phase)
        assert await gate.decide(bed.tool, {"n": 0}, definition_fingerprint=DIGEST)

        async def left_at(later: timedelta) -> int:
            # With the chart's own role of the collector.
            async with bed.client(COLLECTOR) as api:
                await delete_finished_calls(api, api, datetime.now(UTC) + later)
            return len(bed.calls())

        assert await left_at(timedelta(0)) == SLOTS
        assert await left_at(KEPT + timedelta(seconds=5)) == SLOTS - 1, "the consumed one"
        assert await left_at(KEPT + timedelta(hours=2)) == 0


async def test_nothing_of_the_arguments_leaves_the_process(bed: CallBed, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    bed.enable("AskFirst")
    canary = "zqcanary9"
    arguments = {canary: [f"{canary}-value"]}
    held = await asked(bed, arguments)
    assert held.verdict is CallVerdict.HELD
    bed.decide(held.call_name)
    done = await asked(bed, arguments)
    assert done
    shown = [bed.text(), caplog.text, repr(held), repr(done)]
    assert not [text for text in shown if canary in text]


async def test_whoever_cannot_be_asked_allows_nothing(bed: CallBed, tmp_path) -> None:
    bed.enable("Allowed")
    with pytest.raises(CallStoreError, match="rules: not_permitted"):
        await asked(bed, user=f"nobody-{bed.namespace}")
    folder = tmp_path / "account"
    bed.resources.bed.kubectl("create", "serviceaccount", "assistant", "--namespace", bed.namespace)
    bed.resources.bed.service_account(bed.namespace, "assistant", folder)
    environment = bed.resources.bed.environment()
    options = {"namespace": bed.namespace, "directory": folder}
    async with in_cluster_calls("notes", environment=environment, **options) as calls:
        told = await CallGate(calls).decide(bed.tool, ARGUMENTS, definition_fingerprint=DIGEST)
        assert told, "a Pod's own login"
    environment = {**environment, "KUBERNETES_SERVICE_PORT": str(free_port())}
    async with in_cluster_calls("notes", environment=environment, **options) as calls:
        with pytest.raises(CallStoreError, match="account: unreachable"):
            await CallGate(calls).decide(bed.tool, ARGUMENTS, definition_fingerprint=DIGEST)
