"""An agent with the chart's own role, its enablement as the collector judges it, and a person who decides."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from crds.api import Resources
from crds.objects import DIGEST, call_name, enablement, in_seconds, source
from crds.rights import bind, give
from toolvet.kube.call_store import HeldCallStore
from toolvet.kube.client import ApiClient, connect
from toolvet.kube.kubeconfig import load
from toolvet.runtime import CallGate

COLLECTOR = "system:serviceaccount:toolvet-system:toolvet-collector"


class CallBed:
    """One agent in a namespace of its own."""

    def __init__(self, resources: Resources, agent: str = "assistant") -> None:
        self.resources = resources
        self.namespace = resources.namespace
        self.agent = f"system:serviceaccount:{resources.namespace}:{agent}"
        self.decider = f"decider-{resources.namespace}"
        self.tool = "tool:org.example/summarize"
        plurals = ["mcpsources/status", "toolenablements/status"]
        give(resources.bed, COLLECTOR, self.namespace, {"resources": plurals, "verbs": ["patch"]})
        bind(resources.bed, self.agent, "toolvet-agent", self.namespace)
        bind(resources.bed, self.decider, "toolvet-call-decider", self.namespace)
        self._collector = resources.as_user(COLLECTOR)
        self._person = resources.as_user(self.decider)

    @property
    def enablement(self) -> dict[str, Any]:
        return enablement(self.agent)

    def enable(self, rule: str, **status: Any) -> None:
        """Make the source and the enablement, judged and observed right now."""
        self.resources.create(source())
        self.resources.create(self.enablement)
        self.observe(datetime.now(UTC))
        self.judge(rule, **status)

    def observe(self, at: datetime) -> None:
        self._collector.patch(
            source(), {"status": {"observedAt": at.strftime("%Y-%m-%dT%H:%M:%SZ")}}, "status"
        )

    def judge(
        self, rule: str, *, fingerprint: str | None = DIGEST, ready: str = "True", generation: int = 1
    ) -> None:
        entry = {"toolId": self.tool, "version": "1.0.0", "rule": rule}
        if fingerprint is not None:
            entry["definitionFingerprint"] = fingerprint
        condition = {
            "type": "Ready",
            "status": ready,
            "observedGeneration": generation,
            "lastTransitionTime": in_seconds(0),
            "reason": "observed",
            "message": "",
        }
        status = {
            "observedGeneration": generation,
            "effectiveRules": [entry],
            "conditions": [condition],
        }
        self._collector.patch(self.enablement, {"status": status}, "status")

    def decide(self, name: str | None, phase: str = "Approved") -> None:
        """Decide a held call, as a person."""
        assert name is not None
        call = self.call(name)
        self._person.put({**call, "status": {"phase": phase, "decidedBy": self.decider}}, "status")

    def call(self, name: str) -> dict[str, Any]:
        return self.resources.get(self._named(name))

    def calls(self) -> list[dict[str, Any]]:
        path = self.resources.path(self._named("")).partition("?")[0].rstrip("/")
        return self.resources.call("GET", path)["items"]

    @staticmethod
    def _named(name: str) -> dict[str, Any]:
        return {"kind": "HeldToolCall", "metadata": {"name": name}}

    def slot(self, number: int) -> str:
        return call_name(self.agent, number)

    @asynccontextmanager
    async def client(self, user: str | None = None) -> AsyncIterator[ApiClient]:
        """A connection of a process of the agent, or of somebody else."""
        name = user or self.agent
        groups = ("system:authenticated",)
        login = load(self.resources.bed.kubeconfig(name, groups), None)
        async with connect(login.credentials, user_agent="agent") as api:
            yield api

    @asynccontextmanager
    async def gate(self, user: str | None = None, **options: Any) -> AsyncIterator[CallGate]:
        async with self.client(user) as api:
            yield CallGate(HeldCallStore(api, self.namespace, "notes"), **options)

    def text(self) -> str:
        """Everything that is stored of calls and accounts."""
        return json.dumps([*self.calls(), self.resources.get(self.enablement)])
