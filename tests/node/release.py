"""The chart on a node, by ``helm install --wait``, with our image in real Pods."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from controlplane.chart import CHART
from controlplane.people import invite
from node.agent import Crew
from node.bed import Node

NAMESPACE = "toolvet-system"
WAIT_SECONDS = 180
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


@dataclass(frozen=True)
class Chart:
    """How its objects are named."""

    namespace: str
    fullname: str


@dataclass(frozen=True)
class Release:
    """An installed chart; its Pods run ``image``. ``seconds`` is how long helm took."""

    bed: Node
    image: str
    chart: Chart
    seconds: float
