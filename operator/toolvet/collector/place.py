"""Where the server of a source is and how to log in there, read from the API server anew each time."""

from __future__ import annotations

from toolvet.collector.address_book import url_of
from toolvet.collector.credentials import Login, login_of
from toolvet.core.errors import ContractError
from toolvet.core.tool_source import ToolSource
from toolvet.kube.client import HTTP_FORBIDDEN, ApiClient, ApiError, Object
from toolvet.kube.names import SECRETS


class StalledError(Exception):
    """The source cannot be looked at as it is; the code says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


async def place_of(reads: ApiClient, namespace: str, source: ToolSource) -> tuple[str, Login]:
    """Return the URL of a source's server and the login for it.

    Raises ApiError, StalledError, or ContractError where either cannot be used.
    """
    url = source.url
    if url is None and source.reference is not None:
        url = await url_of(reads, namespace, source.reference)
    return url or "", await _login(reads, namespace, source.credentials_secret_name, url or "")


async def _login(reads: ApiClient, namespace: str, name: str | None, url: str) -> Login:
    if name is None:
        return Login()
    secret = await secret_of(reads, namespace, name, "credentials_not_permitted")
    if secret is None:
        raise ContractError("credentials", "missing")
    return login_of(secret, url)


async def secret_of(reads: ApiClient, namespace: str, name: str, refused: str) -> Object | None:
    """Read a Secret; StalledError(refused) where the namespace does not let us."""
    try:
        return await reads.get(SECRETS, namespace, name)
    except ApiError as error:
        if error.status != HTTP_FORBIDDEN:
            raise
    raise StalledError(refused)
