"""Test that files with an excessive unpacked size are rejected before they are unpacked."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import polars as pl
import pytest

from spotball_core.counting.counts_file import read_counts_file
from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError
from spotball_core.service import unpacked_size
from spotball_core.service.unpacked_size import check_parquet_size, check_zip_size
from tests.builders import scene
from tests.failures import raises

ROWS = 500_000


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the limit to one megabyte, so that test files are small."""
    monkeypatch.setattr(unpacked_size, "MOST_BYTES", 10**6)


def bomb(path: Path) -> Path:
    zeros = pl.zeros(ROWS, pl.Float64, eager=True)
    pl.DataFrame({"image": "1", "cell": "D5", "padding": zeros}).write_parquet(path, row_group_size=ROWS)
    return path


@pytest.mark.usefixtures("limited")
class TestParquet:
    def test_row_groups_of_an_uncompressed_file_sum_to_the_size_of_the_columns(self, tmp_path: Path) -> None:
        numbers = pl.DataFrame({"x": [random.Random(i).random() for i in range(30_000)], "y": [1.5] * 30_000})
        numbers.write_parquet(tmp_path / "a.parquet", row_group_size=10_000, compression="uncompressed")
        groups = unpacked_size._row_groups(tmp_path / "a.parquet")
        assert len(groups) == 3
        assert all(unpacked == packed for unpacked, packed in groups)
        assert sum(unpacked for unpacked, _ in groups) == pytest.approx(2 * 30_000 * 8, rel=0.01)

    def test_file_that_unpacks_to_too_many_bytes_or_has_a_long_footer_raises_input_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = bomb(tmp_path / "responses.parquet")
        with raises(InputError, "wrong-file:file"):
            read_counts(path, [scene("1")])
        with raises(InputError, "wrong-file:file"):
            read_counts_file(path.rename(tmp_path / "a.counts"))
        monkeypatch.setattr(unpacked_size, "_LONGEST_FOOTER", 50)
        with raises(InputError, "too-large:file"):
            check_parquet_size(tmp_path / "a.counts")

    def test_file_above_the_size_limit_with_little_compression_is_read(self, tmp_path: Path) -> None:
        draw = random.Random(0)
        frame = pl.DataFrame({"image": "1", "cell": "D5", "padding": [draw.random() for _ in range(200_000)]})
        frame.write_parquet(tmp_path / "a.parquet")
        assert (tmp_path / "a.parquet").stat().st_size > 10**6
        assert read_counts(tmp_path / "a.parquet", [scene("1")]).table["n"].sum() == 200_000

    def test_check_parquet_size_of_a_damaged_footer_raises_no_error_other_than_input_error(
        self, tmp_path: Path
    ) -> None:
        whole = bomb(tmp_path / "a.parquet").read_bytes()
        draw = random.Random(1)
        refused = 0
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(draw.randint(1, 8)):
                data[draw.randrange(len(data) - 600, len(data))] = draw.randrange(256)
            (tmp_path / "b.parquet").write_bytes(data[: draw.choice([None, -1, -9])])
            try:
                check_parquet_size(tmp_path / "b.parquet")
            except InputError:
                refused += 1
        assert 0 < refused < 300

    @pytest.mark.parametrize(
        "content", [b"", b"PAR1", b"\xff\xff\xff\x7fPAR1", b"\x19\xf9" * 500 + b"\xe8\x03\0\0PAR1"]
    )
    def test_check_parquet_size_passes_a_file_without_a_valid_footer(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.parquet").write_bytes(b"PAR1" + content)
        check_parquet_size(tmp_path / "a.parquet")


@pytest.mark.usefixtures("limited")
def test_check_zip_size_rejects_a_zip_that_unpacks_to_too_many_bytes_and_passes_other_files(tmp_path: Path) -> None:
    contents = {"large.eval": bytes(3 * 10**6), "a.eval": random.Random(0).randbytes(3 * 10**6)}
    for name, content in contents.items():
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("header.json", content)
    with raises(InputError, "wrong-file:file"):
        check_zip_size(tmp_path / "large.eval")
    (tmp_path / "b.eval").write_bytes(b"PK\x03\x04 no zip file")
    for name in ("a.eval", "b.eval"):
        check_zip_size(tmp_path / name)
