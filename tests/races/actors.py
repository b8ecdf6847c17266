"""The story's people as coroutines: the functions behind the commands, without a process for each call."""

import contextlib
import io
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from story.team import AGENT, Team, inventory, tool, workload
from toolvet.cli.approve import approve, revoke
from toolvet.cli.capture import capture
from toolvet.cli.session import Session
from toolvet.kube.client import ApiClient, ApiError, connect
from toolvet.kube.kubeconfig import load
from toolvet.kube.names import INVENTORIES, Resource

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
GATE = 'admission webhook "enforce.toolvet.dev" denied the request'
CALL_SECONDS = 30.0


class Actors:
    """Connections of a producer, a reviewer and a developer in one namespace."""

    def __init__(
        self, namespace: str, producer: ApiClient, reviewer: ApiClient, developer: ApiClient
    ) -> None:
        self.namespace = namespace
        self._producer = producer
        self._reviewer = Session(reviewer, namespace)
        self._developer = developer
        self._digests = itertools.count(1)
        self._rolls = itertools.count(1)

    async def publish(self, name: str = AGENT) -> None:
        """Make a catalog live that never was before."""
        number = next(self._digests)
        changed = {**tool("read"), "schemaDigest": f"sha256:{number:064x}"}
        obj = inventory(changed, tool("search"), name=name)
        await self._producer.apply(INVENTORIES, self.namespace, obj, manager="producer")

    async def capture(self, name: str = AGENT) -> str:
        with contextlib.redirect_stderr(io.StringIO()):
            return str((await capture(self._reviewer, name))["snapshot"])

    async def approve(self, snapshot: str) -> str:
        with contextlib.redirect_stderr(io.StringIO()):
            given = await approve(self._reviewer, snapshot, None, datetime.now(UTC))
        return str(given["approval"])

    async def review(self, name: str = AGENT) -> str:
        """Capture and approve the live catalog; returns the snapshot's name."""
        snapshot = await self.capture(name)
        await self.approve(snapshot)
        return snapshot

    async def revoke(self, name: str) -> None:
        with contextlib.redirect_stderr(io.StringIO()):
            await revoke(self._reviewer, name)

    async def apply(self, name: str = AGENT, *, account: str = AGENT) -> str | None:
        """Roll a Deployment out with a template it never had; returns the gate's refusal or None."""
        obj = workload(name=name, account=account, annotations={"example.org/rolled": str(next(self._rolls))})
        try:
            await self._developer.apply(DEPLOYMENTS, self.namespace, obj, manager="developer")
        except ApiError as error:
            if GATE not in error.message:
                raise
            return error.message.partition(f"{GATE}: ")[2]
        return None


def connected(path: Path) -> contextlib.AbstractAsyncContextManager[ApiClient]:
    return connect(load(path, None).credentials, user_agent="races", call_timeout=CALL_SECONDS)


@asynccontextmanager
async def acting(team: Team) -> AsyncIterator[Actors]:
    """Connect as the team's people."""
    people = team.people
    async with (
        connected(people.producer) as producer,
        connected(people.reviewer) as reviewer,
        connected(people.developer) as developer,
    ):
        yield Actors(team.namespace, producer, reviewer, developer)
