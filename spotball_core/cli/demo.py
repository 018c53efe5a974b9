"""`spotball demo`: create synthetic scenes, score simulated respondents and baselines on them, and draw pictures."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.cli.console import teller
from spotball_core.cli.options import Bootstrap, Debug, OutFolder, Quiet, Seed
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.schema.report import ScoreReport
    from spotball_core.schema.response import Kind
    from spotball_core.schema.scene import Scene

N_SCENES, SAMPLES, N_PEOPLE, REFERENCE = 60, 50, 25, "simulated-people"
SIMULATED: dict[str, tuple[Kind, dict[str, float]]] = {
    REFERENCE: ("human", {"oracle": 0.22, "nearest-player": 0.5, "center": 0.18, "uniform": 0.1}),
    "simulated-model": ("model", {"oracle": 0.08, "nearest-player": 0.22, "center": 0.55, "uniform": 0.15}),
}
"""The simulated respondents, each with its kind and the shares of its guesses that follow each baseline."""

BASELINES = ("uniform", "center", "nearest-player", "prior", "oracle")
"""Baselines that give different responses without keypoints."""

SYNTHETIC = (
    "Everything here is synthetic: the scenes, and the guesses of simulated people, a simulated model and baselines. "
    "It says nothing about people or models."
)
"""Label of the demo. A folder whose README.txt starts with this line is a demo folder."""

_README = f"""{SYNTHETIC}

Made by `spotball demo`, which overwrites these files when it runs again:
scenes.jsonl               {N_SCENES} scenes of three synthetic sports
images/                    a picture of each scene
responses-simulated.jsonl  {SAMPLES} answers of simulated people, and of a simulated model, to each scene
responses-baselines.jsonl  {SAMPLES} answers of each baseline to each scene
report.json                their scores
guess-maps.png             the distribution of their guesses
accuracy.png               their accuracy
"""


def demo(
    out: OutFolder = Path("spotball-demo"),
    seed: Seed = 0,
    bootstrap: Bootstrap = 1000,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Create synthetic scenes, score simulated people, a simulated model and baselines. Needs no network, GPU or key.

    Example: `spotball demo --out spotball-demo`
    """
    from spotball_core.baselines import baseline_responses
    from spotball_core.io.frames import write_responses
    from spotball_core.io.scenes import write_scenes
    from spotball_core.scoring.score import score
    from spotball_core.scoring.summary import to_summary
    from spotball_core.synthetic.pictures import write_scene_pictures
    from spotball_core.synthetic.scenes import synthetic_scenes

    tell = teller(quiet)
    _claim(out)
    tell(SYNTHETIC)
    scenes = synthetic_scenes(N_SCENES, seed=seed)
    try:
        scenes = write_scene_pictures(scenes, out)
    except MissingExtraError:
        # Scenes can be scored without images. Images of an earlier demo may belong to other scenes.
        shutil.rmtree(out / "images", ignore_errors=True)
    write_scenes(scenes, out / "scenes.jsonl")
    tell(f"{out / 'scenes.jsonl'}: {len(scenes)} scenes")
    files = {
        out / "responses-simulated.jsonl": _simulated(scenes, seed),
        out / "responses-baselines.jsonl": baseline_responses(scenes, BASELINES, samples=SAMPLES, seed=seed),
    }
    for responses, rows in files.items():
        write_responses(rows, responses)
        names = rows["respondent"].unique(maintain_order=True)
        tell(f"{responses}: {plural(len(rows), 'answer')} of {', '.join(names)}")
    report = score(list(files), scenes, reference=REFERENCE, bootstrap=bootstrap, seed=seed)
    _write(report.model_dump_json(indent=1) + "\n", out / "report.json")
    show(to_summary(report, to_terminal=True), end="", styled=True)
    try:
        pictures = _draw(report, list(files), scenes, out)
    except MissingExtraError as error:
        tell(f"no pictures were drawn: {error}")
    else:
        tell(f"wrote {' and '.join(map(str, pictures))}")
    values = {"bootstrap": (bootstrap, 1000), "seed": (seed, 0)}
    options = "".join(f" --{name} {value}" for name, (value, default) in values.items() if value != default)
    folder, file = shlex.quote(str(out)), shlex.quote(str(out / "scenes.jsonl"))
    tell("Next, score the files again, or your own predictions for these scenes:")
    tell(f"  spotball score {folder} --reference {REFERENCE}{options}")
    tell(f"  spotball score YOUR.csv --scenes {file}")


def _simulated(scenes: Sequence[Scene], seed: int) -> pl.DataFrame:
    """Return answers of the simulated respondents; each participant gives the same number of answers to each scene."""
    import numpy as np
    import polars as pl

    from spotball_core.baselines import baseline_distributions, drawn_responses

    distributions = {
        name: np.sum([share * baseline_distributions(of, scenes) for of, share in shares.items()], axis=0)
        for name, (_, shares) in SIMULATED.items()
    }
    kinds = {name: kind for name, (kind, _) in SIMULATED.items()}
    person = pl.format("p{}", (pl.col("sample") - 1) % N_PEOPLE + 1)
    return drawn_responses(distributions, scenes, samples=SAMPLES, seed=seed).with_columns(
        kind=pl.col("respondent").replace_strict(kinds),
        participant=pl.when(pl.col("respondent") == REFERENCE).then(person),
    )


def _claim(out: Path) -> None:
    """Create the folder, or reuse that of an earlier demo; raise OptionError if it contains other files."""
    readme = out / "README.txt"
    if out.exists() and not out.is_dir():
        raise OptionError(f"{out} is a file. Use a folder", code="output-exists", field="--out")
    is_demo = readme.is_file() and readme.read_text(encoding="utf-8", errors="replace").startswith(SYNTHETIC)
    if out.is_dir() and any(out.iterdir()) and not is_demo:
        raise OptionError(
            f"{out} is not empty and is not an earlier demo. Use another folder", code="output-exists", field="--out"
        )
    _write(_README, readme)


def _write(text: str, path: Path) -> None:
    from spotball_core.service.files import replacing

    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def _draw(report: ScoreReport, files: Sequence[Path], scenes: tuple[Scene, ...], out: Path) -> tuple[Path, ...]:
    from spotball_core.counting.read import read_counts
    from spotball_core.plots.accuracy_chart import accuracy_chart
    from spotball_core.plots.guess_maps import guess_maps, guesses_by_respondent, truth_by_sport
    from spotball_core.plots.theme import save_figure

    pictures = out / "guess-maps.png", out / "accuracy.png"
    for picture in pictures:
        # Delete pictures of an earlier run, because drawing can fail in this run.
        picture.unlink(missing_ok=True)
    by_sport = guesses_by_respondent(read_counts(files, scenes), scenes)
    ordered = {sport: {name: guesses[name] for name in (*SIMULATED, *BASELINES)} for sport, guesses in by_sport.items()}
    truth = truth_by_sport(scenes)
    maps = guess_maps(ordered, truth, scenes[0].layout, note=report.signature)
    save_figure(maps, pictures[0])
    save_figure(accuracy_chart(report), pictures[1])
    return pictures
