"""A study for a dataset, as a study.toml to read and to change."""

from __future__ import annotations

import csv
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from spotball_adapters.study.config import CONFIG, ListConfig, StudyConfig, read_config
from spotball_core.baselines import generator_for
from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.files import replacing
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene

EXPLANATIONS = 10
"""Images that the paper's participants were asked to explain."""

PRACTICE = 3
"""Practice items of the gaze study."""

TO_FILL_IN = "NAME, INSTITUTION, EMAIL"
"""What stands in the texts for what only the researcher knows."""

_EXAMPLE = ("images/example-with-ball", "images/example-without-ball")
"""Where a dataset has its example pair, without the ending."""


def init_study(
    dataset: Path,
    out: Path,
    *,
    sports: Sequence[str] = (),
    images: int | None = None,
    seed: int = 0,
    task: Literal["clicks", "choice"] = "clicks",
) -> StudyConfig:
    """Write OUT/study.toml for a dataset.

    For clicks, each sport is a list: its images, its controls as checks, and as practice an image that is not in the
    list; where none is left, a check, which tells nothing new. For choices, lists are those of the file of stimuli.

    Args:
        sports: only these; all if empty.
        images: how many of a sport, drawn at random; all if None.
        seed: of what is drawn here, and of the study.

    Raises:
        OptionError: for a study that is there already, a sport that is not, or more images than there are.
        InputError: for a dataset that cannot be used.
    """
    if (out / CONFIG).exists():
        raise OptionError(f"{out / CONFIG} is there already; name another folder with --out")
    if task == "clicks":
        lists, extra = _lists_of_scenes(dataset, sports, images, seed), ""
    else:
        if sports or images:
            raise OptionError("--sport and --images are for clicks; lists of choices are those of the stimuli")
        stimuli = _stimuli_file(dataset)
        lists, extra = _lists_of_stimuli(stimuli), _CHOICE.format(stimuli=json.dumps(stimuli.name))
    explanations = min(EXPLANATIONS, *(len(one.images) for one in lists)) if task == "clicks" else 0
    shown = max(len(one.images) + len(one.checks) for one in lists)
    text = files("spotball_adapters.study").joinpath("study.toml.in").read_text(encoding="utf-8")
    for name, value in {
        "dataset": json.dumps(Path(os.path.relpath(dataset, out)).as_posix()),
        "task": json.dumps(task),
        "seed": str(seed),
        "explanations": str(explanations),
        "choice": extra,
        "lists": "\n".join(map(_list_text, lists)),
        "example": _example_text(dataset) if task == "clicks" else "",
        "shown": str(shown),
        "instructions": (_INSTRUCTIONS if task == "clicks" else _CHOICE_INSTRUCTIONS).format(shown=shown),
        "to_fill_in": TO_FILL_IN,
    }.items():
        text = text.replace(f"@{name}@", value)
    with replacing(out / CONFIG) as beside:
        beside.write_text(text, encoding="utf-8")
    return read_config(out)


def _lists_of_scenes(dataset: Path, sports: Sequence[str], images: int | None, seed: int) -> list[ListConfig]:
    by_sport: defaultdict[str, list[Scene]] = defaultdict(list)
    for scene in read_scenes(dataset / SCENES):
        if scene.path is not None:
            by_sport[scene.sport].append(scene)
    if missing := [sport for sport in sports if sport not in by_sport]:
        known = ", ".join(sorted(by_sport)) or "none with images"
        raise OptionError(f"--sport: there is no {', '.join(missing)} in {dataset}; there are {known}")
    if not by_sport:
        wanted = "scenes with images"
        raise InputError([Problem(str(dataset / SCENES), None, "path", "no path of an image", wanted)])
    return [_list_of(sport, by_sport[sport], images, seed) for sport in sports or sorted(by_sport)]


def _list_of(sport: str, scenes: Iterable[Scene], images: int | None, seed: int) -> ListConfig:
    known = list(scenes)
    checks = [scene.image for scene in known if scene.control and scene.ball_cells]
    tests = [scene for scene in known if not scene.control]
    if images is not None and not 1 <= images <= len(tests):
        raise OptionError(f"--images: {images} of {sport}, which has {len(tests)}")
    order = generator_for(seed, "images", sport).permutation(len(tests))
    chosen = sorted(order[: images or len(tests)].tolist())
    outside = [tests[i].image for i in order[len(chosen) :] if tests[i].ball_cells]
    listed = [tests[i].image for i in chosen]
    practice = (outside or checks)[:1]
    if not listed:
        raise OptionError(f"{sport} has no image whose ball is removed")
    return ListConfig(
        name=sport, sport=sport, images=tuple(listed), checks=tuple(checks[: len(listed)]), practice=tuple(practice)
    )


def _stimuli_file(dataset: Path) -> Path:
    found = sorted(dataset.glob("stimuli*.csv"))
    if not found:
        raise InputError(
            [Problem(str(dataset), None, "folder", "no stimuli*.csv", "the stimuli of a study of choices")]
        )
    return found[0]


def _lists_of_stimuli(path: Path) -> list[ListConfig]:
    """By the column list_id; -1 are checks, of which the first three are practice, too."""
    by_list: defaultdict[int, list[str]] = defaultdict(list)
    with path.open(encoding="utf-8-sig", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            try:
                by_list[int(row.get("list_id") or 0)].append(row["Stimulus_ID"])
            except (KeyError, ValueError) as error:
                wanted = "columns Stimulus_ID and list_id, a whole number"
                raise InputError([Problem(str(path), line, "row", str(error), wanted)]) from error
    checks = tuple(by_list.pop(-1, ()))
    if not by_list:
        raise InputError([Problem(str(path), None, "rows", "no stimulus", "at least one beside the checks")])
    return [
        ListConfig(name=f"list-{number}", images=tuple(images), checks=checks, practice=checks[:PRACTICE])
        for number, images in sorted(by_list.items())
    ]


def _list_text(one: ListConfig) -> str:
    fields = {"name": one.name, "sport": one.sport, "images": one.images, "checks": one.checks}
    fields["practice"] = one.practice
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["[[lists]]", *lines, ""])


def _example_text(dataset: Path) -> str:
    found = [
        next((path.relative_to(dataset).as_posix() for path in sorted(dataset.glob(f"{stem}.*"))), None)
        for stem in _EXAMPLE
    ]
    mark = "" if all(found) else "# "
    with_ball, without_ball = (json.dumps(path or f"{stem}.png") for path, stem in zip(found, _EXAMPLE, strict=True))
    return f"{mark}[example]\n{mark}with_ball = {with_ball}\n{mark}without_ball = {without_ball}\n"


_CHOICE = """
[choice]
stimuli = {stimuli}
question = "Which object is this person looking at?"
# Whether practice items say what was right.
feedback = true
"""

_INSTRUCTIONS = """\
You will see {shown} photos of a game. **The ball has been removed** from them.

Each photo is divided into cells. Say where you think the ball was: **choose three cells**, those you think most likely.
You may choose a cell more than once. *Undo* takes the last one back, until you confirm the three.

Look at the players: how they stand, move and look tells where the ball is. There is no time limit. In a few photos the
ball can still be seen; then choose cells in which it is."""

_CHOICE_INSTRUCTIONS = """\
You will see {shown} photos of a person at a table with objects on it.

Say **which object the person looks at**. There is no time limit, but you cannot go back. Some are easy and some are
hard: please do your best on all of them. The first few are practice, and tell you what was right."""
