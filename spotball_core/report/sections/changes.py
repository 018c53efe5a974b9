"""Write the section on what changed from an earlier run to the report's run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from spotball_core.metrics.registry import METRICS
from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.report.numbers.change_records import Change, GroupKey, RunChanges
from spotball_core.report.numbers.records import HEADLINE
from spotball_core.report.sections.tables import head, names
from spotball_core.report.view import PageView
from spotball_core.text.numbers import ALPHA, interval, more_or_less, number, points, quantity, say_p, unit_of
from spotball_core.text.words import listed, plural, within

_MOST_SENTENCES = 20
"""Maximum number of real changes that are described in sentences; the table marks all of them."""

_MOST_NAMES = 5
"""Maximum number of images that a sentence names."""

_OPEN_ROWS = 24
"""Maximum number of rows of a table that the page shows open; longer tables are folded."""


def changes(view: PageView, numbers: RunChanges) -> Section:
    """Return the section on real changes (see `Change.real`) and the runs' data, with a table of all changes."""
    points = (*change_sentences(view, numbers), *_data_sentences(view, numbers))
    signature = f"{view.report.signature}|before:{numbers.data_before[:8]}|perm:{numbers.permutations}"
    tables = ([_changes_table(view, numbers)] if numbers.changes else []) + [_answers_table(view, numbers)]
    return Section(
        *("changes", "What changed", _lead(view, numbers), points),
        short="Changes",
        tables=tuple(tables),
        signature=signature,
    )


def change_sentences(view: PageView, numbers: RunChanges) -> tuple[str, ...]:
    """Return sentences about the real changes (see `Change.real`), and about the number of the other changes."""
    real = [change for change in numbers.changes if change.real]
    sentences = [_sentence(view, numbers, change) for change in real[:_MOST_SENTENCES]]
    if left := len(real) - len(sentences):
        sentences.append(f"{plural(left, 'more change')} {'is' if left == 1 else 'are'} marked in the table.")
    n_other = sum(numbers.n_tests.values()) - len(real)
    if all(group.same_answers for group in numbers.groups):
        sentences.append("All compared answers are the same in both runs.")
    elif n_other and real:
        sentences.append(f"No other change can be distinguished from chance ({plural(n_other, 'other comparison')}).")
    elif n_other:
        sentences.append(f"No change can be distinguished from chance ({plural(n_other, 'comparison')}).")
    sentences += _could_be_seen(view, numbers)
    # A small number of images cannot show that nothing changed.
    if blind := [key for key, smallest in numbers.smallest_p.items() if smallest > ALPHA]:
        titles = listed([within(METRICS[key].title_under(view.policy)) for key in blind])
        n_images = max(group.n_images for group in numbers.groups)
        sentences.append(
            f"With {plural(n_images, 'image')}, no change of {titles} can be significant, because no corrected p value "
            f"can be below {min(numbers.smallest_p[key] for key in blind):.2g}."
        )
    return tuple(sentences)


def _could_be_seen(view: PageView, numbers: RunChanges) -> Iterator[str]:
    """State the smallest changes that the tests without a finding would detect."""
    could: dict[str, list[float]] = {}
    for change in numbers.changes:
        if not change.real and change.detectable is not None:
            could.setdefault(change.metric, []).append(change.detectable)
    parts = []
    for key, values in could.items():
        unit = unit_of(key, view.policy)
        least, most = points(min(values), unit), points(max(values), unit)
        parts.append(
            f"{within(METRICS[key].title_under(view.policy))} {least if least == most else f'{least} to {most}'}"
        )
    if parts:
        yield f"Changes that these images detect with 80% power: {'; '.join(parts)}."


def _sentence(view: PageView, numbers: RunChanges, change: Change) -> str:
    """Describe a real change in words."""
    unit = unit_of(change.metric, view.policy)
    name = _name(numbers, change)
    people = view.in_words(name) == "people"
    better = (change.difference > 0) == (METRICS[change.metric].direction == "higher")
    finds, guesses = ("find", "guess") if people else ("finds", "guesses")
    verb = {
        "accuracy": f"{finds} the ball {'more' if better else 'less'} often",
        "euclidean_error": f"{guesses} {'closer to' if better else 'farther from'} the ball",
        "wasserstein_matched": f"{guesses} {'more' if better else 'less'} like {view.reference_words}",
    }[change.metric]
    measure = "a distance of " if change.metric == "wasserstein_matched" else ""
    return (
        f"{'People' if people else name} {verb}{_in(change)}: {measure}{quantity(change.before, unit)} before, "
        f"{quantity(change.after, unit)} after ({more_or_less(change.difference, change.ci95, unit)})."
    )


def _in(group: GroupKey) -> str:
    return f" in {group.sport}" if group.sport else ""


def _signed(text: str, value: float) -> str:
    """Add a plus sign to a positive number, unless it is rounded to 0."""
    return f"+{text}" if value > 0 and any(digit in text for digit in "123456789") else text


def _name(numbers: RunChanges, group: GroupKey) -> str:
    """Return a respondent's name, with the prompt if the runs have several of its prompts."""
    known = (*numbers.groups, *numbers.not_compared, *numbers.only_before, *numbers.only_after)
    prompts = {key.prompt for key in known if key.respondent == group.respondent}
    return f"{group.respondent} {group.prompt}" if len(prompts) > 1 else str(group.respondent)


def _lead(view: PageView, numbers: RunChanges) -> tuple[str, ...]:
    n_images = plural(numbers.n_images, "image")
    compared = (
        "“Before” is an earlier run, and “after” is the run of this report. This version of spotball-core scores both "
        f"runs with the same policy, on {n_images} with the same scene in both runs."
    )
    excludes_0 = " and its interval excludes 0" if view.policy.bootstrap else ""
    real = (
        f"A change is real if p is at most {ALPHA:g} after Holm's correction for all comparisons of the same metric"
        f"{excludes_0}. The test swaps the answers of the two runs within images, so it accounts for the sampling "
        "noise of the answers. It does not show why the runs differ."
    )
    return compared, real


