"""Test that studies accept the study.toml tables in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spotball_adapters.study.setup.config import CONFIG, read_config
from spotball_adapters.study.setup.design import load
from tests.adapters.study.made import study
from tests.conftest import ROOT

PAGE = ROOT / "docs/how-to/study-questions.md"
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.startswith(("[[questionnaires]]", "[quiz]"))])
def test_documented_question_tables_are_accepted(tmp_path: Path, block: str) -> None:
    folder = study(tmp_path, images=2)
    with (folder / CONFIG).open("a", encoding="utf-8") as file:
        file.write(block)
    design = load(folder)
    assert design.surveys.questionnaires or design.surveys.quiz


def test_documented_display_table_replaces_the_table_of_init(tmp_path: Path) -> None:
    (block,) = (block for block in BLOCKS if block.startswith("[display]"))
    folder = study(tmp_path, images=2)
    text = (folder / CONFIG).read_text(encoding="utf-8")
    text = re.sub(r"\[display\]\n.*?min_height = 0\n", block, text, flags=re.DOTALL)
    (folder / CONFIG).write_text(text, encoding="utf-8")
    assert read_config(folder).display.min_height == 600
