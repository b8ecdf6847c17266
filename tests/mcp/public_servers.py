"""Which public servers the tests list, two states of each: the commands, installed on first use."""

from tests.mcp import real_server
from tests.mcp.http_servers import BEFORE

SDK_1, SDK_2 = "mcp<2", "mcp>=2.3"


def pypi(package, version, sdk, *arguments):
    return [*real_server.installed(package, version, sdk, BEFORE), *arguments]


def npm(package, version, *arguments, pins=()):
    return [*real_server.installed_node(package, version, BEFORE, *pins), *arguments]


def atlassian(seed):
    command = pypi("mcp-atlassian", "0.23.1", "mcp", "--transport", "stdio")
    site = ["JIRA_URL=http://127.0.0.1:1", "JIRA_PERSONAL_TOKEN=none"]
    return ["env", f"PYTHONHASHSEED={seed}", *site, *command[1:]]


def commands(folder):
    filesystem = "server-filesystem"
    today_as_of_then = ("zod@3.23.8", "zod-to-json-schema@3.23.5")
    return {
        "git": (
            pypi("mcp-server-git", "2025.7.1", SDK_1),
            pypi("mcp-server-git", "2026.10.19", SDK_2),
        ),
        "fetch": (
            pypi("mcp-server-fetch", "2025.4.7", SDK_1),
            pypi("mcp-server-fetch", "2026.10.24", SDK_2),
        ),
        "time": (
            pypi("mcp-server-time", "2025.9.25", SDK_1, "--local-timezone", "UTC"),
            pypi("mcp-server-time", "2026.10.19", SDK_2, "--local-timezone", "UTC"),
        ),
        "memory": (npm("server-memory", "2025.4.25"), npm("server-memory", "2026.8.31")),
        "filesystem": (npm(filesystem, "2025.11.25", folder), npm(filesystem, "2026.8.31", folder)),
        "everything": (
            npm("server-everything", "2025.9.25", "stdio"),
            npm("server-everything", "2026.8.31", "stdio"),
        ),
        # The same release twice: a dependency was released in between.
        "filesystem, dependency": (
            npm(filesystem, "0.6.2", folder, pins=today_as_of_then),
            npm(filesystem, "0.6.2", folder),
        ),
        # The same release twice, started twice: a default is written in the order of a set.
        "atlassian, restarted": (atlassian(1), atlassian(2)),
    }
