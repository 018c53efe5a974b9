"""Define the commands `spotball study export`, `status`, `bonus` and `delete`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Full, OutFile, Quiet, TableFormat
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import printable, show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.study.results.exclusion import Exclusion
    from spotball_adapters.study.results.participations import Participation
    from spotball_adapters.study.setup.design import StudyDesign

Study = Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study, with study.toml.")]
Exclude = Annotated[
    str | None,
    option(
        "Exclusion",
        "RULES",
        "Exclusion rules, separated by commas. Default: from study.toml. Each rule excludes participants for one "
        "reason: `checks` (a wrong click on an attention check), `fast` (too little time per image), `clock` "
        "(impossible times), `checks-all` (only wrong clicks on a check), `same-cell` (the same answer to all "
        "images), `repeated` (nearly equal answers), `patterned` (answers in a pattern), `explanations` (too "
        "short, random or copied), `duplicates` (repeated explanations), `fullscreen` (left full screen), "
        "`small-window` (window too small).",
    ),
]
Pilot = Annotated[bool, option("Input", None, "Use a pilot, whose data is stored separately.", "--pilot")]


def add_to(group: typer.Typer) -> None:
    """Add the four commands to a command group."""
    for name, command in (("export", export), ("status", status), ("bonus", bonus), ("delete", delete)):
        group.command(name)(command)


def export(
    study: Study,
    out: Annotated[
        Path, option("Output", "PATH", "Folder to write, or file ending in .jsonl, .csv or .parquet.", "--out", "-o")
    ],
    format: Annotated[
        Literal["jsonl", "csv", "parquet", "release", "psych-ds"] | None,
        option(
            "Output",
            "FORM",
            "Format: jsonl, csv, parquet, psych-ds or release (layout of the published data). Default: from "
            "the extension of --out; for a folder, jsonl, or csv if the study has --task choice.",
        ),
    ] = None,
    respondent: Annotated[
        str | None,
        option(
            "Output",
            "NAME",
            "Name of the respondent. Default: our-people; human with --task choice or --format release; pilot "
            "with --pilot.",
        ),
    ] = None,
    exclude: Exclude = None,
    keep_all: Annotated[
        bool,
        option(
            "Exclusion",
            None,
            "Do not exclude participants; participants.csv still lists the rules that apply.",
            "--keep-all",
        ),
    ] = False,
    unfinished: Annotated[
        bool, option("Exclusion", None, "Include participants who did not finish.", "--unfinished")
    ] = False,
    pilot: Pilot = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the answers of participants who finished and are not excluded, as responses.

    Example: `spotball study export my-study --out our-people`

    If PATH is a folder, it becomes a dataset with the responses, scenes.jsonl, clicks.csv with the place and time of
    each click, and participants.csv with the exclusion rules that apply to each participant. If the study has --task
    choice, trials.csv for `spotball gaze analyze` is written instead. You can export while the study is running.
    """
    from spotball_adapters.study.results import export as exports
    from spotball_adapters.study.results.exclusion import exclusion_of
    from spotball_adapters.study.results.release_layout import write_release
    from spotball_adapters.study.setup.pilot import data_folder

    if respondent is not None and not respondent.strip():
        raise OptionError("is empty. Give a name, such as our-people", field="--respondent")
    if format == "release" and respondent not in (None, exports.PUBLISHED):
        raise OptionError(
            "has no effect with --format release. Remove it", code="conflicting-options", field="--respondent"
        )
    design, everybody = _read(study, pilot=pilot)
    if pilot:
        teller(quiet)(f"these answers are from the pilot in {data_folder(study, pilot=True)}, not from the study")
    if respondent is None:
        own = exports.PUBLISHED if design.config.task == "choice" else exports.RESPONDENT
        respondent = "pilot" if pilot else own
    respondent = respondent.strip()
    exclusion = exclusion_of(design.config.exclusion, rules=exclude)
    exported = [
        person
        for person in everybody
        if (person.finished or unfinished) and (keep_all or not exclusion.reasons(person))
    ]
    tell = teller(quiet)
    for line in _export_counts(everybody, exported, exclusion, keep_all=keep_all, unfinished=unfinished):
        tell(line)
    if not exported:
        raise OptionError(
            f"no participant finished and passed all exclusion rules. See `spotball study status {study}`",
            code="no-data",
            file=study,
        )
    if format == "release":
        for line in write_release(exported, design, out):
            tell(line)
    elif format == "psych-ds":
        from spotball_adapters.study.results.psych_ds import write_psych_ds

        write_psych_ds(everybody, exported, design, exclusion, out, respondent)
    elif out.suffix:
        if format is not None and out.suffix != f".{format}":
            raise OptionError(
                f"{out} does not end in .{format}, but --format is {format}. Change one of them",
                code="conflicting-options",
                field="--out",
            )
        exports.write_file(exported, design, out, respondent)
    else:
        # `spotball gaze analyze` reads trials as CSV.
        form = format or ("csv" if design.config.task == "choice" else "jsonl")
        exports.write_folder(everybody, exported, design, exclusion, out, form, respondent)
    if n := exports.left_out_checks(exported, design):
        tell(
            f"excluded: {n:,} answers to checks that are not controls of the dataset, because scoring would count them"
        )
    tell(f"wrote {out}")


