"""Test the tools that find the sentences of the project and the phrases to avoid."""

from __future__ import annotations

import re

import pytest

from scripts import check_text, texts
from scripts.sample_sentences import sample
from scripts.texts import AREAS, Text, markdown, python, sentences

PAGE = """\
# A heading of four words

A paragraph with `nobody` in code. It goes
on here: a second line.

- an item
| a | table row |

```python
nobody = 1
```
<p>HTML</p>

::: spotball_core.score
"""

MODULE = '''\
"""Read files.

Examples:
    >>> nobody = 1
    1

A last paragraph.
"""


def read(path):
    """Return the content."""
    # The reason for it.
    if not path:
        raise ValueError(f"{path}: the file does not exist")
    return path  # noqa: X1
'''


def test_markdown_returns_headings_paragraphs_items_and_table_rows_without_code_and_html() -> None:
    assert [(text.line, text.words) for text in markdown(PAGE, "docs/how-to/a.md")] == [
        (1, "A heading of four words"),
        (3, "A paragraph with `nobody` in code. It goes on here: a second line."),
        (6, "an item"),
        (7, "a | table row"),
    ]


def test_python_returns_docstrings_messages_and_comments_of_a_module() -> None:
    assert [(text.line, text.area, text.words) for text in python(MODULE, "spotball_core/a.py")] == [
        (1, "docstrings", "Read files."),
        (3, "docstrings", "Examples:"),
        (7, "docstrings", "A last paragraph."),
        (12, "docstrings", "Return the content."),
        (15, "messages", "X: the file does not exist"),
        (13, "comments", "The reason for it."),
    ]


def test_sentences_skips_short_sentences_and_sentences_with_code() -> None:
    text = Text("a.md", 1, "README", "One. This sentence has five words. Is `it` so? A third one is here: a clause.")
    assert list(sentences(text)) == ["This sentence has five words.", "A third one is here: a clause."]


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        ("An error is told.", ["is told"]),
        ("Nobody knows, and somebody waits.", ["Nobody", "somebody"]),
        ("`nobody` is a name, [a link](nobody.md) a link.", []),
        ("There is nothing to do.", []),
    ],
)
def test_problems_finds_phrases_to_avoid_only_outside_code_and_links(words: str, phrases: list[str]) -> None:
    lines = check_text.problems([Text("a.md", 3, "README", words)], check_text.read_phrases())
    assert [re.search(r'a\.md:3: "(.*?)"', line)[1] for line in lines] == phrases  # type: ignore[index]


@pytest.mark.slow
def test_sample_is_equal_for_the_same_seed_and_differs_for_another_seed() -> None:
    project = list(texts.texts())
    assert {text.area for text in project} == set(AREAS)
    first = sample(project, "README", 10, seed=1)
    assert len(set(first)) == 10
    assert first == sample(project, "README", 10, seed=1) != sample(project, "README", 10, seed=2)
