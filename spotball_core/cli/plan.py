"""`spotball plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.options import (
    Debug,
    ImageChoice,
    PolicyName,
    Quiet,
    Reference,
    Seed,
    TableFormat,
    Tables,
    with_groups,
)
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show
from spotball_core.stats.power import POWER

EFFECT = "5"


@with_groups
def plan(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PILOT", help="Dataset folders or files of responses; with --observer, stimuli.csv."),
    ] = None,
    *,
    a: Annotated[
        str | None,
        option("Input", "NAME", "Respondent, or one of its prompts. Without --b, plan for two like it.", "--a"),
    ] = None,
    b: Annotated[
        str | None,
        option("Input", "NAME", "Second respondent, or one of its prompts.", "--b"),
    ] = None,
    sport: Annotated[str | None, option("Input", "NAME", "Use only this sport.")] = None,
    published: Annotated[
        bool, option("Input", None, "Instead of a pilot, use what the published soccer answers show.", "--published")
    ] = False,
    tables: Tables,
    effect: Annotated[
        str,
        option("Plan", "E", "Points or pixels to detect, or by metric: accuracy=5,center_ratio=0.3."),
    ] = EFFECT,
    power: Annotated[float, option("Plan", "SHARE", "Probability of detecting the effect.")] = POWER,
    tests: Annotated[
        int | None,
        option("Plan", "N", "Number of tests to correct for. Default: those of `spotball compare`.", min=1),
    ] = None,
    price_answer: Annotated[
        float | None,
        option("Plan", "P", "Price of one answer of both respondents together.", min=0),
    ] = None,
    price_image: Annotated[float | None, option("Plan", "P", "Price of one new image.", min=0)] = None,
    metrics: Annotated[
        str | None,
        option("Plan", "NAMES", "Use only these metrics, separated by commas."),
    ] = None,
    observer: Annotated[
        str | None,
        option(
            "Gaze task",
            "RULE",
            "Simulated respondent: eye, head, compromise, coin, shift or guess, with parameters such as "
            "compromise:weight=0.6,noise=0.3,lapse=0.02.",
        ),
    ] = None,
    trials: Annotated[str, option("Gaze task", "N,...", "Numbers of trials per photo.")] = "16",
    simulations: Annotated[int, option("Gaze task", "N", "Number of simulated respondents.", min=1)] = 20,
    reference: Reference = None,
    images: ImageChoice = None,
    policy: PolicyName = "standard",
    seed: Seed = 0,
    format: TableFormat = "table",
    out: Annotated[
        Path | None,
        option("Output", "DIR", "Folder for an HTML report. Default: none.", "--out", "-o"),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Plan how many images and answers a comparison needs, from the responses of a pilot.

    Example: `spotball plan pilot --a mine --b gemini --reference human --effect 5 --power 0.8`

    Prints the smallest difference that the pilot detects, the number of images that the effect needs, and how much
    metrics vary between images and answers. With prices, prints the cheapest design. With --observer, simulates the
    gaze tests and prints how often each is positive.
    """
    if observer is not None:
        from spotball_core.cli.plan_observer import FLAG, plan_observer

        given = {
            "a": a,
            "b": b,
            "sport": sport,
            "published": published or None,
            **vars(tables),
            "effect": effect if effect != EFFECT else None,
            "power": power if power != POWER else None,
            "tests": tests,
            "price_answer": price_answer,
            "price_image": price_image,
            "metrics": metrics,
            "reference": reference,
            "images": images,
            "policy": policy if policy != "standard" else None,
            "out": out,
        }
        if extra := [f"--{name.replace('_', '-')}" for name, value in given.items() if value]:
            raise OptionError(f"found {', '.join(extra)} as well. Remove it", code="conflicting-options", field=FLAG)
        plan_observer(observer, paths or (), trials, simulations, seed=seed, format=format, quiet=quiet)
        return
    if not paths and not published:
        raise OptionError(
            "give a pilot, --published, or --observer for the gaze task", code="missing-option", field="PILOT"
        )
    if published and (paths or sport):
        raise OptionError(
            "found a pilot or --sport as well. Remove it", code="conflicting-options", field="--published"
        )
    from spotball_core.cli.tables import amounts_of, table_arguments
    from spotball_core.planning.plan import Goal
    from spotball_core.planning.text import to_markdown, to_text

    if out is not None:
        from spotball_core.planning.page import check_page

        check_page(out)
    tell, effects = teller(quiet), amounts_of(effect, "--effect")
    keys = None if metrics is None else [name.strip() for name in metrics.split(",")]
    if published:
        from spotball_core.planning.published import plan_published

        goal = Goal(effects, power, tests, price_answer, price_image)
        result = plan_published(goal, a=a, b=b, metrics=keys)
    else:
        from spotball_core.dataset import load

        data = load(paths or (), tables.scenes, reference=reference, **table_arguments(tables, tell))
        result = data.plan(
            a,
            b,
            effect=effects,
            power=power,
            tests=tests,
            price_answer=price_answer,
            price_image=price_image,
            sport=sport,
            metrics=keys,
            policy=policy,
            images=images,
            seed=seed,
        )
    if format == "json":
        text = result.to_json() + "\n"
        for warning in result.warnings:
            tell(f"warning: {warning}")
    else:
        text = to_markdown(result) if format == "markdown" else to_text(result, to_terminal=True)
    show(text, end="", styled=format == "table")
    if out is not None:
        from spotball_core.planning.page import write_page

        write_page(result, out)
        tell(f"wrote {out / 'report.html'}")
