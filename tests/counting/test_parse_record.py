"""Test the parse policy recorded next to a response file, and how it appears in signatures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from spotball_core.counting.counts import Counts
from spotball_core.counting.counts_file import read_counts_file, write_counts
from spotball_core.counting.parse_record import read_parse_policies, write_parse_policy
from spotball_core.errors import InputError
from spotball_core.scoring.score import load_counts, score
from spotball_core.synthetic.scenes import synthetic_scenes
from tests.builders import write_jsonl
from tests.failures import raises

SCENES = synthetic_scenes(3)


def responses(folder: Path, respondent: str, policy: str | None) -> Path:
    rows = [{"sport": s.sport, "image": s.image, "respondent": respondent, "cell": "D4"} for s in SCENES]
    path = write_jsonl(folder / f"{respondent}.jsonl", rows)
    if policy:
        write_parse_policy(path, policy)
    return path


def test_score_signature_contains_the_known_parse_policies_of_all_files(tmp_path: Path) -> None:
    strict, lenient = responses(tmp_path, "a", "strict"), responses(tmp_path, "b", "lenient")
    unknown = responses(tmp_path, "c", None)

    def end(*paths: Path) -> str:
        return score(paths, SCENES, bootstrap=0).signature.rpartition("|")[2]

    assert end(unknown) == "seed:0"
    assert end(strict, unknown) == "parse:strict"
    assert end(strict, lenient, unknown) == "parse:lenient,strict"
    assert score([lenient], SCENES, bootstrap=0).provenance.parse_policies == ("lenient",)


def test_counts_files_keep_the_parse_policies(tmp_path: Path) -> None:
    counts, _ = load_counts([responses(tmp_path, "a", "strict")], SCENES, participants=False)
    other, _ = load_counts([responses(tmp_path, "b", "lenient")], SCENES, participants=True)
    for part in (counts, other):
        write_counts(part, tmp_path / "part.counts")
        assert read_counts_file(tmp_path / "part.counts").parse_policies == part.parse_policies
    assert other.pooled().parse_policies == {"lenient"}
    both = counts + other.pooled()
    write_counts(both, tmp_path / "both.counts")
    again, _ = load_counts([tmp_path / "both.counts"], SCENES, participants=True)
    assert again.parse_policies == {"lenient", "strict"}
    unknown, _ = load_counts([responses(tmp_path, "c", None)], SCENES, participants=False)
    write_counts(unknown, tmp_path / "c.counts")
    assert "parse_policies" not in pl.read_parquet(tmp_path / "c.counts").columns
    # Counts with different parse policies are equal.
    assert unknown == Counts(unknown.rows, unknown.cols, unknown.table, frozenset({"strict"}))


def test_read_parse_policies_skips_files_without_a_record(tmp_path: Path) -> None:
    paths = [responses(tmp_path, "a", None), responses(tmp_path, "b", "strict")]
    assert read_parse_policies(paths) == {"strict"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *((text, "None") for text in ("", "strict", "[]", "{}")),
        ('{"parse_policy": "loose"}', "'loose'"),
        ('{"parse_policy": ["strict"]}', "['strict']"),
    ],
)
def test_read_parse_policies_with_an_invalid_record_is_an_error(tmp_path: Path, text: str, found: str) -> None:
    path = responses(tmp_path, "a", None)
    (tmp_path / "parsing.a.json").write_text(text)
    with raises(InputError, "invalid-value:parse_policy") as error:
        read_parse_policies([path])
    (problem,) = error.value.problems
    assert (problem.file, problem.found) == (f"{tmp_path}/parsing.a.json", found)
