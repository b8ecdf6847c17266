"""Roles of the chart taken apart: every single right, and accounts that lack just one of them."""

import functools
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from controller.objects import approval, binding, catalog, deployment, inventory, snapshot
from controlplane.api import ApiError as AdminError
from controlplane.bed import ControlPlane
from controlplane.waiting import wait_until
from toolvet.kube import kubeconfig
from toolvet.kube.client import ApiClient, ApiError, Object, connect
from toolvet.kube.kinds import GovernedKind

Outcome = dict[str, Any]
Part = Callable[["Recording", str], Awaitable[Outcome]]
"""What one of our processes does with a client and a name of its own; what became of it."""

NAMESPACE = "toolvet-system"
OURS = "/apis/toolvet.dev/v1alpha1"
LIVE = catalog(binding("read"))
RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Right:
    """One verb on one resource, of one object where the role says so."""

    scope: str
    """``ClusterRole`` or ``Role``."""
    group: str
    resource: str
    name: str | None
    verb: str

    @property
    def rule(self) -> dict[str, Any]:
        names = {} if self.name is None else {"resourceNames": [self.name]}
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb], **names}

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.scope}: {self.verb} {resource} {self.name or ''}".rstrip()


def rights(bed: ControlPlane, namespace: str, role: str) -> list[Right]:
    """Return every right of the ClusterRole and the Role of this name, as they are in the cluster."""
    paths = {
        "ClusterRole": f"/apis/{RBAC}/v1/clusterroles/{role}",
        "Role": f"/apis/{RBAC}/v1/namespaces/{namespace}/roles/{role}",
    }
    return [
        Right(scope, group, resource, name, verb)
        for scope, path in paths.items()
        for rule in bed.api("GET", path)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [None])
        for verb in rule["verbs"]
    ]


def to_watch(right: Right) -> bool:
    return right.verb == "watch"


def grant(bed: ControlPlane, namespace: str, accounts: Mapping[str, Sequence[Right]]) -> None:
    """Give each service account just these rights, and wait until the API server knows."""
    objects = [obj for name, held in accounts.items() for obj in _objects(namespace, name, held)]
    bed.kubectl(
        *("create", "--validate=false", "-f", "-"),
        input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
    )
    # What was made last is heard of last.
    last, held = list(accounts.items())[-1]
    for scope in ("ClusterRole", "Role"):
        right = next(item for item in held if item.scope == scope)
        wait_until(lambda right=right: _may(bed, namespace, last, right), 30, "the rights are not in force")


