"""Claim: counting 10 million responses in a CSV, JSON Lines or Parquet file takes at most 1.5 times as long as
computing the same counts with Polars (scan and group-by). For files with only the columns that counts need, it is at
least 120 times as fast as reading row by row with pandas.

`read_counts` also checks each record, image and response. If the file numbers its samples, it checks that no sample
occurs twice. Polars does not check this, and does not even read this column from Parquet. Polars is therefore also
timed with the same check, which is a second group-by over samples. All methods read each format twice: without samples,
and with all columns of responses. The files are still in the operating system's memory. pandas reads 100,000 rows in a
loop, as in the published analysis, and its time is extrapolated.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import polars as pl
from measure import figure, in_turn
from responses import BARE, FULL, scenes, write

from spotball_core.counting.counts import Counts
from spotball_core.counting.read import read_counts
from spotball_core.io.frames import KEYS

ROWS = 10_000_000
SLICE = 100_000
ROUNDS = {".csv": 7, ".jsonl": 7, ".parquet": 25}
"""Rounds by format. Shorter times need more rounds, because other load affects them more."""
FORMATS = {".csv": "CSV", ".jsonl": "JSON Lines", ".parquet": "Parquet"}
SETS = {"": BARE, " with samples": FULL}
SCENES = scenes()


def scanned(path: Path) -> pl.LazyFrame:
    """Return a file as a lazy Polars frame, as a user would scan it."""
    scan = {".csv": pl.scan_csv, ".jsonl": pl.scan_ndjson, ".parquet": pl.scan_parquet}[path.suffix]
    return scan(path, **({"infer_schema": False} if path.suffix == ".csv" else {}))


def by_polars(path: Path) -> pl.DataFrame:
    """Count with the group-by that a user would write."""
    rows = scanned(path)
    keys = [key for key in (*KEYS, "cell") if key in rows.collect_schema()]
    return rows.group_by(keys).agg(n=pl.len()).collect(engine="streaming")


def by_polars_checked(path: Path) -> pl.DataFrame:
    """Count in the same way after checking for repeated samples."""
    samples = scanned(path).group_by(*KEYS, "sample", "participant").agg(n=pl.len())
    if len(samples.filter(pl.col("n") > 1).collect(engine="streaming")):
        raise SystemExit("a sample is there twice")
    return by_polars(path)


def by_pandas(path: Path) -> Counter[tuple[str | None, ...]]:
    """Count row by row, like the published analysis."""
    import pandas as pd

    counts: Counter[tuple[str | None, ...]] = Counter()
    if path.suffix == ".csv":
        rows = pd.read_csv(path, dtype=str)
    else:
        rows = pd.read_json(path, lines=True, dtype=False) if path.suffix == ".jsonl" else pd.read_parquet(path)
    for _, row in rows.iterrows():
        cell = row["cell"] if isinstance(row["cell"], str) else None
        counts[row["sport"], row["image"], row["respondent"], row["prompt"], cell] += 1
    return counts


def by_us(path: Path) -> Counts:
    return read_counts(path, SCENES)


def check_same(ours: Counts, theirs: pl.DataFrame) -> None:
    """Exit with an error unless both have the same counts."""
    labels = dict(enumerate(SCENES[0].layout.labels))
    keys = ["sport", "image", "respondent", "prompt", "cell"]
    named = ours.table.with_columns(pl.col("cell").replace_strict(labels, default=None, return_dtype=pl.String))
    one, other = (table.select(*keys, pl.col("n").cast(pl.Int64)).sort(keys) for table in (named, theirs))
    if not one.equals(other):
        raise SystemExit("counts differ")


def main() -> None:
    """Print the ratios for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="responses in each file")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        for ending, name in FORMATS.items():
            for what, columns in SETS.items():
                sliced, path = Path(folder, f"first{ending}"), Path(folder, f"responses{ending}")
                write(sliced, min(rows, SLICE), columns)
                by_row = in_turn({"pandas": lambda p=sliced: by_pandas(p)}, 1)["pandas"] / min(rows, SLICE)
                write(path, rows, columns)
                check_same(by_us(path), by_polars(path))
                times = in_turn(
                    {"ours": lambda p=path: by_us(p), "polars": lambda p=path: by_polars(p)}, ROUNDS[ending]
                )
                size = path.stat().st_size / 1e6
                said = f"{times['ours']:.2f} s; Polars: {times['polars']:.2f} s; {rows:,} rows, {size:.0f} MB"
                figure(
                    f"{name}{what}: time relative to Polars",
                    times["ours"] / times["polars"],
                    "times",
                    below=1.5,
                    note=said,
                )
                if columns is FULL:
                    checked = in_turn({"polars": lambda p=path: by_polars_checked(p)}, 1)["polars"]
                    said = f"Polars: {checked:.2f} s"
                    figure(
                        f"{name}{what}: speed relative to Polars with the same check",
                        checked / times["ours"],
                        "times",
                        note=said,
                    )
                faster = by_row * rows / times["ours"]
                alone = by_row * rows / times["polars"]
                said = f"pandas: {1 / by_row:,.0f} rows/s; Polars is {alone:.0f} times as fast as pandas"
                goal = 120 if columns is BARE else None
                figure(f"{name}{what}: speed relative to pandas row by row", faster, "times", at_least=goal, note=said)
                path.unlink()


if __name__ == "__main__":
    main()
