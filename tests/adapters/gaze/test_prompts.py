"""Test gaze prompts and the seeded order of their options."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.gaze.options import letters, lines, shuffled
from spotball_adapters.gaze.photos import Photo
from spotball_adapters.gaze.prompts import SETS, GazePrompt, built_in, load_prompts
from spotball_core.errors import InputError, OptionError
from tests.adapters.gaze.made import stimulus
from tests.conftest import ROOT
from tests.failures import raises

# The questions of tables 4 and 5 of the paper
QUESTIONS = [
    f"{word} {who} looking{at}{where}?"
    for where in ("", " in the image")
    for who in ("is this person", "is she")
    for word, at in (("What", " at"), ("Where", ""), ("Which object", " at"))
]
DIRECT = "Please answer with the option’s letter A, B, C directly."
GUESS = "If you don’t know, you still must choose one, so make your best guess."
RANDOM = "If you don’t know, you still must choose one, so you might select randomly. You cannot refuse to choose."
REFUSE = "You cannot refuse to choose."
NO_REASON = "There is no need to reason."
OPTIONS = "A. xxx\nB. xxx\nC. xxx"


def shown(prompt: GazePrompt) -> str:
    """Return the text of a prompt as printed in the paper."""
    return prompt.text.replace("{options}", OPTIONS).replace("{letters}", "A, B, C")


def test_pilot_and_pre_pilot_prompts_equal_the_text_of_the_paper() -> None:
    asked = [f"{question}\n{OPTIONS}\n{DIRECT}" for question in QUESTIONS]
    assert [shown(prompt) for prompt in built_in("pre-pilot")] == [f"{text} {RANDOM}" for text in asked]
    endings = [f"{reason} {end}" for reason in ("", f" {NO_REASON}") for end in (GUESS, RANDOM, REFUSE)] * 2
    pilot = [text + ending for text, ending in zip(asked, endings, strict=True)]
    assert [shown(prompt) for prompt in built_in("pilot")] == pilot


@pytest.mark.real
def test_pilot_and_pre_pilot_prompts_occur_in_the_tables_of_the_paper_file() -> None:
    path = Path(os.environ.get("SPOTBALL_GAZE_PAPER", ROOT.parent / "shared/papers/gaze-head-orientation.txt"))
    if not path.is_file():
        pytest.skip(f"the paper is not at {path}; set SPOTBALL_GAZE_PAPER to where it is")
    paper = path.read_text(encoding="utf-8")
    for name in ("pilot", "pre-pilot"):
        for prompt in built_in(name):
            printed = shown(prompt).replace("\n", "\\n ")
            assert f"| {prompt.name.removeprefix(f'{name}-')} | <image> {printed} |" in paper


def test_set_main_has_16_prompts_that_ask_for_a_letter_and_whose_hints_only_add_lines() -> None:
    prompts = built_in("main")
    assert len(prompts) == len({prompt.digest for prompt in prompts}) == 16
    assert Counter(prompt.hints for prompt in prompts) == {(): 4, ("order",): 4, ("how",): 4, ("order", "how"): 4}
    without = {prompt.text.splitlines()[0]: prompt.text.splitlines() for prompt in prompts if not prompt.hints}
    assert len(without) == 4
    for prompt in prompts:
        assert ("{in_order}" in prompt.text) == ("order" in prompt.hints)
        assert ("line of sight" in prompt.text) == ("how" in prompt.hints)
        said = prompt.text.splitlines()
        assert [line for line in said if line in without[said[0]]] == without[said[0]]
        assert len(said) == len(without[said[0]]) + len(prompt.hints)
        for part in ("letter {letters} directly", "no need to reason", "cannot refuse", "make your best guess"):
            assert part in prompt.text


def test_prompt_digests_equal_the_known_digests_of_their_versions() -> None:
    """Check that the text of a prompt changes only together with its version and the digest below."""
    digests = {name: hashlib.sha256() for name in SETS}
    for name in SETS:
        for prompt in built_in(name):
            digests[name].update(f"{prompt.name} {prompt.version} {prompt.digest}".encode())
    assert {name: digest.hexdigest()[:16] for name, digest in digests.items()} == KNOWN


KNOWN = {"main": "0796b6be4248e05f", "pilot": "930f54d08d1e1a9d", "pre-pilot": "85d6b029d9f8f341"}


class TestLoading:
    def test_load_prompts_accepts_sets_and_single_names(self) -> None:
        names = [prompt.name for prompt in load_prompts("pilot-3, main-16,pre-pilot")]
        assert names == ["pilot-3", "main-16", *(f"pre-pilot-{number}" for number in range(1, 13))]

    def test_load_prompts_reads_a_prompt_file(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        text = "'''\nLook {braces are fine} \"{}\"\n{options}'''"
        path.write_text(f"name = 'mine'\nversion = '2'\nhints = ['a']\ntext = {text}")
        (prompt,) = load_prompts(str(path), seed=7)
        assert (prompt.name, prompt.version, prompt.hints, prompt.seed) == ("mine", "2", ("a",), 7)
        assert prompt.last(Photo(stimulus(0)), 1)[0].text.startswith('Look {braces are fine} "{}"\nA. ')

    @pytest.mark.parametrize(
        ("text", "where", "value"),
        [
            ("name = 'mine'\nversion = '1'\ntext = 'Where?'", "invalid-value:text", "{options}"),
            ("name = 'pilot-1'\nversion = '1'\ntext = '{options}'", "invalid-value:name", "'pilot-1'"),
            ("name = 'a'\nversion = '1'\ntext = '{options} {sport}'", "invalid-value:text", "{sport}"),
            ("name = ' a'\nversion = ''\ntext = '{options}'", "invalid-value:version", "''"),
            ("version = 1\ntext = '{options}'\nfoo = 2", "unknown-key:foo", "foo"),
            ("version = 1\ntext = '{options}'", "missing-value:name", "nothing"),
            ("name = 'a'\nversion = '1'\ntext = '{options}'\nhints = 'x'", "invalid-value:hints", "'x'"),
            ("name = ", "invalid-toml:file", ""),
        ],
    )
    def test_load_prompts_of_an_invalid_file_raises_input_error(
        self, tmp_path: Path, text: str, where: str, value: str
    ) -> None:
        path = tmp_path / "mine.toml"
        path.write_text(text)
        with raises(InputError, where) as caught:
            load_prompts(str(path))
        assert caught.value.file == str(path)
        assert value in str(caught.value)

    @pytest.mark.parametrize(
        ("named", "where"),
        [("", "no-data:--prompt"), ("pilot,pilot-3", "duplicate:--prompt"), ("main-17", "unknown-name:--prompt")],
    )
    def test_load_prompts_with_invalid_names_is_an_option_error(self, named: str, where: str) -> None:
        with raises(OptionError, where):
            load_prompts(named)

    def test_question_raises_index_error_because_gaze_prompts_have_no_earlier_questions(self) -> None:
        with pytest.raises(IndexError, match="no question 0"):
            built_in("main")[0].question(0)


class TestOptions:
    @given(st.integers(0, 2**64), st.integers(0, 20), st.integers(1, 50), st.sampled_from(built_in("main")))
    def test_shuffled_returns_each_object_once_in_a_reproducible_order(
        self, seed: int, number: int, sample: int, prompt: GazePrompt
    ) -> None:
        one = stimulus(number)
        given = {"seed": seed, "stimulus_id": one.stimulus_id, "prompt": prompt.name, "sample": sample}
        order = shuffled(one.objects, **given)
        assert sorted(order) == sorted(one.objects)
        assert order == shuffled(one.objects[::-1], **given)

    def test_shuffled_returns_all_orders_equally_often(self) -> None:
        objects = ("a", "b", "c", "d")
        n = 24 * 400
        found = Counter(
            shuffled(objects, seed=seed, stimulus_id=str(photo), prompt=prompt, sample=1)
            for seed in range(4)
            for prompt in ("main-1", "main-2")
            for photo in range(n // 8)
        )
        assert set(found) == set(permutations(objects))
        # Chi-squared with 23 degrees of freedom exceeds 49.7 with probability 0.001.
        assert sum((count - 400) ** 2 / 400 for count in found.values()) < 49.7

    def test_shuffled_depends_on_seed_stimulus_prompt_and_sample(self) -> None:
        base = {"seed": 0, "stimulus_id": "1", "prompt": "p", "sample": 1}
        changes = ({}, {"seed": 1}, {"stimulus_id": "2"}, {"prompt": "q"}, {"sample": 2})
        assert len({shuffled(tuple("abcdefghi"), **{**base, **change}) for change in changes}) == 5

    @pytest.mark.parametrize("number", [0, 1, 2])
    def test_prompt_contains_the_options_and_letters_for_two_to_four_objects(self, number: int) -> None:
        one = stimulus(number)
        prompt = load_prompts("pilot-1")[0]
        text = prompt.last(Photo(one), 1)[0].text
        order = prompt.options(Photo(one), 1)
        assert lines(order) in text
        assert f"letter {', '.join(letters(order))} directly" in text
        assert len(letters(order)) == len(one.objects)

    def test_order_hint_lists_the_objects_in_the_order_of_the_stimulus(self) -> None:
        one = stimulus(2)
        text = load_prompts("main-5")[0].last(Photo(one), 1)[0].text
        assert "from one end to the other, the objects are: kettle, bunny, tulips, bottle." in text
