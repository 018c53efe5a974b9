"""`spotball study`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_adapters.cli.study_results import add_to
from spotball_core.cli.console import progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Host, OutFolder, Port, Quiet, Seed
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural


def simulate(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.")],
    participants: Annotated[int, option("Participants", "N", "Number of simulated participants.", min=1)] = 24,
    seed: Seed = 0,
    observer: Annotated[
        Literal["eye", "head"],
        option(
            "Participants",
            None,
            "With --task choice: participants choose the object that the eyes (or the head) of the person in the "
            "photo point to.",
        ),
    ] = "eye",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Test a study: let simulated participants complete it as a new pilot.

    The command starts a server on this machine, and the participants answer over HTTP as browsers do. They click near
    players at random. In a study with --task choice, they choose the object that the eyes or the head of the person in
    the photo point to, with some errors. One in ten stops midway, and about one in seven does not look at the attention
    checks. Their labels start with `simulated-`, and their times are simulated.

    The data is stored in a new folder STUDY/pilot-1, pilot-2, ..., and never together with the study's own
    data. `status --pilot` and `export --pilot` read it; `delete --pilot` deletes it.

    Example: `spotball study simulate my-study --participants 24`
    """
    from spotball_adapters.study.simulation.behavior import OBSERVERS, Population
    from spotball_adapters.study.simulation.pilot import simulate_pilot

    tell = teller(quiet)
    with progress("participants", quiet=quiet) as on_progress:
        pilot = simulate_pilot(
            *(folder, participants),
            seed=seed,
            population=Population(observer=OBSERVERS[observer]),
            on_progress=on_progress,
        )
    tell(
        f"{len(pilot.labels)} simulated participants took part: {pilot.finished} finished, "
        f"{len(pilot.labels) - pilot.finished} stopped early"
    )
    tell(f"{pilot.careless} of those who finished did not look at attention checks")
    if pilot.full:
        tell(f"the study is full, so {participants - len(pilot.labels)} participants could not begin")
    tell(f"wrote {pilot.folder}; the study's own data is unchanged")
    tell(f"Next: spotball study export {folder} --pilot --out pilot-people")


study = typer.Typer(
    no_args_is_help=True,
    help="Run the human study: collect answers in a browser, and export "
    "them.\n\nExample: `spotball study serve --demo`",
    rich_markup_mode=None,
)


Task = Annotated[
    Literal["clicks", "choice"],
    option("Input", None, "Task: clicks (where is the ball?) or choice (which object does the person look at?)."),
]


