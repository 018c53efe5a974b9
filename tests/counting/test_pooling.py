"""Test a respondent in several files: shards are merged, and separate studies are an error without --pool."""

from __future__ import annotations

import itertools
import operator
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.counting.counts_file import write_counts
from spotball_core.counting.engines.pieces import FilePiece, Gathered, count_piece
from spotball_core.counting.pooling import check_counts, nameless
from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError, Problem
from spotball_core.scoring.score import score
from tests.builders import dataset, scene, scenes, write_csv, write_jsonl, write_parquet
from tests.cli.process import spotball
from tests.conftest import examples
from tests.failures import codes, raises

Row = dict[str, Any]
KNOWN = [*scenes("1", "2", "3"), scene("9", "basketball")]
HUMAN: Row = {"respondent": "human", "cell": "D5"}
TWICE = ("duplicate", "respondent")


def study(people: str, images: str = "12") -> list[Row]:
    """Return two clicks per person and image."""
    clicks = itertools.product(people, images, (1, 2))
    return [{**HUMAN, "image": image, "participant": person, "sample": sample} for person, image, sample in clicks]


def refused(paths: list[Path], **options: Any) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as error:
        read_counts(paths, KNOWN, **options)
    assert read_counts(paths, KNOWN, pool=True, **options).n_answers > 0
    return error.value.problems


def named(problem: Problem, other: str | Path) -> tuple[str, ...]:
    """Return the code, field and file of a problem whose text names `other`, and all other names and numbers in it."""
    before, after = problem.found.split(str(other))
    found = re.findall(r"'[^']+'|\w+/\d+|\d+", before + after)
    return problem.code, problem.field, problem.file, *found


class TestErrorsWithoutPool:
    @pytest.mark.parametrize("participants", [True, False])
    def test_respondent_in_two_studies_is_an_error_without_pool(self, tmp_path: Path, participants: bool) -> None:
        paths = [write_jsonl(tmp_path / "human.jsonl", study("ab")), write_csv(tmp_path / "study.csv", study("cd"))]
        (problem,) = refused(paths, participants=participants)
        assert named(problem, paths[0]) == (*TWICE, str(paths[1]), "'human'", "'base'", "soccer/1", "1")

    def test_respondent_in_two_dataset_folders_is_an_error_without_pool(self, tmp_path: Path) -> None:
        folders = [dataset(tmp_path / people, KNOWN, human=study(people)) for people in ("ab", "cd")]
        with raises(InputError, "duplicate:respondent"):
            score(folders, bootstrap=0)
        assert score(folders, bootstrap=0, pool=True).groups[0].n_responses == 16

    def test_respondent_in_two_files_of_which_one_has_no_sample_numbers_is_an_error_without_pool(
        self, tmp_path: Path
    ) -> None:
        paths = [write_csv(tmp_path / f"{name}.csv", [{**HUMAN, "image": "1"}]) for name in "ab"]
        (problem,) = refused(paths)
        assert named(problem, paths[0]) == (*TWICE, str(paths[1]), "'human'", "'base'", "soccer/1")
        write_csv(paths[0], [{**HUMAN, "image": "1", "sample": 1}])
        refused(paths)

    def test_each_respondent_in_several_files_is_reported_once(self, tmp_path: Path) -> None:
        rows = [*study("ab"), {"respondent": "m", "image": "3", "cell": "D5"}]
        paths = [write_jsonl(tmp_path / f"{name}.jsonl", rows) for name in "abc"]
        for number, path in enumerate(paths):
            write_jsonl(path, [{**row, "participant": f"{number}{row.get('participant')}"} for row in rows])
        assert [named(problem, paths[0])[3] for problem in refused(paths)] == ["'human'", "'m'"]

    def test_files_of_a_folder_with_equal_stems_and_no_respondents_are_an_error_without_pool(
        self, tmp_path: Path
    ) -> None:
        # These may be the same responses, exported twice.
        folder = dataset(tmp_path / "set", KNOWN, m=[{"image": "1", "cell": "D5"}])
        write_csv(folder / "responses-m.csv", [{"image": "1", "cell": "D5"}])
        with raises(InputError, "duplicate:respondent"):
            score(folder, bootstrap=0)

    def test_respondent_in_a_counts_file_and_a_response_file_is_an_error_without_pool(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "human.jsonl", study("ab"))
        write_counts(read_counts(path, KNOWN), tmp_path / "human.counts")
        other = write_jsonl(tmp_path / "study.jsonl", study("cd", "23"))
        with pytest.raises(InputError) as error:
            score([tmp_path / "human.counts", other], KNOWN, bootstrap=0)
        (problem,) = error.value.problems
        assert named(problem, other) == (*TWICE, f"{tmp_path}/human.counts", "'human'", "'base'", "soccer/2")
        assert score([tmp_path / "human.counts", other], KNOWN, bootstrap=0, pool=True).groups[0].n_responses == 16

    def test_check_counts_reports_each_respondent_and_prompt_with_its_first_image(self, tmp_path: Path) -> None:
        """Check that the error names the first image per respondent and prompt, and the first three files."""
        answer = {"respondent": "m", "cell": "D5"}
        both = [{**answer, "image": image, "prompt": prompt} for prompt in ("cot", "base") for image in "329"]
        others = [write_csv(tmp_path / f"{name}.csv", [{**answer, "image": "1"}]) for name in "abcd"]
        counted = read_counts(write_csv(tmp_path / "m.csv", [*both, {**answer, "image": "1", "prompt": "x"}]), KNOWN)
        rows = read_counts(write_csv(tmp_path / "n.csv", both), KNOWN)
        with pytest.raises(InputError) as error:
            check_counts(rows, counted, others, others[:3])
        names = ", ".join(map(str, others[:3]))
        assert [named(problem, f"{names}, ...") for problem in error.value.problems] == [
            (*TWICE, names, "'m'", f"'{prompt}'", "basketball/9", "2") for prompt in ("base", "cot")
        ]


