"""Test the codes and locations of errors, and how the command line prints them."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest

from spotball_core.error_codes import CODES
from spotball_core.errors import (
    DistributionError,
    InputError,
    MissingExtraError,
    NotEnoughMemoryError,
    OptionError,
    Problem,
    SpotballError,
)
from tests.cli.process import spotball
from tests.conftest import ROOT
from tests.failures import codes, locations
from tests.test_imports import FILES

PROBLEM = Problem("unknown-image", "a.csv", 3, "image", "'7'", "an image of the scenes")
OTHER = Problem("missing-file", "b.csv", None, "file", "no such file", "a file of responses", fix="Check the path")

ERRORS = (
    SpotballError("nothing works"),
    OptionError("found 3, expected 0 to 1", field="--alpha"),
    OptionError("is a file", code="output-exists", file=Path("out"), field="--out"),
    NotEnoughMemoryError("too large"),
    MissingExtraError("figures", "report"),
    InputError([PROBLEM, OTHER]),
)


def test_error_codes_have_explanations_in_alphabetical_order_and_each_is_used_in_the_source() -> None:
    assert list(CODES) == sorted(CODES)
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    # Each section has a cause, an example that ends with the code, and a fix.
    section = r"^## `(.+)`\n\n.+\n\n```\{ \.text \.no-copy \}\nerror: .+ \[(.+)\]\n```\n\n.+$"
    assert re.findall(section, page, re.MULTILINE) == [(code, code) for code in CODES]
    assert page.count("\n## ") == len(CODES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in CODES)
    source = "".join(file.read_text(encoding="utf-8") for file in FILES if file.name != "error_codes.py")
    assert [code for code in CODES if f'"{code}"' not in source] == []


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_pickled_error_keeps_message_code_and_location(error: SpotballError) -> None:
    read = pickle.loads(pickle.dumps(error))
    assert type(read) is type(error)
    assert (str(read), read.to_dict()) == (str(error), error.to_dict())


def test_error_without_an_explicit_code_has_the_code_of_its_class_and_with_codes_appends_it() -> None:
    codes_of_classes = ["failed", "invalid-option", "output-exists", "out-of-memory", "missing-extra", "unknown-image"]
    assert [error.code for error in ERRORS] == codes_of_classes
    assert DistributionError("negative").code == "invalid-distribution"
    assert ERRORS[2].with_codes() == "out: --out: is a file [output-exists]"
    assert ERRORS[0].with_codes() == "nothing works [failed]"


def test_input_error_has_the_location_of_its_first_problem_and_keeps_the_code_of_each_problem() -> None:
    error = InputError([PROBLEM, OTHER])
    assert (error.code, error.file, error.field, error.line) == ("unknown-image", "a.csv", "image", 3)
    assert codes(error.with_codes()) == ["unknown-image", "missing-file"]
    assert {"unknown-image:image:3", "missing-file:file"} <= locations(error)
    assert [problem["code"] for problem in error.to_dict()["problems"]] == ["unknown-image", "missing-file"]
    # Problems with different codes are not merged.
    problems = [Problem(code, "a.csv", 2, "cell", "'x'", "a cell") for code in ("invalid-cell", "invalid-value")]
    assert [problem.code for problem in InputError(problems).problems] == ["invalid-cell", "invalid-value"]


def test_score_command_with_format_json_prints_its_error_as_json(tmp_path: Path) -> None:
    for option in (["--format", "json"], ["--format=json"]):
        done = spotball("score", tmp_path / "none.csv", "--scenes", tmp_path / "scenes.jsonl", *option)
        error = json.loads(done.stdout)["error"]
        assert done.returncode == 2
        assert codes(done.stderr) == [error["code"]] == ["missing-file"]
        assert error["file"] in done.stderr
