"""What must go when we go: owner references, which the garbage collector follows with all of ours down.

The webhook configuration belongs to the release's namespace: were that deleted without uninstalling, the
gate would be gone, and governed changes would be refused for ever by a Service that does not exist. Helm
cannot render the namespace's uid. What we make ourselves belongs to our service account, which goes with the
release and outlives every upgrade.
"""

from __future__ import annotations

import asyncio
import logging

from toolvet.kube.client import ApiClient, ApiError, Object
from toolvet.kube.names import CONTROLLER_MANAGER, NAMESPACES, SELF_REVIEWS, WEBHOOK_CONFIGURATIONS
from toolvet.kube.process import log

_LOGGER = logging.getLogger("toolvet.controller")
_CHECK_SECONDS = 15.0
_RETRY_SECONDS = 2.0  # after a failure (doubled by the next), and while there is no webhook configuration
_ACCOUNT = "system:serviceaccount:"
_FORBIDDEN = 403


class OwnAccount:
    """The service account we run as, asked of the API server once."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._references: list[Object] | None = None

    async def references(self) -> list[Object]:
        """Return the owner references of what we make; empty where we may not know or are no account.

        ApiError where it must be asked again.
        """
        if self._references is None:
            self._references = await self._ask()
        return self._references

    async def _ask(self) -> list[Object]:
        # Everybody may ask who they are (ClusterRole system:basic-user), unless an administrator forbade it.
        review = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
        try:
            answer = await self._api.create(SELF_REVIEWS, None, review)
        except ApiError as error:
            if error.status != _FORBIDDEN:
                raise
            log(_LOGGER, logging.WARNING, "account_unknown", status=error.status)
            return []
        user = answer["status"]["userInfo"]
        if not user["username"].startswith(_ACCOUNT) or not user.get("uid"):
            return []
        name = user["username"].rpartition(":")[2]
        return [{"apiVersion": "v1", "kind": "ServiceAccount", "name": name, "uid": user["uid"]}]


async def keep_owned(writer: ApiClient, namespace: str, configuration: str, stop: asyncio.Event) -> None:
    """Give the webhook configuration to the namespace, also one that is made anew, until told to stop."""
    wait = 0.0
    while not stop.is_set():
        try:
            found = await ensure_owned(writer, namespace, configuration)
        except ApiError as error:
            log(_LOGGER, logging.WARNING, "owner_not_set", status=error.status, reason=error.reason)
            wait = min(_CHECK_SECONDS, max(_RETRY_SECONDS, 2 * wait))
        else:
            wait = _CHECK_SECONDS if found else _RETRY_SECONDS
        try:
            await asyncio.wait_for(stop.wait(), wait)
        except TimeoutError:
            continue


async def ensure_owned(api: ApiClient, namespace: str, configuration: str) -> bool:
    """Look once and write what is missing; False where there is no webhook configuration. Raises ApiError."""
    found, home = await asyncio.gather(
        api.get(WEBHOOK_CONFIGURATIONS, None, configuration, metadata_only=True),
        api.get(NAMESPACES, None, namespace, metadata_only=True),
    )
    if found is None or home is None:
        return False
    uid = home["metadata"]["uid"]
    if any(owner.get("uid") == uid for owner in found["metadata"].get("ownerReferences") or ()):
        return True
    owner = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "name": namespace, "uid": uid}
    body = {
        "apiVersion": WEBHOOK_CONFIGURATIONS.api_version,
        "kind": WEBHOOK_CONFIGURATIONS.kind,
        "metadata": {"name": configuration, "ownerReferences": [owner]},
    }
    # Apart from caBundle: a cluster that lets nobody set owners (OwnerReferencesPermissionEnforcement) must
    # not thereby keep the gate from being trusted.
    await api.apply(WEBHOOK_CONFIGURATIONS, None, body, manager=CONTROLLER_MANAGER)
    log(_LOGGER, logging.INFO, "owner_set", namespace=namespace)
    return True
