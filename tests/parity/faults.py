"""Changes that may break an object: another value, another type, a member more or fewer, another list."""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from parity.objects import KINDS, Object, settle
from parity.texts import ITEMS, MEMBERS

Place = tuple[Any, Any]
"""A mapping or list, and the key or index of one thing in it."""

WRONG = [None, 0, 1, -1, True, False, 1.5, 2**63, "", "x", [], {}, ["x"], [None], {"x": "y"}, [[]], [{}]]
SIZES = [0, 1, 2, 16, 17, 64, 65]
MEMBER_NAMES = ["extra", "", "description", "tool_id", "ToolId", "toolid", "spec", "a.b", "\u00e9", "x-y"]


def places(node: object) -> Iterator[Place]:
    """Everything in a value, from the outside in."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from places(node[key])  # type: ignore[index]  # of a mapping or list


def _pick(random: Random, obj: Object, wanted: Callable[[Place], bool] = lambda _: True) -> Place | None:
    found = [place for place in places({"spec": obj.get("spec")}) if wanted(place)]
    return random.choice(found) if found else None


def _other_value(random: Random, obj: Object) -> None:
    if (place := _pick(random, obj, lambda place: place[1] in MEMBERS)) is not None:
        place[0][place[1]] = MEMBERS[place[1]](random)


def _added_value(random: Random, obj: Object) -> None:
    """Set a member that the object may lack."""
    spec = obj["spec"]
    names = {
        "RunToolCatalogSnapshot": ["runId", "capturedBy"],
        "CatalogApproval": ["expiresAt", "revoked"],
        "CatalogPolicy": ["requiredApprovals", "maxApprovalAge", "reviewOn"],
    }
    if obj["kind"] in names and isinstance(spec, dict):
        name = random.choice(names[obj["kind"]])
        overrides = spec.get("overrides")
        target = random.choice([spec, *overrides]) if isinstance(overrides, list) else spec
        if isinstance(target, dict):
            target[name] = MEMBERS[name](random)


def _agents(random: Random, obj: Object) -> None:
    if obj["kind"] == "CatalogPolicy" and isinstance(obj["spec"], dict):
        chosen = {name: MEMBERS[name](random) for name in ("all", "matchLabels") if random.random() < 0.6}
        obj["spec"]["agents"] = chosen


def _other_item(random: Random, obj: Object) -> None:
    place = _pick(random, obj, lambda place: place[1] in ITEMS and isinstance(place[0][place[1]], list))
    if place is None:
        return
    listed, draw = place[0][place[1]], ITEMS[place[1]]
    if listed and random.random() < 0.5:
        listed[random.randrange(len(listed))] = draw(random)
    else:
        listed.append(draw(random))


def _sized(random: Random, obj: Object) -> None:
    place = _pick(random, obj, lambda place: place[1] in {*ITEMS, "overrides"})
    if place is None:
        return
    size = random.choice(SIZES)
    names = [f"n-{index}" for index in range(size)]
    place[0][place[1]] = [{"namespaces": [name]} for name in names] if place[1] == "overrides" else names


def _wrong_type(random: Random, obj: Object) -> None:
    if (place := _pick(random, obj)) is not None:
        holder = obj if place[1] == "spec" else place[0]
        holder[place[1]] = copy.deepcopy(random.choice(WRONG))


def _missing(random: Random, obj: Object) -> None:
    if (place := _pick(random, obj)) is not None:
        del (obj if place[1] == "spec" else place[0])[place[1]]


def _unknown(random: Random, obj: Object) -> None:
    mappings = [obj, *(node[key] for node, key in places(obj) if isinstance(node[key], dict))]
    others = (obj.get("metadata"), obj.get("status"))
    target = random.choice([item for item in mappings if all(item is not other for other in others)])
    target.setdefault(random.choice(MEMBER_NAMES), copy.deepcopy(random.choice(WRONG)))


def _list_of(obj: Object) -> list[Any]:
    spec = obj.get("spec")
    for name in ("tools", "bindings", "overrides"):
        if isinstance(spec, dict) and isinstance(spec.get(name), list):
            return spec[name]
    return []


def _repeated(random: Random, obj: Object) -> None:
    if listed := _list_of(obj):
        item = copy.deepcopy(random.choice(listed))
        if isinstance(item, dict) and "schemaDigest" in item and random.random() < 0.5:
            item["schemaDigest"] = MEMBERS["schemaDigest"](random)
        listed.insert(random.randint(0, len(listed)), item)


def _status(random: Random, obj: Object) -> None:
    obj["status"] = copy.deepcopy(
        random.choice([None, "x", {}, {"observedGeneration": "x"}, {"conditions": 1}])
    )


def _name(random: Random, obj: Object) -> None:
    obj["metadata"]["name"] = MEMBERS["name"](random)


def _shuffled(random: Random, obj: Object) -> None:
    random.shuffle(_list_of(obj))


SETTLED = (
    [_other_value] * 6
    + [_added_value] * 3
    + [_agents, _other_item, _other_item, _other_item, _sized, _sized, _wrong_type]
)
SETTLED += [_missing, _unknown, _unknown, _repeated, _status]
UNSETTLED = [_name, _name, _shuffled, _repeated, _other_value]
"""What an order or a name that follows would hide."""


def drawn(random: Random, kind: str) -> Object:
    """Return an object: a third untouched, most of the others with one change."""
    obj = KINDS[kind](random)
    for _ in range(random.choice([0, 0, 1, 1, 1, 2])):
        if random.random() < 0.8:
            random.choice(SETTLED)(random, obj)
            settle(obj)
        else:
            random.choice(UNSETTLED)(random, obj)
        if not isinstance(obj.get("spec"), dict):
            break
    return obj
