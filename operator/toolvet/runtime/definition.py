"""The fingerprint of a tool as an agent sees it: what was shown to the model, and what an approval is for."""

from __future__ import annotations

from collections.abc import Sequence

from toolvet.core.ignored_path import without
from toolvet.core.jcs import canonical_form
from toolvet.core.tool_definition import Definition
from toolvet.core.tool_parts import read_tool
from toolvet.core.tool_source import IgnoredPath


def definition_fingerprint(definition: Definition, ignored_paths: Sequence[IgnoredPath] = ()) -> str:
    """Return the fingerprint of a raw ``tools/list`` element, as the collector makes it.

    ``ignored_paths`` are those of the MCPSource. Raises ContractError for a malformed definition, with the
    places and codes of ``read_tool``, and ``definition: not_canonical``.
    """
    return read_tool(without(definition, ignored_paths)).digests(canonical_form).fingerprint