def _objects(namespace: str, name: str, held: Sequence[Right]) -> list[dict[str, Any]]:
    found = [_object("ServiceAccount", "v1", name, namespace)]
    for kind in ("ClusterRole", "Role"):
        place = namespace if kind == "Role" else None
        rules = [right.rule for right in held if right.scope == kind]
        binding = {
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        found.append(_object(kind, f"{RBAC}/v1", name, place, rules=rules))
        found.append(_object(f"{kind}Binding", f"{RBAC}/v1", name, place, **binding))
    return found


def _object(kind: str, version: str, name: str, namespace: str | None, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def user_name(namespace: str, account: str) -> str:
    return f"system:serviceaccount:{namespace}:{account}"


def _may(bed: ControlPlane, namespace: str, account: str, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "name": right.name or "",
        "verb": right.verb,
        "namespace": namespace if right.scope == "Role" else "",
    }
    review = {"spec": {"user": user_name(namespace, account), "resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bed.api("POST", path, review)["status"]["allowed"] is True


class Impersonating:
    """Admin's credentials in another's name: the API server authorizes that one."""

    def __init__(self, bed: ControlPlane, user: str) -> None:
        self._login = kubeconfig.load(bed.kubeconfig(), None)
        self._user = user

    @property
    def server(self) -> str:
        return self._login.credentials.server

    def ssl_context(self) -> Any:
        return self._login.credentials.ssl_context()

    def headers(self) -> Mapping[str, str]:
        return {"Impersonate-User": self._user}


class Recording(ApiClient):
    """A client that remembers what it was forbidden."""

    def __init__(self, inner: ApiClient) -> None:
        self._inner = inner
        self.forbidden: list[str] = []

    async def _call(self, method: str, path: str, *arguments: Any, **keywords: Any) -> Object:
        try:
            return await self._inner._call(method, path, *arguments, **keywords)
        except ApiError as error:
            if error.status == 403 and "cannot" in error.message:  # RBAC's own words, not a policy's
                self.forbidden.append(error.message)
            raise


@dataclass(frozen=True)
class Place:
    """The chart on a control plane, and a namespace with a mode whose agents' names are a test's own."""

    bed: ControlPlane
    team: str
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def new_number(self) -> int:
        return next(self.numbers)

    def create(self, obj: Mapping[str, Any], path: str) -> dict[str, Any]:
        return self.bed.api("POST", path, obj)

    def ours(self, plural: str, name: str = "") -> str:
        return f"{OURS}/namespaces/{self.team}/{plural}" + (f"/{name}" if name else "")

    def approve(self, agent: str) -> None:
        """Make an inventory with an approved snapshot."""
        self.create(inventory(LIVE, agent), self.ours("toolinventories"))
        taken = self.create(snapshot(LIVE, agent), self.ours("runtoolcatalogsnapshots"))
        self.create(approval(taken, name=agent), self.ours("catalogapprovals"))

    def delete(self, path: str) -> None:
        with suppress(AdminError):
            self.bed.api("DELETE", path)


def workload_of(kind: GovernedKind, name: str) -> dict[str, Any]:
    """An object of a governed kind with a Pod template, run by a service account of the same name."""
    template: dict[str, Any] = deployment(name, account=name)["spec"]["template"]
    if kind.resource.group == "batch":
        template["spec"]["restartPolicy"] = "Never"
    spec: dict[str, Any] = functools.reduce(
        lambda inner, member: {member: inner}, reversed(kind.template_path), template
    )["spec"]
    if kind.resource.plural == "cronjobs":
        spec |= {"schedule": "0 0 1 1 *", "suspend": True}
    if kind.resource.plural == "replicationcontrollers":
        spec |= {"replicas": 0, "selector": {"app": name}}
    if kind.resource.group == "apps":
        spec["selector"] = {"matchLabels": {"app": name}}
        spec |= {} if kind.resource.plural == "daemonsets" else {"replicas": 0}
    if kind.resource.plural == "statefulsets":
        spec["serviceName"] = name
    head = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "metadata": {"name": name}}
    return {**head, "spec": spec}


@asynccontextmanager
async def acting_as(bed: ControlPlane, namespace: str, account: str) -> AsyncIterator[Recording]:
    async with connect(Impersonating(bed, user_name(namespace, account)), user_agent="test") as api:
        yield Recording(api)


async def unused(
    place: Place,
    role: str,
    parts: Mapping[str, Part],
    covered: Callable[[Right], bool],
    more: Sequence[Right] = (),
) -> list[str]:
    """Take each right away and return those without which every part has the same outcome as with all."""
    started = time.monotonic()
    held = [*rights(place.bed, NAMESPACE, role), *more]
    prefix = f"{role}-{place.new_number()}"
    lacking = {f"{prefix}-without-{index}": right for index, right in enumerate(held) if covered(right)}
    accounts = {name: [other for other in held if other is not right] for name, right in lacking.items()}
    grant(place.bed, NAMESPACE, {**accounts, f"{prefix}-all": held})
    expected = {}
    for name, part in parts.items():
        async with acting_as(place.bed, NAMESPACE, f"{prefix}-all") as api:
            expected[name] = await part(api, f"{prefix}-all")
            assert api.forbidden == [], name
    found = [
        str(right)
        for account, right in lacking.items()
        if not await _is_missed(place, account, right, parts, expected)
    ]
    print(f"{role}: {len(lacking)} rights, {time.monotonic() - started:.0f} s")
    return found


async def _is_missed(
    place: Place, account: str, right: Right, parts: Mapping[str, Part], expected: Mapping[str, Outcome]
) -> bool:
    for name, part in parts.items():
        async with acting_as(place.bed, NAMESPACE, account) as api:
            outcome = await part(api, account)
        if outcome != expected[name]:
            # Forbidden was just what was taken away.
            assert api.forbidden, right
            resource = right.resource.partition("/")[0]
            assert all(f'cannot {right.verb} resource "{resource}' in text for text in api.forbidden), right
            return True
    return False
