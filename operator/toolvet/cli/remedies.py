"""What to do about an error code: one sentence each, shown below the error."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from toolvet.core.errors import ContractError

_NOT_GUESSED: Final = (
    "Nothing is guessed: give --id-namespace, --tool-version and --capability, or a mapping file."
)
REMEDIES: Final = MappingProxyType(
    {
        # The server.
        "not_started": "The command after -- could not be run: check that it exists and is executable.",
        "exited": "The server left before it had listed its tools; --show-server-stderr shows why.",
        "no_answer": "The server did not answer in time; --timeout SECONDS gives it longer.",
        "flood": "The server sent more than 16 MiB, or 8 MiB in one line, or left our answers unread.",
        "malformed": "The server wrote something else than JSON-RPC messages to its standard output.",
        "invalid_json": "Not JSON. A server may write nothing but messages to its standard output.",
        "protocol_error": "The server's answer is not what the Model Context Protocol asks for.",
        "error_answer": "The server answered with an error; --show-server-stderr may show why.",
        "no_tools_capability": "The server says that it has no tools.",
        "too_many_pages": "A listing may have at most 100 pages.",
        "repeated_cursor": "The server leads back to a page already read, so that its listing never ends.",
        "too_many_tools": "An inventory holds at most 1000 tools: use several.",
        "duplicate_tool_name": "Two tools of one name cannot be told apart; the server has to rename one.",
        "invalid_hint": "A hint of a tool must be true or false.",
        "not_canonical": "The definition holds a number or text that RFC 8785 cannot express.",
        # The mapping.
        "unmapped_tool": "This name does not turn into a canonical id: give it a toolId in a mapping file"
        " (--print-mapping writes one to start from).",
        "collision": "Two tools map to one id and version: give one its own toolId in a mapping file.",
        "tool_id: missing": _NOT_GUESSED,
        "version: missing": _NOT_GUESSED,
        "capability_class: missing": _NOT_GUESSED,
        "stale_entry": "The mapping file has an entry for a tool that the server does not have: remove it.",
        "unknown_field": "The file has a member that is not part of its format.",
        "invalid_value": "The value must be text; quote it when it looks like a number or a date.",
        "implementation_id: missing": "A record has to say what runs it: --implementation-id for all records,"
        " or a mapping file with `implementations`.",
        # A registry.
        "invalid_reference": "Write MODULE:ATTRIBUTE, such as agent.tools:registry.",
        "unreadable_module": "The module could not be imported, has no such attribute, or failed: importing"
        " it with python shows why.",
        "not_a_registry": "The attribute has to be a toolvet.runtime.ToolRegistry, or a function without"
        " arguments that returns one.",
        "stated_elsewhere": "The registry states the version of every tool: remove it from the mapping file.",
        "handler: missing": "The tool is registered without a handler, and nothing runs it: register one.",
        "invalid_schema": "A schema of the tool cannot be written as JSON.",
        "listing_failed": "The session could not list the server's tools.",
        # A cluster.
        "kubeconfig: not_found": "No kubeconfig: set KUBECONFIG or give --kubeconfig FILE.",
        "kubeconfig: no_current_context": "The kubeconfig has no current context: give --context NAME.",
        "kubeconfig: unknown_context": "The kubeconfig has no such context: kubectl config"
        " get-contexts lists them.",
        "kubeconfig: login_failed": "The login plugin of the kubeconfig gave no credentials: try"
        " it with kubectl.",
        "inventory: not_found": "No ToolInventory of that name there: kubectl get"
        " toolinventories -n NAMESPACE.",
        "snapshot: digest_mismatch": "Its name and its tools do not belong together: have it deleted, then"
        " capture again.",
        "snapshot: not_found": "No snapshot of that name there: kubectl toolvet capture INVENTORY makes it.",
        "approval: not_found": "Neither an approval nor an approved snapshot of that name is there.",
        "namespace: not_found": "There is no such namespace.",
        "snapshot: name_taken": "A snapshot of that name holds another catalog: have it"
        " deleted, then capture again.",
        "approval: revoked_before": "You revoked an approval of this snapshot, and that is final: ask another"
        " reviewer.",
        "expires: invalid_time": "Write 12h, 30d, 4w or a time with its zone, such as 2030-01-31T12:00:00Z.",
        "expires: in_the_past": "An approval has to end in the future.",
        "gate: not_reachable": "The label is set, but the gate does not answer the API"
        " server: governed changes are"
        " refused until it does. See kubectl get pods in Toolvet's namespace.",
        "gate: not_in_force": "The label is set, but the API server does not act on it: is"
        " the chart installed?",
        "workload: not_found": "No workload of that name there: write its kind too, as in deployment/NAME.",
        "unknown_kind": "Write kind/name; governed are Deployments, StatefulSets and what else makes pods.",
        "from: not_found": "Neither a generation nor a snapshot: toolvet history INVENTORY lists the former.",
        "to: not_found": "Neither a generation nor a snapshot: toolvet history INVENTORY lists the former.",
        "another_inventory": "The snapshot was taken of another inventory.",
        "not_kept": "That generation is not kept: toolvet history INVENTORY lists those that are.",
        "unreadable": "What is kept of that generation is damaged; its snapshot, if any, is not.",
        # Live servers.
        "change: not_found": "No ToolChange of that name there: kubectl toolvet changes list.",
        "enablement: not_found": "You have no ToolEnablement of that source, so nothing waits for you.",
        "enablement: another_account": "Another account, whose name is written alike, has the enablement of"
        " that name: somebody with the verb delegate has to settle it.",
        "evidence: not_kept": "What the server said is not kept any more.",
        "evidence: unreadable": "The Secret is not one that the collector wrote, or it is damaged.",
        "call: not_found": "No HeldToolCall of that name there: kubectl toolvet calls list.",
        "decided_before": "The call was decided before, and that is final: kubectl toolvet calls list"
        " shows how.",
        "call: expired": "Nobody can approve it any more: the agent has to ask again.",
        # Runs.
        "events: invalid_json": "Give a JSON array of events, or one event a line.",
        "events: invalid_iterable": "Give a JSON array of events, or one event a line.",
        "before: invalid_json": "Not JSON: toolvet runs summarize --format json writes a summary.",
        "after: invalid_json": "Not JSON: toolvet runs summarize --format json writes a summary.",
        "workflow_id: invalid_identifier": "A workflow id here is 1 to 128 letters, digits, _, . and -.",
        "workflow_ids: invalid_identifier": "A workflow id here is 1 to 128 letters, digits, _, . and -.",
        "unknown_class": "Classes are success, abstained, review_required, policy_denied and failed.",
        "unknown_reason": "Every class has reasons of its own: toolvet runs summarize --help lists them.",
        "not_sorted_unique": "The list ascends by code point and repeats nothing.",
        "total_out_of_range": "The events together pass the limit of a summary: make several.",
        # Files.
        "not_an_object": "Every document has to be a Kubernetes object, or a List of them: give manifests,"
        " rendered, and nothing else.",
        "no_manifests": "The folder holds no .yaml, .yml or .json file.",
        "unreadable_folder": "A folder below cannot be listed: check its permissions.",
        "repeated_file": "The file is named twice.",
        "duplicate_object": "Two manifests declare one object; check one environment at a time.",
        "invalid_workload": "There is no pod template in it that the API server would take.",
        "unsupported_version": "This release knows toolvet.dev/v1alpha1.",
        "invalid_choice": "reviewOn is AnyChange or MaterialChange.",
        "invalid_mode": "A namespace's mode is enforce, warn or audit.",
        "unsorted_records": "The records of a resource ascend by the plain text of toolId, then of version:"
        " toolvet inventory manifest writes them so.",
        "unreadable_file": "The file cannot be read: check the path and its permissions.",
        "duplicate_member": "A member appears twice in one object; which one counts is not for us to say.",
        "byte_order_mark": "Save the file as UTF-8 without a byte-order mark.",
        "multiple_documents": "Give one document a file.",
        "alias_not_supported": "YAML aliases are not read: write the value out.",
        "invalid_identifier": "Identifiers look like tool:org.example/name or capability:org.example/name.",
        "invalid_semver": "Versions are three numbers, such as 1.4.0.",
        "invalid_digest": "Digests are sha256: and 64 lower-case hex digits.",
    }
)


def remedy_for(error: ContractError) -> str | None:
    """Return the sentence for the last part of the field with this code, else for the code alone."""
    leaf = error.field_name.rpartition(".")[2].partition("[")[0]
    return REMEDIES.get(f"{leaf}: {error.code}") or REMEDIES.get(error.code)
