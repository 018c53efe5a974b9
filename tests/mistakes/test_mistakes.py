"""Test that every error message states what is wrong, where, and how to fix it."""

from __future__ import annotations

import importlib.util
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import spotball_core
from spotball_core.errors import SpotballError
from tests.builders import scene
from tests.cli.process import spotball
from tests.failures import codes
from tests.mistakes import asking, calls, making, scoring
from tests.mistakes.folder import TEXTS, prepare
from tests.mistakes.mistake import Mistake

COMMANDS = (*scoring.MISTAKES, *asking.MISTAKES, *making.MISTAKES)
MISTAKES = (*COMMANDS, *calls.MISTAKES)


def rows(mistakes: tuple[Mistake, ...]) -> list[object]:
    """Return the rows as test parameters."""
    return [
        pytest.param(mistake, id=mistake.name, marks=[pytest.mark.slow] if mistake.slow else []) for mistake in mistakes
    ]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("mistakes"))


def check(message: str, mistake: Mistake) -> None:
    """Check that the message contains all three parts of the mistake."""
    flat = " ".join(message.split())
    parts = {"what": mistake.what, "where": mistake.where, "fix": mistake.fix}
    lacking = {part: text for part, text in parts.items() if text not in flat}
    assert lacking == {}, message


@pytest.mark.parametrize("mistake", rows(COMMANDS))
def test_command_with_a_mistake_prints_the_problem_its_place_and_a_fix(
    mistake: Mistake, prepared: Path, tmp_path: Path
) -> None:
    for module in mistake.needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"needs {module}")
    folder = shutil.copytree(prepared, tmp_path / "work")
    for name, content in mistake.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = TEXTS.get(content, content)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    if mistake.before:
        assert spotball(*mistake.before.split(), cwd=folder).returncode == 0
    done = spotball(*mistake.command.split(), env=mistake.env, cwd=folder)
    message = done.stderr if mistake.status == 2 else done.stderr + done.stdout
    check(message, mistake)
    assert done.returncode == mistake.status, message
    assert set(codes(message)) == ({mistake.code} if mistake.code else set())
    assert "Traceback" not in message


@pytest.mark.parametrize("mistake", rows(calls.MISTAKES))
def test_python_call_with_a_mistake_raises_an_error_with_the_problem_its_place_and_a_fix(mistake: Mistake) -> None:
    guesses = np.full(60, 1 / 60)
    names = {"spotball": spotball_core, "np": np, "guesses": guesses, "grid": spotball_core.Grid.standard()}
    row = {"image": "1", "cell": "D5"}
    with pytest.raises((SpotballError, AttributeError, ValueError)) as raised:
        eval(mistake.command, {**names, "scene": scene("1"), "row": row})
    check(str(raised.value), mistake)
    assert getattr(raised.value, "code", "") == mistake.code


def test_tables_list_at_least_98_complete_mistakes_without_duplicates() -> None:
    assert len(MISTAKES) >= 98
    assert [name for name, n in Counter(mistake.name for mistake in MISTAKES).items() if n > 1] == []
    assert [name for name, n in Counter((one.command, *one.files.items()) for one in MISTAKES).items() if n > 1] == []
    assert [mistake.name for mistake in MISTAKES if not (mistake.what and mistake.where and mistake.fix)] == []
