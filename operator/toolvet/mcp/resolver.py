"""Name resolution that answers with checked addresses only, so that what was checked is connected to."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

from aiohttp import AddrInfoType, ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from toolvet.mcp.address import Address, AddressPolicy
from toolvet.mcp.observation import ListingFault, UnknownReason


class CheckedResolver(AbstractResolver):
    """Resolves through the system, or through ``inner``, and refuses what the policy does not permit.

    The connector connects to what this returns and asks nobody again: a name that answers differently the
    next time (DNS rebinding) gains nothing. One forbidden address among several refuses the name.
    """

    def __init__(
        self, policy: AddressPolicy, host: str, *, plain: bool, inner: AbstractResolver | None = None
    ) -> None:
        self._policy = policy
        self._host = host
        self._plain = plain
        self._inner = inner or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host; raises ListingFault, or OSError where the name has none."""
        found = await self._inner.resolve(host, port, family)
        for result in found:
            self.check(self._host, result["host"])
        return found

    def check(self, host: str, address: str) -> None:
        """Raise ListingFault for an address of the host that may not be asked."""
        parsed: Address | None = None
        with contextlib.suppress(ValueError):
            parsed = ipaddress.ip_address(address.partition("%")[0])  # without the zone of a link-local one
        if parsed is None or not self._policy.permits(host, parsed):
            raise ListingFault(UnknownReason.FORBIDDEN_ADDRESS)
        if self._plain and not self._policy.names(host, parsed):
            raise ListingFault(UnknownReason.PLAIN_HTTP)

    def open_socket(self, info: AddrInfoType) -> socket.socket:
        """Return the socket of one connection: the last check, and the only one of an address in a URL.

        Such an address is never resolved.
        """
        family, kind, protocol, _, place = info
        self.check(self._host, str(place[0]))
        return socket.socket(family, kind, protocol)

    async def close(self) -> None:
        """Release what resolves."""
        await self._inner.close()
