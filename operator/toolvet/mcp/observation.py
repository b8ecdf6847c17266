"""What one look at a live MCP server gives: a listing, or that nothing is known, and why.

Unknown is a type of its own, so that no caller can take it for an empty listing: a server that did not
answer has not removed its tools.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from toolvet.core.listing_change import ObservedListing


class UnknownReason(StrEnum):
    """Why nothing is known of a server's tools; closed, and free of anything the server said."""

    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    TLS_FAILED = "tls_failed"
    FORBIDDEN_ADDRESS = "forbidden_address"
    PLAIN_HTTP = "plain_http"
    REDIRECTED = "redirected"
    UNAUTHORIZED = "unauthorized"
    REFUSED = "refused"
    UNSUPPORTED = "unsupported"
    MALFORMED = "malformed"
    DUPLICATE_TOOL_NAME = "duplicate_tool_name"
    OVER_BUDGET = "over_budget"


REASON_MEANINGS: dict[UnknownReason, str] = {
    UnknownReason.UNREACHABLE: "the name does not resolve, or the connection was refused or broke off",
    UnknownReason.TIMED_OUT: "the listing was not complete at its deadline",
    UnknownReason.TLS_FAILED: "the certificate could not be verified, or the handshake failed",
    UnknownReason.FORBIDDEN_ADDRESS: "the address is private, and no allow list names it",
    UnknownReason.PLAIN_HTTP: "plain http to an address that no allow list names",
    UnknownReason.REDIRECTED: "the server sends elsewhere than to its own origin",
    UnknownReason.UNAUTHORIZED: "the server answered 401 or 403",
    UnknownReason.REFUSED: "the server answered with an error",
    UnknownReason.UNSUPPORTED: "no revision of the protocol in common, or a server without tools",
    UnknownReason.MALFORMED: "the answer is not what the protocol asks for, or not strict JSON",
    UnknownReason.DUPLICATE_TOOL_NAME: "two tools of one name: which one an agent calls is anybody's guess",
    UnknownReason.OVER_BUDGET: "more bytes, values, pages, tools, messages or levels than the budget has",
}


@dataclass(frozen=True, slots=True)
class UnknownListing:
    """Nothing is known of the tools, which is neither an empty listing nor a change.

    ``detail`` is a code of ours that is more precise than the reason, such as ``duplicate_member``.
    ``http_status`` is the status that decided, None where none did.
    """

    reason: UnknownReason
    detail: str
    http_status: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Listing:
    """All tools of a server at one look. It holds the server's text: it belongs in no log and no status."""

    protocol_version: str
    definitions: tuple[object, ...]
    """Every element of every page as sent, in the server's order; a malformed one is among them."""
    observed: ObservedListing
    """The same definitions, taken apart; malformed ones are marked there."""
    server_version: str | None = None
    """The version that the server says it has; its own text."""
    pages: int = 1
    size: int = field(default=0, compare=False)
    """Bytes of all answers, after decompression."""


class ListingFault(Exception):  # noqa: N818  # not an error of this program: an outcome on its way up
    """Ends a listing with an unknown outcome; never leaves this layer."""

    def __init__(self, reason: UnknownReason, detail: str = "", http_status: int | None = None) -> None:
        super().__init__(reason.value)
        self.outcome = UnknownListing(reason, detail or reason.value, http_status)
