"""What can be the name of an object, hence part of a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolvet.kube.names import ACCESS_REVIEWS, INVENTORIES, NAMESPACES, POLICIES, Resource, is_object_name


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a.b", "a-b.c-d", "1.2.3", "a" * 253, "x--y"])
def test_names(name: str) -> None:
    assert is_object_name(name)


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "-a",
            "a-",
            ".a",
            "a.",
            "a..b",
            "a.-b",
            "a-.b",
            "A",
            "a_b",
            "a/b",
            "../a",
            "a%2fb",
            "a?b",
            "a#b",
        ),
        *("a b", "a\n", "\na", "é", "a\u0661", "a\x00", "a" * 254, ".", "..", "*"),
        *(None, 1, True, b"a", ["a"], {"a": 1}, Text("a")),
    ],
)
def test_no_names(name: object) -> None:
    assert not is_object_name(name)


@given(st.text(st.sampled_from("ab0-./A_ \n%?é"), max_size=8))
def test_a_name_never_leaves_its_place_in_a_path(name: str) -> None:
    if is_object_name(name):
        assert INVENTORIES.path("team-a", name).split("/") == [
            *("", "apis", "toolvet.dev", "v1alpha1", "namespaces", "team-a", "toolinventories", name)
        ]
        assert name not in {".", ".."}


def test_paths() -> None:
    assert NAMESPACES.path() == "/api/v1/namespaces"
    assert NAMESPACES.path(None, "a", "finalize") == "/api/v1/namespaces/a/finalize"
    assert INVENTORIES.path() == "/apis/toolvet.dev/v1alpha1/toolinventories"
    assert POLICIES.path("ignored", "default") == "/apis/toolvet.dev/v1alpha1/catalogpolicies/default"
    assert ACCESS_REVIEWS.path() == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert Resource("", "v1", "pods", "Pod").path("a", "b", "status") == "/api/v1/namespaces/a/pods/b/status"
