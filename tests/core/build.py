"""Core records for tests, valid unless a test says otherwise, and random ones from a seeded source."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from toolvet.core.approval import Approval, ReviewedSnapshot, snapshot_name
from toolvet.core.binding import Catalog, RunToolCatalogSnapshot, ToolBinding
from toolvet.core.identifiers import RunId
from toolvet.core.inventory import ToolInventoryRecord
from toolvet.core.side_effect import SideEffectClass
from toolvet.core.workload import Workload

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RUN = RunId("run_" + "1" * 32)
OTHER_RUN = RunId("run_" + "2" * 32)

_LABEL = "l" * 63
LONGEST_NAMESPACE = ".".join([_LABEL, _LABEL, _LABEL, "l" * 61])
LONGEST_VERSION = "1.0." + "9" * 60


KEYS = [("a", "1.9.0"), ("a", "1.10.0"), ("b", "1.0.0"), ("b-", "1.0.0"), ("c", "2.0.0")]


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311  # the same catalogs every time; nothing here is a secret


def digest(label: object) -> str:
    return "sha256:" + hashlib.sha256(str(label).encode()).hexdigest()


def binding(
    local_name: str = "search",
    version: str = "1.0.0",
    *,
    namespace: str = "org.example",
    capability: str = "capability:org.example/text@1.0.0",
    side_effect: SideEffectClass = SideEffectClass.READ_ONLY,
    schema: object = "schema",
    implementation: object = "implementation",
) -> ToolBinding:
    record = ToolInventoryRecord(
        f"tool:{namespace}/{local_name}", version, capability, side_effect, digest(schema)
    )
    return ToolBinding(record, digest(implementation))


def catalog(*bindings: ToolBinding) -> Catalog:
    return Catalog(bindings or (binding(),))


def snapshot(inventory: str, of: Catalog, *, run: RunId = RUN, name: str | None = None) -> ReviewedSnapshot:
    evidence = RunToolCatalogSnapshot(run, of.bindings)
    return ReviewedSnapshot(name or snapshot_name(inventory, of.digest), inventory, evidence)


def approval(of: ReviewedSnapshot, by: str = "alice", name: str | None = None, **fields: object) -> Approval:
    given = Approval(
        name=name or f"{of.name}-{by}"[:253],
        inventory_name=of.inventory_name,
        snapshot_name=of.name,
        snapshot_digest=of.evidence.digest,
        catalog_digest=of.catalog.digest,
        approved_by=by,
    )
    return replace(given, **fields)  # type: ignore[arg-type]


def workload(service_account: str = "assistant", **fields: object) -> Workload:
    plain = Workload(
        kind="Deployment",
        name="web",
        service_account=service_account,
        inventory=None,
        snapshot=None,
        misplaced=(),
        template={"image": "one"},
    )
    return replace(plain, **fields)  # type: ignore[arg-type]


def random_binding(random: Random, local_name: str, version: str) -> ToolBinding:
    return binding(
        local_name,
        version,
        capability=random.choice(("capability:a.b/x", "capability:a.b/x@1.0.0", "capability:a.b/y@1.0.0")),
        side_effect=random.choice(tuple(SideEffectClass)),
        schema=random.randrange(3),
        implementation=random.randrange(3),
    )


def random_catalog(random: Random, keys: Iterable[tuple[str, str]]) -> Catalog:
    chosen = [random_binding(random, *key) for key in keys if random.random() < 0.5]
    random.shuffle(chosen)
    return Catalog(tuple(chosen))
