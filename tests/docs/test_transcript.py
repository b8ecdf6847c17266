import pytest

from docs.transcript import PageError, Step, blocks, steps, transcript

PAGE = """
# Title

```console
$ first \\
  --option
one
two
$ second
```

1. In a list:

   ```console
   $ third
   Error from server
   ```

```text
$ not a command
```
"""


def test_commands_are_found_with_their_output() -> None:
    assert transcript(PAGE) == [
        Step(5, "first \\\n  --option", ("one", "two")),
        Step(9, "second"),
        Step(15, "third", ("Error from server",)),
    ]


def test_what_is_shown_failing_has_to_fail() -> None:
    assert [step.refused for step in transcript(PAGE)] == [False, False, True]


@pytest.mark.parametrize(
    "text",
    ["```console\nno command\n```", "```console\n```", "```console\n$ not closed", "```console\n$ a\n````"],
)
def test_a_block_that_would_not_be_run_is_an_error(text: str) -> None:
    with pytest.raises(PageError):
        transcript(text)


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ((), "anything", True),
        (("a",), "a\n", True),
        (("a",), "a", True),
        (("a",), "a\nb\n", False),
        (("a", "b"), "a\n", False),
        (("NAME   AGE",), "NAME      AGE   \n", True),
        (("NAME AGE",), "NAMEAGE\n", False),
        (("a ... c",), "a b c\n", True),
        (("a-...",), "a-\n", True),
        (("a", "...", "z"), "a\nz\n", True),
        (("a", "...", "z"), "a\nb\nc\nz\n", True),
        (("...", "z"), "a\nz\ny\n", False),
        (("a.c",), "abc\n", False),
        (("", "a"), "\na\n", True),
    ],
)
def test_output_is_compared(expected: tuple[str, ...], output: str, *, same: bool) -> None:
    assert Step(1, "x", expected).matches(output) is same


def test_blocks_keep_their_language_and_line() -> None:
    found = list(blocks(PAGE))
    assert [(block.language, block.line) for block in found] == [
        ("console", 4),
        ("console", 14),
        ("text", 19),
    ]
    assert [step.command for step in steps(found[1])] == ["third"]