def test_nameless_selects_rows_without_respondent_and_sample() -> None:
    groups = pl.DataFrame({"respondent": [None, " ", "m", None], "n": [1, 2, 1, 2], "samples": [None, 1, 0, 2]})
    assert groups.select(nameless(groups.columns)).to_series().to_list() == [True, True, False, False]
    assert groups.select(nameless(["n"])).to_series().to_list() == [True] * 4


class TestMerged:
    def test_score_of_a_folder_equals_score_of_the_paths_of_its_files(self, tmp_path: Path) -> None:
        folder = dataset(tmp_path / "set", KNOWN, one=study("ab"), two=study("cd"))
        files = sorted(folder.glob("responses*"))
        assert score(folder, bootstrap=0) == score(files, KNOWN, bootstrap=0)

    def test_shards_with_different_sample_numbers_are_merged(self, tmp_path: Path) -> None:
        rows = [{"respondent": "m", "image": "1", "sample": i, "cell": "D5"} for i in (1, 2, 3, 4, 5, 7, 9)]
        for order in (rows, rows[::-1], rows[::2] + rows[1::2]):
            paths = [write_parquet(tmp_path / "a.parquet", order[:3]), write_csv(tmp_path / "b.csv", order[3:])]
            assert read_counts(paths, KNOWN).n_answers == 7

    @pytest.mark.parametrize(
        "other", [{"image": "2"}, {"image": "9"}, {"prompt": "cot"}, {"respondent": "us"}], ids=str
    )
    def test_files_with_different_images_prompts_or_respondents_are_merged(self, tmp_path: Path, other: Row) -> None:
        paths = [write_csv(tmp_path / "a.csv", study("ab", "1")), tmp_path / "b.csv"]
        write_csv(paths[1], [{**row, **other} for row in study("cd", "1")])
        assert read_counts(paths, KNOWN).n_answers == 8

    def test_numbered_model_shards_without_sample_numbers_are_merged(self, tmp_path: Path) -> None:
        row = {"respondent": "m", "image": "1", "cell": "D5"}
        paths = [write_parquet(tmp_path / f"part-{i:05}.parquet", [row] * 3) for i in range(12)]
        assert read_counts(paths, KNOWN).n_answers == 36
        # Numbered human studies are separate studies, and equal numbers in different folders are different sources.
        refused([write_csv(tmp_path / f"study{i}.csv", [{**HUMAN, "image": "1"}]) for i in (1, 2)])
        (tmp_path / "run2").mkdir()
        refused([paths[0], write_parquet(tmp_path / "run2" / "part-00000.parquet", [row])])

    def test_counts_files_of_shards_are_merged(self, tmp_path: Path) -> None:
        for name, people in (("a", "ab"), ("b", "cd")):
            counts = read_counts(write_jsonl(tmp_path / f"{name}.jsonl", study(people)), KNOWN, participants=True)
            write_counts(counts, tmp_path / f"{name}.counts")
        counted = [tmp_path / "a.counts", tmp_path / "b.counts"]
        assert score(counted, KNOWN, bootstrap=0).groups[0].n_responses == 16
        models = write_jsonl(tmp_path / "m.jsonl", [{"image": "1", "cell": "D5"}])
        assert len(score([*counted, models], KNOWN, bootstrap=0).groups) == 2