# Data ----------------------------------------------------------------------------------------------------------


def _data_sentences(view: PageView, numbers: RunChanges) -> Iterator[str]:
    """Yield sentences about how the runs differ in respondents, images, parsing and warnings."""
    same = [group for group in numbers.groups if group.same_answers]
    if same and len(same) < len(numbers.groups):
        yield f"These respondents have the same answers in both runs: {_groups(numbers, same)}."
    if numbers.only_before:
        yield f"Only the earlier run contains {_groups(numbers, numbers.only_before)}."
    if numbers.only_after:
        yield f"Only the later run contains {_groups(numbers, numbers.only_after)}."
    yield from _image_sentences(numbers)
    if numbers.same_reference is False:
        yield (
            f"The responses of {view.reference_words} differ between the runs. All distances use those of the later "
            "run."
        )
    earlier, later = numbers.parse_policies_before, view.report.provenance.parse_policies
    if earlier != later:
        before, after = (
            f"the policy {' and '.join(policies)}" if policies else "a policy that is not recorded"
            for policies in (earlier, later)
        )
        yield f"The earlier run parsed replies with {before}, the later run with {after}."
    reasons: dict[tuple[str | None, str], list[GroupKey]] = {}
    for one in numbers.not_compared:
        reasons.setdefault((one.metric, one.reason), []).append(one)
    for (metric, reason), groups in reasons.items():
        what = f"{within(METRICS[metric].title_under(view.policy))} of " if metric else ""
        yield f"Not compared: {what}{_groups(numbers, groups)} ({reason})."
    for warning in numbers.warnings_before:
        yield f"Warning about the earlier run: {warning}"


def _image_sentences(numbers: RunChanges) -> Iterator[str]:
    images = numbers.images
    for run, only in (("earlier", images.only_before), ("later", images.only_after)):
        if only:
            was = "was" if len(only) == 1 else "were"
            yield f"{plural(len(only), 'image')} {was} answered only in the {run} run: {_some(only)}."
    if images.excluded:
        scenes = [f"{one.sport}/{one.image} ({', '.join(one.fields)})" for one in images.excluded]
        why = (
            "is not compared, because its scene differs"
            if len(scenes) == 1
            else "are not compared, because their scenes differ"
        )
        yield f"{plural(len(scenes), 'image')} {why} between the runs: {_some(scenes)}."
    if images.other_players:
        n = len(images.other_players)
        yield (
            f"The players of {plural(n, 'image')} differ between the runs: {_some(images.other_players)}. "
            f"{'This image is' if n == 1 else 'These images are'} still compared, because the metrics of this section "
            "do not use players."
        )


def _some(images: Sequence[str]) -> str:
    more = len(images) - _MOST_NAMES
    return ", ".join(images[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _groups(numbers: RunChanges, groups: Iterable[GroupKey]) -> str:
    """List groups by name, each with its sports."""
    sports: dict[str, list[str]] = {}
    for group in groups:
        sports.setdefault(_name(numbers, group), []).append(group.sport or "")
    return ", ".join(f"{name} ({', '.join(where)})" for name, where in sports.items())


# Tables --------------------------------------------------------------------------------------------------------


def _changes_table(view: PageView, numbers: RunChanges) -> PageTable:
    groups = []
    for sport in dict.fromkeys(change.sport for change in numbers.changes):
        for key in HEADLINE:
            unit = unit_of(key, view.policy)
            rows = tuple(
                (
                    *names(change, view),
                    TableCell(number(change.before, unit)),
                    TableCell(number(change.after, unit)),
                    TableCell(
                        _signed(number(change.difference, unit), change.difference) + ("*" if change.real else ""),
                        interval(change.ci95, unit),
                    ),
                    TableCell(say_p(change.p).removeprefix("= ")),
                    TableCell(say_p(change.p_holm).removeprefix("= ")),
                    TableCell(f"{change.n_images}"),
                )
                for change in numbers.changes
                if (change.sport, change.metric) == (sport, key)
            )
            if rows:
                groups.append(TableRows(f"{sport}: {head(key, view)}" if sport else head(key, view), rows))
    brackets = " Brackets show 95% bootstrap intervals over images." if view.policy.bootstrap else ""
    text = f"The difference is after minus before.{brackets} An asterisk marks real changes."
    heads = ("Respondent", "Prompt", "Before", "After", "Difference", "p", "p (Holm)", "Images")
    fold = "Table of all changes" if len(numbers.changes) > _OPEN_ROWS else ""
    return PageTable("every-change", text, heads, 2, tuple(groups), fold)


def _answers_table(view: PageView, numbers: RunChanges) -> PageTable:
    groups = []
    for sport in dict.fromkeys(group.sport for group in numbers.groups):
        rows = tuple(
            (
                *names(group, view),
                TableCell(f"{group.n_images}"),
                TableCell(f"{group.responses_before:,.10g}"),
                TableCell(f"{group.responses_after:,.10g}"),
                TableCell(f"{group.unparsed_before:,.10g}"),
                TableCell(f"{group.unparsed_after:,.10g}"),
            )
            for group in numbers.groups
            if group.sport == sport
        )
        groups.append(TableRows(sport or "", rows))
    heads = (
        "Respondent",
        "Prompt",
        "Images",
        "Responses before",
        "Responses after",
        "Unparsed before",
        "Unparsed after",
    )
    text = "Number of responses to the compared images in each run."
    return PageTable("compared-answers", text, heads, 2, tuple(groups), "Number of compared responses")
