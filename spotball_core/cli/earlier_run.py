"""Read the earlier run that `spotball report --before` names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from spotball_core.counting.counts import Counts
from spotball_core.errors import OptionError
from spotball_core.io.columns import ReadOptions
from spotball_core.io.dataset import SCENES
from spotball_core.schema.scene import Scene
from spotball_core.scoring.score import load_counts

RECORD = "report.json"


def read_earlier_run(
    paths: Sequence[Path],
    later_scenes: Sequence[Scene],
    *,
    pool: bool,
    strict: bool,
    **options: Unpack[ReadOptions],
) -> tuple[Counts, Sequence[Scene]]:
    """Return the counts and the scenes of an earlier run.

    Args:
        paths: dataset folders, or files of responses.
        later_scenes: the scenes of the later run, which are used if `paths` contains only files.
        pool: see `load_counts`.
        strict: see `load_counts`.
        options: see `load_counts`.

    Raises:
        OptionError: if a path is a report, which does not contain the responses.
        InputError: if files cannot be used.
    """
    for path in paths:
        is_report = path.name == RECORD or ((path / RECORD).is_file() and not (path / SCENES).exists())
        if is_report:
            raise OptionError(
                "a report contains scores, which cannot be paired by image. Give the dataset or the responses "
                "of this report with --before",
                code="wrong-file",
                file=path,
            )
    known = None if any(path.is_dir() for path in paths) else later_scenes
    # Changes are paired by image, not by participant.
    return load_counts(paths, known, participants=False, pool=pool, strict=strict, **options)
