"""`spotball study export`, `status`, `bonus` and `delete`: what comes out of a study."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show

if TYPE_CHECKING:
    from spotball_adapters.study.results.exclusion import Exclusion
    from spotball_adapters.study.results.participations import Participation
    from spotball_adapters.study.setup.design import StudyDesign

Study = Annotated[Path, typer.Argument(metavar="STUDY", help="The study's folder, with study.toml.")]
Exclude = Annotated[
    str | None,
    typer.Option(
        metavar="RULES",
        help="By commas: checks (a check is missed by a click), checks-all (by all of them), fast, same-cell, clock, "
        "repeated, patterned, explanations, duplicates. Default: study.toml's.",
    ),
]
MinSeconds = Annotated[
    float | None, typer.Option(min=0, metavar="S", help="For the rule fast: seconds on the median image.")
]


Pilot = Annotated[bool, typer.Option("--pilot", help="The latest pilot's data instead of the study's.")]


def add_to(group: typer.Typer) -> None:
    """Add the commands to a group of commands."""
    for name, command in (("export", export), ("status", status), ("bonus", bonus), ("delete", delete)):
        group.command(name)(command)


def export(
    study: Study,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="PATH", help="A file (.jsonl, .csv, .parquet), or a folder.")
    ],
    format: Annotated[
        Literal["jsonl", "csv", "parquet", "release", "psych-ds"] | None,
        typer.Option(
            help="Form of the responses, the published release's layout, or a Psych-DS dataset. Default: by --out; of "
            "a folder jsonl, of choices csv."
        ),
    ] = None,
    respondent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to call these people. Default: our-people, which keeps them apart from the paper's, who are "
            "called human; for choices and the release's layout human; for a pilot pilot.",
        ),
    ] = None,
    exclude: Exclude = None,
    min_seconds: MinSeconds = None,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Exclude nobody; participants.csv says who would be.")
    ] = False,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also the answers of those who did not finish.")
    ] = False,
    pilot: Pilot = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the answers of those who finished and are not excluded, as responses of one respondent.

    A folder gets responses-people, scenes.jsonl (so that it is a dataset), every click with its place and time, and
    participants.csv, which says who is excluded by which rule. With --format release, it gets the published release's
    layout; with --format psych-ds, a Psych-DS dataset with a data dictionary. Nothing is deleted from the study, which
    may be running.

    A study of choices gives trials.csv, which `spotball gaze analyze` reads, instead.

    Example: `spotball study export my-study --out our-people`
    """
    from spotball_adapters.study.results import export as exports
    from spotball_adapters.study.results.exclusion import exclusion_of
    from spotball_adapters.study.results.release_layout import write_release
    from spotball_adapters.study.setup.pilot import data_folder

    if respondent is not None and not respondent.strip():
        raise OptionError("--respondent is empty; give a name, such as our-people")
    if format == "release" and respondent not in (None, exports.PUBLISHED):
        raise OptionError("--respondent: the published release's layout has no names of respondents; leave it out")
    design, everybody = _read(study, pilot=pilot)
    if pilot:
        teller(quiet)(f"these are answers of a pilot, {data_folder(study, pilot=True)}, not the study's")
    if respondent is None:
        own = exports.PUBLISHED if design.config.task == "choice" else exports.RESPONDENT
        respondent = "pilot" if pilot else own
    respondent = respondent.strip()
    exclusion = exclusion_of(design.config.exclusion, rules=exclude, min_seconds=min_seconds)
    exported = [
        person
        for person in everybody
        if (person.finished or unfinished) and (keep_all or not exclusion.reasons(person))
    ]
    tell = teller(quiet)
    for line in _export_counts(everybody, exported, exclusion, keep_all=keep_all, unfinished=unfinished):
        tell(line)
    if not exported:
        raise OptionError(f"{study}: nobody is left to export")
    if format == "release":
        for line in write_release(exported, design, out):
            tell(line)
    elif format == "psych-ds":
        from spotball_adapters.study.results.psych_ds import write_psych_ds

        write_psych_ds(everybody, exported, design, exclusion, out, respondent)
    elif out.suffix:
        if format is not None and out.suffix != f".{format}":
            raise OptionError(f"--out {out}: the ending is not that of --format {format}")
        exports.write_file(exported, design, out, respondent)
    else:
        # Trials are read as CSV by `spotball gaze analyze`.
        form = format or ("csv" if design.config.task == "choice" else "jsonl")
        exports.write_folder(everybody, exported, design, exclusion, out, form, respondent)
    if n := exports.left_out_checks(exported, design):
        tell(f"left out: {n:,} answers to checks that are no controls of the dataset, as scoring would count them")
    tell(f"wrote {out}")


