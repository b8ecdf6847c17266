"""Which addresses may be asked: public ones, and those that an allow list names (against SSRF).

Whoever may write a source chooses where we connect from inside the cluster. So nothing private is asked
unless whoever runs Toolvet named it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolvet.core.errors import ContractError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

METADATA_ADDRESSES: Final[frozenset[Address]] = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # nearly every cloud
        "169.254.170.2",  # task credentials
        "169.254.170.23",  # pod identity
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",  # a public address by its number
        "192.0.0.192",
    )
)
"""Where clouds hand out credentials: refused even within an allowed network, unless named one by one."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64: Final = ipaddress.IPv6Network("64:ff9b:1::/48")  # RFC 8215; not private to every Python
_IPV4_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_LOW_32_BITS: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Networks and exact host names that may be asked though they are private, and over plain http.

    Raises ContractError("allow", "invalid_network") or ("allow", "invalid_host") through ``of``.
    """

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *entries: str) -> AddressPolicy:
        """Read an allow list: networks, addresses and host names in any mixture."""
        networks: list[Network] = []
        hosts: set[str] = set()
        for entry in entries:
            network = _network(entry)
            if network is not None:
                networks.append(network)
            else:
                hosts.add(_host(entry))
        return cls(tuple(networks), frozenset(hosts))

    def names(self, host: str, address: Address) -> bool:
        """Tell whether the allow list names this destination."""
        views = [address, *_embedded(address)]
        single = any(net.num_addresses == 1 and view in net for net in self.networks for view in views)
        if any(view in METADATA_ADDRESSES for view in views):
            return single
        return single or normal_host(host) in self.hosts or any(address in net for net in self.networks)

    def permits(self, host: str, address: Address) -> bool:
        """Tell whether we may connect to this address of the host.

        An address that carries an IPv4 address inside (mapped, NAT64, 6to4) is judged by that one, too.
        """
        views = [address, *_embedded(address)]
        return all(_public(view) for view in views) or self.names(host, address)


def _public(address: Address) -> bool:
    if address in METADATA_ADDRESSES or address in _LOCAL_NAT64:
        return False
    if isinstance(address, ipaddress.IPv6Address) and _embedded(address):
        return True  # judged by the address inside
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _embedded(address: Address) -> list[Address]:
    return list(_inner(address)) if isinstance(address, ipaddress.IPv6Address) else []


def _inner(address: ipaddress.IPv6Address) -> Iterator[Address]:
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in _NAT64 or (address in _IPV4_COMPATIBLE and int(address) > 1):
        yield ipaddress.IPv4Address(int(address) & _LOW_32_BITS)


def normal_host(host: str) -> str:
    """Return a host name in lower case, without the dot of the root."""
    return host.lower().removesuffix(".")


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        # "10.0.0.1/8" is a network to its writer; whether it means one address or all is not ours to guess.
        invalid = "/" in text
    if invalid:
        raise ContractError("allow", "invalid_network")
    return None


def _host(text: str) -> str:
    host = normal_host(text)
    if not host or not all(char.isascii() and (char.isalnum() or char in "-._") for char in host):
        raise ContractError("allow", "invalid_host")
    return host