rows = st.fixed_dictionaries(
    {
        "image": st.sampled_from("12"),
        "respondent": st.sampled_from(["a", "human"]),
        "participant": st.sampled_from([None, "p", "q"]),
        "sample": st.none() | st.integers(1, 3),
        "cell": st.just("D5"),
    }
)

names = st.sampled_from(["x1", "x20", "y", "responses-x", "responses-y"])
identity = operator.itemgetter("respondent", "image", "participant", "sample")


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.lists(st.tuples(names, rows), min_size=1, max_size=10))
def test_pooling_errors_of_whole_files_and_of_pieces_agree_with_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, Row]]
) -> None:
    # Remove repeated samples, because they raise a different error.
    unique = {identity(row) if row["sample"] else object(): (name, row) for name, row in drawn}.values()
    folder = tmp_path_factory.mktemp("pool")
    files = {name: [row for other, row in unique if other == name] for name, _ in unique}
    paths = [write_jsonl(folder / f"{name}.jsonl", some) for name, some in files.items()]
    refuse = False
    for (one, mine), (other, theirs) in itertools.combinations(unique, 2):
        same = one == other or (one.startswith("responses") and other.startswith("responses"))
        same |= one[0] == other[0] == "x" and mine["respondent"] == theirs["respondent"] == "a"
        about_one = (mine["respondent"], mine["image"]) == (theirs["respondent"], theirs["image"])
        apart = mine["sample"] and theirs["sample"] and mine["sample"] != theirs["sample"]
        refuse |= about_one and not same and not apart
    together = Gathered(6, 10)
    for path in paths:
        together.add(count_piece(FilePiece(str(path)), KNOWN, participants=False))
    if refuse:
        for count in (read_counts, together.settled):
            with raises(InputError, "duplicate:respondent"):
                count(paths, KNOWN, participants=False)
        assert together.settled(paths, KNOWN, participants=False, pool=True) == read_counts(paths, KNOWN, pool=True)
    else:
        assert together.settled(paths, KNOWN, participants=False) == read_counts(paths, KNOWN)


@pytest.mark.slow
def test_every_command_with_a_respondent_in_two_studies_fails_without_the_pool_option(tmp_path: Path) -> None:
    known = dataset(tmp_path / "set", KNOWN) / "scenes.jsonl"
    files = {"human": study("ab"), "study": study("cd"), "m": [{"image": image, "cell": "D5"} for image in "12"]}
    paths = [write_jsonl(tmp_path / f"{name}.jsonl", some) for name, some in files.items()]
    commands = (
        ("score", "--bootstrap", "0"),
        ("count", "--out", tmp_path / "all.counts"),
        ("compare", "--a", "human", "--b", "m", "--bootstrap", "0", "--permutations", "9"),
        ("report", "--out", tmp_path / "page", "--bootstrap", "0"),
    )
    for command, *options in commands:
        done = spotball(command, *paths, "--scenes", known, *options)
        assert (done.returncode, codes(done.stderr)) == (2, ["duplicate"])
        assert spotball(command, *paths, "--scenes", known, *options, "--pool").returncode == 0