def status(
    study: Study,
    exclude: Exclude = None,
    min_seconds: MinSeconds = None,
    pilot: Pilot = False,
    format: Annotated[Literal["table", "markdown", "json"], typer.Option(help="Form of the result.")] = "table",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """How many took part, how far they came, who would be excluded, and how long it took: the attrition table.

    Exit status 1 if what is stored does not agree with study.toml and its dataset as they are now.

    Example: `spotball study status my-study`
    """
    from spotball_adapters.study.results import attrition_text
    from spotball_adapters.study.results.attrition import attrition
    from spotball_adapters.study.results.exclusion import exclusion_of
    from spotball_adapters.study.results.participations import participations
    from spotball_adapters.study.server.agreement import disagreements
    from spotball_adapters.study.setup.design import load
    from spotball_adapters.study.setup.pilot import data_folder
    from spotball_adapters.study.store import reading

    design = load(study)
    exclusion = exclusion_of(design.config.exclusion, rules=exclude, min_seconds=min_seconds)
    with reading(data_folder(study, pilot=pilot)) as reader:
        faults = list(disagreements(reader, design))
        people = participations(reader, design)
    table = attrition(people, [study_list.name for study_list in design.config.lists], exclusion)
    forms = {
        "table": attrition_text.to_text,
        "markdown": attrition_text.to_markdown,
        "json": attrition_text.to_json,
    }
    show(forms[format](table, exclusion, faults), end="")
    if faults:
        raise typer.Exit(1)


def bonus(
    study: Study,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="CSV file: PROLIFIC_PID, amount.")],
    kept: Annotated[bool, typer.Option("--kept", help="Only those who are not excluded.")] = False,
    everybody: Annotated[
        bool, typer.Option("--all", help="Also those whose times show that they did not do the work.")
    ] = False,
    exclude: Exclude = None,
    min_seconds: MinSeconds = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write what each participant's accuracy earns: pay.bonus times accuracy over the test images, rounded down.

    All who finished are paid, also those who are excluded, except by the rules fast and clock: their times show that
    they did not do the work. --kept pays only those who are not excluded. The file names people, and only you can read
    it: keep it apart from their answers.

    Example: `spotball study bonus my-study --out bonus.csv`
    """
    from spotball_adapters.study.results.bonus import bonuses, write_bonuses
    from spotball_adapters.study.results.exclusion import RULES, TIMES, exclusion_of
    from spotball_adapters.study.store import reading

    if kept and everybody:
        raise OptionError("--kept and --all contradict each other; give one of them")
    design, people = _read(study)
    exclusion = exclusion_of(design.config.exclusion, rules=exclude, min_seconds=min_seconds)
    with reading(study) as reader:
        persons = {
            identity.participant: identity.person for identity in reader.identities() if identity.platform == "prolific"
        }
    finished = [person for person in people if person.finished]
    unpaid_rules = set(RULES) if kept else set() if everybody else set(TIMES)
    paid = [person for person in finished if not unpaid_rules & set(exclusion.reasons(person))]
    amounts = bonuses(paid, persons, design.config.pay.bonus)
    write_bonuses(amounts, out)
    tell = teller(quiet)
    unknown = sum(person.participant not in persons for person in paid)
    total = sum(amounts.values(), Decimal("0.00"))
    tell(f"{len(amounts)} bonuses, {total:.2f} {design.config.pay.currency} in all")
    if excluded := len(finished) - len(paid):
        why = "are excluded" if kept else "did not do the work, by the rules fast and clock (--all pays them)"
        tell(f"{excluded} {why}, and are not in the list")
    if unpaid := len(paid) - unknown - len(amounts):
        tell(f"{unpaid} earned less than 0.01, and are not in the list")
    if unknown:
        tell(f"{unknown} did not come from Prolific, and are not in the list")
    tell(f"wrote {out}")


def delete(
    study: Study,
    participant: Annotated[str | None, typer.Option(metavar="LABEL", help="By the label that exports have.")] = None,
    prolific: Annotated[str | None, typer.Option(metavar="PID", help="By the Prolific ID.")] = None,
    pilot: Annotated[bool, typer.Option("--pilot", help="The data of all pilots instead of one person's.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Delete one person for good, from the answers and from the platform IDs, or all pilots. It cannot be undone.

    The server must not be running. Exports that were made earlier are not touched: make them again.

    Example: `spotball study delete my-study --prolific 5f2e0c1a9b7d4e3f8a6c5b4d`
    """
    from spotball_adapters.study.results import deletion
    from spotball_adapters.study.setup.pilot import delete_pilots

    if [participant, prolific, pilot or None].count(None) != 2:
        raise OptionError("say who, by --participant or by --prolific, or give --pilot")
    if pilot:
        n = delete_pilots(study)
        teller(quiet)(f"deleted the pilot's data: {n} participants")
        return
    deleted = deletion.delete(study, participant=participant, prolific=prolific)
    tell = teller(quiet)
    platform_id = "and their platform ID" if deleted.identities else "who had no platform ID"
    tell(f"deleted {deleted.participant}: {deleted.events:,} events, {platform_id}")
    tell(f"exports that were made earlier may still have {deleted.participant}: make them again")


def _read(study: Path, *, pilot: bool = False) -> tuple[StudyDesign, list[Participation]]:
    from spotball_adapters.study.results.participations import participations
    from spotball_adapters.study.setup.design import load
    from spotball_adapters.study.setup.pilot import data_folder
    from spotball_adapters.study.store import reading

    design = load(study)
    with reading(data_folder(study, pilot=pilot)) as reader:
        return design, participations(reader, design)


def _export_counts(
    everybody: list[Participation],
    exported: list[Participation],
    exclusion: Exclusion,
    *,
    keep_all: bool,
    unfinished: bool,
) -> Iterator[str]:
    """How many are exported, and why the others are not."""
    finished = [person for person in everybody if person.finished]
    yield f"{len(everybody):,} took part, {len(finished):,} finished, {len(exported):,} exported"
    if len(finished) < len(everybody):
        yield f"{len(everybody) - len(finished):,} unfinished: {'kept' if unfinished else 'left out'}"
    for rule in exclusion.rules:
        if n := sum(rule in exclusion.reasons(person) for person in finished):
            yield f"{n:,} {'would be excluded' if keep_all else 'excluded'} by the rule {rule}"
