"""Test that the Spark and Dask examples of the documentation give the same counts as `spotball count`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from spotball_core.counting.counts import Counts
from spotball_core.counting.counts_file import read_counts_file
from spotball_core.counting.read import read_counts
from tests.builders import scenes
from tests.conftest import ROOT

KNOWN = [*scenes("1", "2"), *scenes("1", sport="basketball")]


def shown(engine: str) -> str:
    page = (ROOT / "docs/how-to/many-machines.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf'```python title="{engine}"\n(.*?)```', page, re.DOTALL)
    return block


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shards = tmp_path / "shards"
    shards.mkdir()
    cells = ["A1", "C2", None, "F10", "nowhere", "C2", "C2"]
    for i in range(3):
        rows = [(*scene.key, f"m{k % 2}", "cot", cells[k % 7]) for scene in KNOWN for k in range(i, 50)]
        columns = ["sport", "image", "respondent", "prompt", "cell"]
        pl.DataFrame(rows, schema=columns, orient="row").write_parquet(shards / f"{i}.parquet")
    return tmp_path


def run(engine: str, folder: Path) -> None:
    command = [sys.executable, "-c", shown(engine)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def local(folder: Path) -> Counts:
    return read_counts(sorted((folder / "shards").iterdir()), KNOWN)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("dask") is None, reason="needs Dask: pip install 'dask[dataframe]'")
def test_dask_example_of_the_documentation_gives_the_same_counts_as_the_local_engine(folder: Path) -> None:
    run("dask", folder)
    assert read_counts_file(folder / "all.counts") == local(folder)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pyspark") is None or not shutil.which("java"), reason="needs pyspark and Java")
def test_spark_example_of_the_documentation_gives_the_same_counts_as_the_local_engine(folder: Path) -> None:
    run("spark", folder)
    (part,) = (folder / "counted").glob("part-*.parquet")
    assert read_counts_file(part.rename(folder / "all.counts")) == local(folder)
