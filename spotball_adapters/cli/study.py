"""`spotball study`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_adapters.cli.study_results import add_to
from spotball_adapters.cli.study_simulate import simulate
from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show

study = typer.Typer(
    no_args_is_help=True,
    help="Put the benchmark in front of people, in a browser, and get their answers out.",
    rich_markup_mode=None,
)


@study.command("init")
def init_command(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET",
            help="Dataset folder, with scenes.jsonl and images; for choices with stimuli.csv and photos, or that file.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="STUDY", help="Folder of the study.")],
    sport: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A sport, which becomes a list; may be repeated. Default: all."),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Images of a sport, drawn at random. Default: all. Of choices: photos of a list, at most, each photo "
            "in one list. Default: the stimuli's list_id, else 45.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of all that is drawn, also for participants.")
    ] = 0,
    task: Annotated[
        Literal["clicks", "choice"], typer.Option(help="Where is the ball, or which object is looked at.")
    ] = "clicks",
    originals: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Images before the ball was removed, for the example pair; named as the dataset's. Default: those of "
            "the dataset, else a drawn example.",
        ),
    ] = None,
    language: Annotated[
        Literal["en", "de"], typer.Option(help="Language of the page and of the texts for participants.")
    ] = "en",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write STUDY/study.toml for a dataset: what is shown, asked, said and paid, each choice with a comment.

    Each sport is a list; a participant sees one. Controls, in which the ball is visible, become attention checks. Read
    the file and change it before people come.

    With --task choice, the gaze study's question is asked about photos: lists of 45 and all attention checks, three of
    which are practice.

    Example: `spotball study init data --sport soccer --images 50 --out study`
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
            f"{study_list.name}: {len(study_list.images)} images, {len(study_list.checks)} checks, "
            f"{len(study_list.practice)} for practice"
        )
        if not study_list.practice:
            tell(
                f"{study_list.name}: no image is left for practice, so participants start without it. "
                "Use fewer --images to keep one back"
            )
    if config.example is not None and config.example.synthetic:
        tell("the example of the instructions is drawn; --originals takes one of your own images instead")
    tell(f"{out / CONFIG}: read it, and change what you need. Then: spotball study check {out}")


@study.command("check")
def check_command(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.")],
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """List what is missing before participants may come: placeholders, pay, completion code, example, images.

    Exit status 1 if anything is missing.

    Example: `spotball study check my-study`
    """
    from spotball_adapters.study.setup.check import check

    problems = check(folder)
    for problem in problems:
        show(problem)
    if problems:
        teller(quiet)(f"{len(problems)} problems: the study is not ready for participants")
        raise typer.Exit(1)
    teller(quiet)(f"{folder} is ready for participants")


@study.command("serve")
def serve_command(
    folder: Annotated[Path | None, typer.Argument(metavar="STUDY", help="Folder of the study.")] = None,
    host: Annotated[str, typer.Option(metavar="NAME", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 for any that is free.")] = 8000,
    demo: Annotated[
        bool, typer.Option("--demo", help="A study of made-up scenes instead, forgotten at the end.")
    ] = False,
    task: Annotated[
        Literal["clicks", "choice"], typer.Option(help="Of the demo: where is the ball, or which object is looked at.")
    ] = "clicks",
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where participants reach a proxy in front, such as https://example.org/study/."
        ),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="IP address or network of the proxy, whose X-Forwarded-For is trusted; may be repeated.",
        ),
    ] = None,
    pilot: Annotated[
        bool, typer.Option("--pilot", help="Try the study out: its data is kept apart and can be deleted.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Serve a study until Ctrl-C. Each click is on disk before it is acknowledged; start again and all go on.

    With --pilot, data is stored in STUDY/pilot-1 and not with the study's, study.toml may still change, and a link for
    each list shows it. `spotball study delete STUDY --pilot` deletes the data.

    SPOTBALL_STUDY_PASSWORD in the environment opens /admin, to which the user is `admin`. For access from outside, put
    a proxy that speaks HTTPS in front of it, and give its address with --public-url and --proxy.

    Example: `spotball study serve --demo`
    """
    from spotball_adapters.study.server.serve import serve

    tell = teller(quiet)
    if demo == (folder is not None):
        raise OptionError("name a study's folder, or --demo")
    if folder is not None:
        serve(folder, host=host, port=port, tell=tell, pilot=pilot, public_url=public_url, proxies=proxy or ())
        return
    if pilot:
        raise OptionError("--pilot is for a study of yours; the demo's data is always deleted")
    from spotball_adapters.study.setup.demo import demo_choices, demo_study

    make = demo_study if task == "clicks" else demo_choices
    with tempfile.TemporaryDirectory(prefix="spotball-study-") as name:
        tell("Everything here is synthetic: made-up scenes. What is answered is forgotten at the end.")
        serve(make(Path(name)), host=host, port=port, tell=tell, public_url=public_url, proxies=proxy or ())


study.command("simulate")(simulate)
add_to(study)