@study.command("init")
def init_command(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="Dataset folder with scenes.jsonl and images. With --task choice: stimuli.csv (see `spotball "
            "gaze stimuli`), or its folder.",
        ),
    ],
    out: OutFolder,
    sport: Annotated[
        list[str] | None, option("Input", "NAME", "Use the images of this sport; can be repeated. Default: all sports.")
    ] = None,
    images: Annotated[
        int | None,
        option(
            "Input",
            "N",
            "Number of random images per list. Default: all; with --task choice, the lists in the column "
            "`list_id`, "
            "or 45 photos per list.",
            min=1,
        ),
    ] = None,
    seed: Seed = 0,
    task: Task = "clicks",
    originals: Annotated[
        Path | None,
        option(
            "Input",
            "FOLDER",
            "Folder of images with the ball, for the example in the instructions. Default: the dataset folder.",
        ),
    ] = None,
    language: Annotated[Literal["en", "de"], option("Input", None, "Language of the pages for participants.")] = "en",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Create a study from a dataset: STUDY/study.toml with all settings and texts, each with a comment.

    Example: `spotball study init data --sport soccer --images 50 --out study`

    The images of each sport become a list of images, and each participant sees one list. Controls (the ball is visible)
    become attention checks. Edit study.toml before you invite participants. With --task choice, participants answer the
    gaze question about photos; each list has up to 45 photos and all attention checks.
    """
    from spotball_adapters.study.setup.config import CONFIG
    from spotball_adapters.study.setup.init import init_study

    config = init_study(
        *(dataset, out),
        sports=sport or (),
        images=images,
        seed=seed,
        task=task,
        originals=originals,
        language=language,
    )
    tell = teller(quiet)
    for study_list in config.lists:
        tell(
            f"{study_list.name}: {plural(len(study_list.images), 'image')}, "
            f"{plural(len(study_list.checks), 'attention check')}, {plural(len(study_list.practice), 'practice image')}"
        )
        if not study_list.practice:
            tell(
                f"{study_list.name}: no image is left for practice, so participants start without practice. "
                "To have practice, use fewer --images"
            )
    if config.example is not None and config.example.synthetic:
        tell("the instructions show a synthetic example. Add --originals to show one of your own images")
    tell(f"{out / CONFIG}: review and edit it. Then run: spotball study check {out}")


@study.command("check")
def check_command(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.")],
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """List what is missing in a study, such as pay, a completion code, images, or texts for placeholders.

    Example: `spotball study check my-study`

    Exit status 1 if anything is missing.
    """
    from spotball_adapters.study.setup.check import check

    problems = check(folder)
    for problem in problems:
        show(problem)
    if problems:
        teller(quiet)(f"{plural(len(problems), 'problem')}: the study is not ready for participants")
        raise typer.Exit(1)
    teller(quiet)(f"{folder} is ready for participants")


@study.command("serve")
def serve_command(
    folder: Annotated[Path | None, typer.Argument(metavar="STUDY", help="Folder of the study.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    demo: Annotated[
        bool, option("Input", None, "Use synthetic data. Needs no network, GPU or weights.", "--demo")
    ] = False,
    task: Task = "clicks",
    public_url: Annotated[
        str | None,
        option(
            "Server", "URL", "Public address of the HTTPS proxy, such as https://example.org/study/. Default: none."
        ),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        option(
            "Server", "ADDRESS", "Trust the header X-Forwarded-For from this IP address or network; can be repeated."
        ),
    ] = None,
    pilot: Annotated[bool, option("Input", None, "Use a pilot, whose data is stored separately.", "--pilot")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Serve a study to participants until you press Ctrl-C.

    Example: `spotball study serve --demo`

    Each click is saved before it is acknowledged; after a restart, participants continue where they stopped. With
    --pilot, data goes to STUDY/pilot-1, study.toml may still change, and a preview link for each list is printed. Set
    SPOTBALL_STUDY_PASSWORD in the environment to open the admin page /admin (user admin). For access from outside, put
    an HTTPS proxy in front, and name it with --public-url and --proxy.
    """
    from spotball_adapters.study.server.serve import serve

    tell = teller(quiet)
    if demo == (folder is not None):
        raise OptionError(
            "STUDY is missing: name the folder of a study, such as my-study, or add --demo", code="missing-option"
        )
    if folder is not None:
        serve(folder, host=host, port=port, tell=tell, pilot=pilot, public_url=public_url, proxies=proxy or ())
        return
    if pilot:
        raise OptionError(
            "has no effect with --demo, whose data is always deleted. Remove --pilot",
            code="conflicting-options",
            field="--pilot",
        )
    from spotball_adapters.study.server.public import check_proxies, read_public_address
    from spotball_adapters.study.setup.demo import demo_choices, demo_study

    check_proxies(proxy or ())
    if public_url:
        read_public_address(public_url)
    make = demo_study if task == "clicks" else demo_choices
    with tempfile.TemporaryDirectory(prefix="spotball-study-") as name:
        tell("This demo shows synthetic scenes. Answers are deleted when it ends.")
        serve(make(Path(name)), host=host, port=port, tell=tell, public_url=public_url, proxies=proxy or ())


study.command("simulate")(simulate)
add_to(study)
