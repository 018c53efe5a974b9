"""`spotball gaze stimuli`."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer
from pydantic import ValidationError

from spotball_core.cli.console import teller, teller_of_problems
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Jobs, OutFolder, Quiet, Seed
from spotball_core.errors import InputError, MissingExtraError, OptionError, unknown_name
from spotball_core.text.words import listed, plural

if TYPE_CHECKING:
    from spotball_core.gaze.data.stimuli import Stimulus

T = TypeVar("T", bound=str)

SETS: Final = ("red ball+blue box+green bottle", "yellow cone+purple cup+orange ball+teal box")
"""Default sets of objects."""

SHOWN: Final = 5
"""Maximum number of missing photos that an error lists."""


def stimuli(
    out: OutFolder,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="SOURCE",
            help="CSV file that describes your photos; or GazeFollow's annotation file, or VideoAttentionTarget's "
            "folder annotations/test (both with --choices). Default: draw pictures of a design.",
            show_default=False,
        ),
    ] = None,
    choices: Annotated[
        Path | None,
        option(
            "Input",
            "FILE",
            "CSV file with the labeled objects of annotated images: `image`, `label`, and optionally `x1`, `y1`, "
            "`x2`, `y2`, `is_target`, `head_direction`.",
        ),
    ] = None,
    objects: Annotated[
        list[str] | None,
        option(
            "Design",
            "A+B+...",
            "A set of objects in their order along the table; can be repeated. Default: a set of three and a set "
            "of four.",
        ),
    ] = None,
    views: Annotated[str, option("Design", "NAMES", "Views, separated by commas.")] = "front,left,right",
    proximities: Annotated[
        str, option("Design", "N,...", "Proximities of the objects, 1 (far) to 3 (close).")
    ] = "1,2,3",
    conditions: Annotated[
        str, option("Design", "NAMES", "Conditions, separated by commas.")
    ] = "natural,congruent,incongruent",
    checks: Annotated[
        int,
        option(
            "Design", "N", "Number of pictures to mark as attention checks: those with two objects far apart.", min=0
        ),
    ] = 0,
    size: Annotated[int, option("Pictures", "PIXELS", "Width and height.", min=32, max=1024)] = 224,
    no_pictures: Annotated[
        bool, option("Pictures", None, "Only write the list, for example of photos to take.", "--no-pictures")
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the list of photos for the gaze task, and draw the photos if you have none.

    Example: `spotball gaze stimuli --out pictures`

    Without SOURCE, draws a synthetic person at a table for each combination of the design's properties. With a CSV file
    of your photos in DIR, checks the file and the photos; the file needs the columns `image`, `objects` and
    `gaze_target`. Writes DIR/stimuli.csv for the other commands, and DIR/faces.csv if the heads' boxes are known.
    """
    from spotball_core.gaze.data.stimuli import STIMULI

    tell = teller(quiet)
    if (out / STIMULI).exists():
        raise OptionError(
            f"{out / STIMULI} already exists. Remove it, or use another folder", code="output-exists", field="--out"
        )
    if source is None:
        design = _design(objects or SETS, views, proximities, conditions, checks)
        written = _list(design, out) if no_pictures else _draw(design, out, size, seed, jobs)
    elif choices is not None:
        written = _of_annotations(source, choices, out, quiet)
    else:
        written = _of_photos(source, out, quiet)
    counts = Counter(stimulus.condition for stimulus in written)
    by_condition = ", ".join(f"{n:,} {condition}" for condition, n in counts.items())
    tell(f"{out / STIMULI}: {plural(len(written), 'photo')} ({by_condition})")


def _list(stimuli: Sequence[Stimulus], out: Path) -> Sequence[Stimulus]:
    from spotball_core.gaze.data.stimuli import STIMULI, write_stimuli

    out.mkdir(parents=True, exist_ok=True)
    write_stimuli(stimuli, out / STIMULI)
    return stimuli


