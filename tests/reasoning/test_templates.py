"""Test that the built-in templates are balanced, and that template files are validated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spotball_core.errors import InputError, OptionError
from spotball_core.reasoning.classify import keyword_categories
from spotball_core.reasoning.templates import Templates, load_templates
from tests.failures import raises

OWN = load_templates("pose-gaze")

SPORTS = {
    "soccer": "striker|goalkeeper|defenders|midfielder",
    "basketball": "guard|shooter|rim|dribbler",
    "volleyball": "setter|blockers|libero|hitter",
}


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def sport_of(text: str) -> list[str]:
    return [sport for sport, pattern in SPORTS.items() if re.search(rf"\b(?:{pattern})\b", text)]


def test_built_in_template_sets_have_equal_sizes_similar_text_lengths_and_four_templates_per_sport() -> None:
    assert OWN.names == ("pose", "gaze")
    assert OWN.sizes == (12, 12)
    assert len(OWN.neutral) == 12
    for triple in zip(*OWN.categories.values(), OWN.neutral, strict=True):
        lengths = [len(text.split()) for text in triple]
        assert max(lengths) - min(lengths) <= 1, triple
    assert {len(text.split()) for text in OWN.texts} <= {12, 13, 14}
    pose, gaze = (sum(len(text.split()) for text in texts) for texts in OWN.categories.values())
    assert abs(pose - gaze) <= 2
    for texts in (*OWN.categories.values(), OWN.neutral):
        assert [sport_of(text) for text in texts] == [[sport] for sport in SPORTS for _ in range(4)]


def test_built_in_templates_contain_only_keywords_of_their_own_set_and_no_word_is_a_keyword_of_two_sets() -> None:
    for place, texts in enumerate(OWN.categories.values()):
        assert keyword_categories(texts, OWN.keywords).tolist() == [place] * len(texts)
        for name, patterns in OWN.keywords.items():
            found = [any(re.search(rf"(?i)\b(?:{word})\b", text) for word in patterns) for text in texts]
            assert set(found) == {name == OWN.names[place]}
    assert keyword_categories(OWN.neutral, OWN.keywords).tolist() == [-2] * 12
    for word in {word for text in OWN.texts for word in words(text)}:
        assert sum(any(re.fullmatch(one, word) for one in some) for some in OWN.keywords.values()) < 2, word


def test_matched_pose_and_gaze_templates_share_at_least_half_of_their_words() -> None:
    # Matched templates use the same sentence frame, so they share most of their words.
    for pose, gaze in zip(*OWN.categories.values(), strict=True):
        assert len(words(pose) & words(gaze)) >= len(words(pose)) / 2, (pose, gaze)


def test_digest_of_templates_depends_only_on_texts_and_keywords() -> None:
    one = Templates("a", "1", {"x": ("p", "q"), "y": ("r",)}, {"x": ("p",), "y": ("r",)}, ("n", "m"))
    other = Templates("b", "2", {"y": ("r",), "x": ("q", "p")}, {"y": ("r",), "x": ("p",)}, ("m", "n"))
    assert one.digest == other.digest
    changed = (
        Templates("a", "1", {"x": ("p", "q"), "y": ("s",)}, one.keywords, one.neutral),
        Templates("a", "1", {"y": ("p", "q"), "x": ("r",)}, one.keywords, one.neutral),
        Templates("a", "1", one.categories, {"x": ("p",), "y": ("s",)}, one.neutral),
        Templates("a", "1", one.categories, one.keywords),
    )
    assert len({one.digest, *(each.digest for each in changed)}) == 5


FILE = """
name = "mine"
version = "3"
neutral = ["nothing"]
[categories]
near = ["close by", "at hand"]
far = ["far off"]
else = ["elsewhere"]
"""


def test_load_templates_reads_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE, encoding="utf-8")
    mine = load_templates(path)
    assert (mine.name, mine.version, mine.names, mine.sizes) == ("mine", "3", ("near", "far", "else"), (2, 1, 1))
    assert mine.texts == ("close by", "at hand", "far off", "elsewhere", "nothing")
    assert mine.keywords == {}
    assert load_templates(str(path)) == mine


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (
            "name = 1\nx = 2",
            {
                "unknown-key:x": "",
                "invalid-value:name": "1",
                "missing-value:version": "",
                "missing-value:categories": "",
            },
        ),
        (FILE.replace('"mine"', '"pose-gaze"'), {"invalid-value:name": "'pose-gaze'"}),
        (FILE + 'also = "text"', {"invalid-value:categories.also": "'text'"}),
        (FILE + "none = []", {"invalid-value:categories.none": ""}),
        (FILE + 'twice = ["far off "]', {"duplicate:categories": "'far off'"}),
        (FILE + 'blank = [" "]', {"invalid-value:categories.blank": ""}),
        (FILE.replace('["nothing"]', '[""]'), {"invalid-value:neutral": ""}),
        (
            'name = "m"\nversion = ""\ncategories = {a = ["b"]}',
            {"invalid-value:version": "", "invalid-value:categories": "1"},
        ),
        (FILE + '[keywords]\nnear = ["a"]', {"invalid-value:keywords": "near"}),
        (
            FILE + '[keywords]\nnear = ["("]\nfar = ["a*"]\nelse = []',
            {
                "invalid-value:keywords.near": "'('",
                "invalid-value:keywords.far": "'a*'",
                "invalid-value:keywords.else": "",
            },
        ),
        (
            FILE + '[keywords]\nnear = ["a(?=b)"]\nfar = ["c"]\nelse = ["d"]',
            {"invalid-value:keywords.near": "'a(?=b)'"},
        ),
        ("name = ", {"invalid-toml:file": ""}),
    ],
)
def test_load_templates_of_an_invalid_file_reports_all_problems(
    tmp_path: Path, content: str, found: dict[str, str]
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_templates(path)
    problems = caught.value.problems
    assert [f"{problem.code}:{problem.field}" for problem in problems] == list(found)
    assert all(problem.found.startswith(start) for problem, start in zip(problems, found.values(), strict=True))
    assert {problem.file for problem in problems} == {str(path)}


def test_load_templates_with_unknown_name_or_one_category_raises_option_error(tmp_path: Path) -> None:
    with raises(OptionError, "unknown-name"):
        load_templates(str(tmp_path / "nothing.toml"))
    with raises(OptionError, "invalid-value"):
        Templates("x", "1", {"a": ("b",)})