def status(
    study: Study,
    exclude: Exclude = None,
    pilot: Pilot = False,
    full: Full = False,
    format: TableFormat = "table",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Print how many people took part, how far they got, who would be excluded, and how long they took.

    Example: `spotball study status my-study`

    Prints one line per list of images. With --full, prints every step, exclusion rule and completion time. Exit status
    1 if stored answers do not match study.toml and its dataset.
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
    exclusion = exclusion_of(design.config.exclusion, rules=exclude)
    with reading(data_folder(study, pilot=pilot)) as reader:
        faults = list(disagreements(reader, design))
        people = participations(reader, design)
    table = attrition(people, [study_list.name for study_list in design.config.lists], exclusion)
    if format == "table" and not full:
        show(attrition_text.to_summary(table, exclusion, faults, to_terminal=True), end="", styled=True)
    else:
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
    out: OutFile,
    kept: Annotated[
        bool, option("Exclusion", None, "Pay only the participants whom no rule excludes.", "--kept")
    ] = False,
    everybody: Annotated[
        bool,
        option(
            "Exclusion",
            None,
            "Also pay participants who were too fast or report impossible times (rules `fast` and `clock`).",
            "--all",
        ),
    ] = False,
    exclude: Exclude = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the bonus of each participant: `pay.bonus` in study.toml times the accuracy on test images, rounded down.

    Example: `spotball study bonus my-study --out bonus.csv`

    Pays all participants who finished, except those who were too fast or report impossible times (rules `fast` and
    `clock`). The file contains platform IDs and is readable only by you. Store it apart from the answers.
    """
    from spotball_adapters.study.results.bonus import bonuses, unpaid_rules, write_bonuses
    from spotball_adapters.study.results.exclusion import RULES, exclusion_of
    from spotball_adapters.study.store import reading

    if kept and everybody:
        raise OptionError("--kept and --all cannot be combined. Remove one of them", code="conflicting-options")
    design, people = _read(study)
    exclusion = exclusion_of(design.config.exclusion, rules=exclude)
    with reading(study) as reader:
        persons = {
            identity.participant: identity.person for identity in reader.identities() if identity.platform == "prolific"
        }
    finished = [person for person in people if person.finished]
    unpaid = set(RULES) if kept else set() if everybody else set(unpaid_rules(exclusion))
    paid = [person for person in finished if not unpaid & set(exclusion.reasons(person))]
    amounts = bonuses(paid, persons, design.config.pay.bonus)
    write_bonuses(amounts, out)
    tell = teller(quiet)
    unknown = sum(person.participant not in persons for person in paid)
    total = sum(amounts.values(), Decimal("0.00"))
    tell(f"{len(amounts)} bonuses, {total:.2f} {design.config.pay.currency} in total")
    if excluded := len(finished) - len(paid):
        why = "excluded by a rule" if kept else "who were too fast or report impossible times (--all pays them)"
        tell(f"not paid: {plural(excluded, 'participant')} {why}")
    if too_low := len(paid) - unknown - len(amounts):
        tell(f"not paid: {plural(too_low, 'participant')} with a bonus below 0.01")
    if unknown:
        tell(f"not paid: {plural(unknown, 'participant')} from outside Prolific")
    stated = exclusion_of(design.config.exclusion)
    promised = [person for person in finished if not set(unpaid_rules(stated)) & set(stated.reasons(person))]
    if broken := sum(person not in paid for person in promised):
        tell(f"warning: the consent page promised the bonus to {plural(broken, 'participant')} of those not paid")
    tell(f"wrote {out}")


def delete(
    study: Study,
    participant: Annotated[
        str | None, typer.Argument(metavar="LABEL", help="Label of the participant, as in exports.")
    ] = None,
    *,
    prolific: Annotated[str | None, option("Input", "PID", "Delete the participant with this Prolific ID.")] = None,
    pilot: Annotated[bool, option("Input", None, "Delete the data of all pilots.", "--pilot")] = False,
    yes: Annotated[bool, option("Input", None, "Do not ask for confirmation.", "--yes")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Delete the data of one participant, or of all pilots, permanently. You cannot undo this.

    Example: `spotball study delete my-study --prolific 5f2e0c1a9b7d4e3f8a6c5b4d`

    Asks for confirmation. Participants see their label on the instructions page and on the last page. Stop the server
    first. Earlier exports are not changed: export again. If `refuse_deleted` is set in study.toml, the person cannot
    take part again.
    """
    from spotball_adapters.study.results import deletion
    from spotball_adapters.study.setup.config import CONFIG, read_config
    from spotball_adapters.study.setup.pilot import delete_pilots

    if [participant, prolific, pilot or None].count(None) != 2:
        raise OptionError(
            "use exactly one of LABEL and --prolific, for the data of one person, and --pilot, for all pilots",
            code="conflicting-options",
        )
    if not yes:
        _confirm("all pilots" if pilot else f"participant {participant or prolific}", study)
    if pilot:
        n = delete_pilots(study)
        teller(quiet)(f"deleted the data of all pilots: {plural(n, 'participant')}")
        return
    remember = (study / CONFIG).exists() and read_config(study).serve.refuse_deleted
    deleted = deletion.delete(study, participant=participant, prolific=prolific, remember=remember)
    tell = teller(quiet)
    platform_id = "and their platform ID" if deleted.identities else "no platform ID was stored"
    tell(f"deleted {deleted.participant}: {deleted.events:,} events, {platform_id}")
    tell(f"earlier exports may still contain {deleted.participant}. Export again")


def _confirm(whose: str, study: Path) -> None:
    """Ask whether to delete data; end the command unless the answer is yes."""
    try:
        if not typer.confirm(f"Delete the data of {whose} in {printable(str(study))}? You cannot undo this", err=True):
            raise typer.Exit(1)
    except typer.Abort:
        raise OptionError(
            "nothing was deleted, because there was no confirmation. Add --yes", code="missing-option", field="--yes"
        ) from None


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
    """Count the exported participants, and the excluded ones by reason."""
    finished = [person for person in everybody if person.finished]
    yield f"{plural(len(everybody), 'participant')} took part, {len(finished):,} finished, {len(exported):,} exported"
    if len(finished) < len(everybody):
        n = len(everybody) - len(finished)
        yield f"{plural(n, 'unfinished participant')} {'included' if unfinished else 'excluded'}"
    for rule in exclusion.rules:
        if n := sum(rule in exclusion.reasons(person) for person in finished):
            yield f"{plural(n, 'participant')} {'would be excluded' if keep_all else 'excluded'} by the rule {rule}"