def _design(sets: Sequence[str], views: str, proximities: str, conditions: str, checks: int) -> Sequence[Stimulus]:
    from spotball_core.gaze.data.stimuli import CONDITIONS, PROXIMITIES, SEPARATOR, VIEWS
    from spotball_core.gaze.power.observers import factorial_design

    near = _chosen(proximities, [str(proximity) for proximity in PROXIMITIES], "--proximities")
    try:
        design = factorial_design(
            [[name.strip() for name in text.split(SEPARATOR)] for text in sets],
            views=_chosen(views, VIEWS, "--views"),
            proximities=[int(proximity) for proximity in near],
            conditions=_chosen(conditions, CONDITIONS, "--conditions"),
        )
    except ValidationError as error:
        raise OptionError("expected 2 to 9 different names, such as cup+keys+bottle", field="--objects") from error
    easy = [
        stimulus
        for stimulus in design
        if len(stimulus.objects) == 2 and stimulus.proximity == 1 and stimulus.condition != "incongruent"
    ]
    if len(easy) < checks:
        raise OptionError(
            f"found {len(easy)} pictures with two objects at proximity 1, expected at least {checks}. Add a set of two "
            "objects",
            field="--checks",
        )
    # The checks are spread over sets, views and conditions.
    marked = {easy[place * len(easy) // checks].stimulus_id for place in range(checks)}
    return [stimulus.model_copy(update={"attention_check": stimulus.stimulus_id in marked}) for stimulus in design]


def _chosen(text: str, known: Sequence[T], field: str) -> list[T]:
    """Return the names in a list separated by commas.

    Raises:
        OptionError: for an unknown name.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise OptionError(unknown_name("value", name, known), code="unknown-name", field=field)
    return [name for name in known if name in names]


def _draw(design: Sequence[Stimulus], out: Path, size: int, seed: int, jobs: int | None) -> Sequence[Stimulus]:
    if importlib.util.find_spec("PIL") is None:
        raise MissingExtraError("drawing pictures", "adapters")
    from spotball_adapters.gaze.training.drawing import THINGS
    from spotball_adapters.gaze.training.pictures import design_plans, draw_set

    for stimulus in design:
        for name in stimulus.objects:
            if name not in THINGS:
                known = unknown_name("object", name, tuple(THINGS))
                raise OptionError(
                    f"{known}. To list photos without pictures, add --no-pictures",
                    code="unknown-name",
                    field="--objects",
                )
    draw_set(design_plans(design), out, size=size, seed=seed, jobs=jobs or os.cpu_count() or 1)
    return design


def _of_annotations(source: Path, choices: Path, out: Path, quiet: bool) -> Sequence[Stimulus]:
    from spotball_adapters.gaze.points import write_faces
    from spotball_core.gaze.data.faces import FACES
    from spotball_core.gaze.follow.annotations import read_annotations, sizes_in
    from spotball_core.gaze.follow.choices import read_objects, stimuli_of

    _, targets = read_annotations(source, sizes_in(out))
    made = stimuli_of(targets, read_objects(choices, on_assumed=teller_of_problems(quiet)))
    excluded = ", ".join(f"{reason} ({n:,})" for reason, n in made.excluded.items())
    if not made.stimuli:
        raise OptionError(f"{source}: no person has a stimulus; excluded: {excluded}", code="no-data")
    if excluded:
        teller(quiet)(f"excluded people: {excluded}")
    _list(made.stimuli, out)
    if made.faces:
        write_faces(made.faces, out / FACES)
    return made.stimuli


def _of_photos(source: Path, out: Path, quiet: bool) -> Sequence[Stimulus]:
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.service.paths import find_file

    if source.is_dir() or source.suffix == ".txt":
        raise OptionError("annotated images need a file of labeled objects. Add --choices FILE", code="missing-option")
    photos = read_stimuli(source, on_assumed=teller_of_problems(quiet))
    if missing := [photo.image or photo.stimulus_id for photo in photos if not find_file([out], photo.image)]:
        expected = f"a photo in {out} for each row, named in the column `image`"
        actual = f"{plural(len(missing), 'row')} without a photo: {listed(missing[:SHOWN])}"
        raise InputError.of("missing-file", source, "image", actual, expected)
    return _list(photos, out)
