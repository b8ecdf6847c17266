"""What is committed would be right on any machine: no path of one, no registry, no host nobody chose."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Both are made by tools that pin where a package came from; the vectors are kept as they came.
EXEMPT = [":!uv.lock", ":!*go.sum", ":!tests/contracts/vectors", f":!{Path(__file__).relative_to(ROOT)}"]

REGISTRIES = (
    *("ghcr.io", "docker.io", "quay.io", "gcr.io", "registry.k8s.io", "mcr.microsoft.com", "public.ecr.aws"),
    *("pypi.org", "pythonhosted.org", "proxy.golang.org", "sum.golang.org", "npmjs.org"),
)
HOSTS = {
    *("127.0.0.1", "127.0.0.2", "localhost", "kubernetes.default.svc"),
    *("169.254.169.254", "user"),  # where clouds keep credentials; a name before a password
    *("json-schema.org", "no-color.org", "www.apache.org"),
    "token.actions.githubusercontent.com",  # who vouches for a signature made in a workflow there
}
RESERVED = re.compile(r"(^|\.)(example|test|invalid|localhost|example\.(com|net|org))$")  # RFC 2606


def lines_with(pattern: str) -> list[str]:
    """Committed lines that match; tracked files as they are in the work tree, binary ones left out."""
    done = subprocess.run(
        ["git", "grep", "-nIE", "-e", pattern, "--", *EXEMPT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def test_the_search_finds_what_is_there() -> None:
    assert any(line.startswith("pyproject.toml:") for line in lines_with(r'^name = "toolvet"$'))


def test_no_path_of_a_machine() -> None:
    here = [ROOT, Path.home()]
    if ROOT.parent != Path(ROOT.anchor):
        # Neighbours of the work tree; a mount point that happens to have the name of its folder is none.
        here += [path for path in ROOT.parent.iterdir() if path.is_dir()]
    escaped = "|".join(re.escape(str(path)) for path in here)
    assert lines_with(rf"({escaped})(/|[^[:alnum:]_.-]|$)") == []
    assert lines_with(r"(^|[^[:alnum:]_.{}-])/(home|Users)/[[:alnum:]_]") == []


def test_no_registry() -> None:
    names = "|".join(re.escape(name) for name in REGISTRIES)
    assert lines_with(rf"(^|[^[:alnum:]_-])({names})([^[:alnum:]_-]|$)") == []


def test_every_host_was_chosen() -> None:
    found = lines_with(r"https?://[[:alnum:]]")
    hosts = {host for line in found for host in re.findall(r"https?://([A-Za-z0-9][A-Za-z0-9.-]*)", line)}
    assert found
    assert {host for host in hosts if host not in HOSTS and not RESERVED.search(host)} == set()


def test_no_secret_is_committed() -> None:
    assert lines_with(r"BEGIN ([A-Z]+ )?PRIVATE KEY-----$") == []
    assert lines_with(r"eyJhbGciOi[[:alnum:]_-]{40,}") == []
