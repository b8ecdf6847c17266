"""A TLS handshake in memory, checked as strictly as Python can (the default from 3.13 on)."""

import ssl
from pathlib import Path


def handshake(folder: Path, pair: tuple[bytes, bytes], trusted: bytes, name: str) -> str | None:
    """Let a client that trusts only ``trusted`` meet a server with ``pair``; returns the protocol.

    ``folder`` takes the pair's files. Errors: ssl.SSLCertVerificationError, as the client sees it.
    """
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(pair[0])
    key.write_bytes(pair[1])
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    client_context.load_verify_locations(cadata=trusted.decode("ascii"))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=name)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    while True:
        waiting = 0
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                waiting += 1
        if not waiting:
            return client.version()
