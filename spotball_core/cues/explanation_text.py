"""Write the explanation of guesses by cues as text: a headline for each group, tables, and the signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spotball_core.cues.explanation_record import CueDifference, CueExplanation, CueReport, StatedCue
from spotball_core.schema.report import Interval, MetricValue, named_sports
from spotball_core.schema.result import Forms
from spotball_core.service.safe_text import printable
from spotball_core.text.numbers import say_p
from spotball_core.text.tables import Titled, paragraphs, tables_as_html, tables_as_text
from spotball_core.text.words import listed, plural

_LEADING = 0.15
"""A headline names the groups of cues that account for at least this share of the gain."""

_NOTHING = "–"

COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("sport", "respondent", "kind", "prompt"), str),
    "n_images": int,
    "n_guesses": float,
    **dict.fromkeys(("quantity", "cue"), str),
    **dict.fromkeys(("value", "ci95_low", "ci95_high"), float),
    **dict.fromkeys(("unit", "reason", "signature"), str),
}
"""Name and type of each column of a cue report's rows."""


def to_text(report: CueReport, *, to_terminal: bool = False) -> str:
    """Return the headlines, the tables and the notes, at full width or at the width of the terminal."""
    tables = tables_as_text(_tables(report), _foot(report), to_terminal=to_terminal)
    return f"{paragraphs(map(printable, headlines(report)), to_terminal=to_terminal)}\n{tables}"


def _html(report: CueReport) -> str:
    return tables_as_html(headlines(report), _tables(report), _foot(report).splitlines())


def frame_rows(report: CueReport) -> Iterator[tuple[object, ...]]:
    """Yield one row per group and quantity; `added` and `shapley` have a row per group of cues, `weight` per cue."""
    for group in report.groups:
        about = (group.sport, group.respondent, group.kind, group.prompt, group.n_images, group.n_guesses)
        for quantity, cue, value, unit in _values(group):
            low, high = value.ci95 or (None, None)
            yield (*about, quantity, cue, value.value, low, high, unit, value.reason, report.signature)


def _values(group: CueExplanation) -> Iterator[tuple[str, str | None, MetricValue, str]]:
    """Yield the name, the cue or group of cues, the value and the unit of each number of a group."""
    bits = "bits per guess"
    for quantity in ("gain", "base_gain", "body_gain", "explainable"):
        yield quantity, None, getattr(group, quantity), bits
    yield "explained", None, group.explained, "share"
    for quantity, values in (("added", group.added), ("shapley", group.shapley)):
        for cue, value in values.items():
            yield quantity, cue, value, bits
    for weight in group.weights:
        yield "weight", weight.key, MetricValue(value=weight.value, ci95=weight.ci95), "log odds"
    for quantity, number, unit in (
        ("detectable", group.detectable, bits),
        ("mirror_p", group.mirror_p, "probability"),
        ("mirrored", group.mirrored, bits),
    ):
        if number is not None:
            yield quantity, None, MetricValue(value=number), unit


def headlines(report: CueReport) -> list[str]:
    """Return a text of a few sentences about the result of each group."""
    return [f"{group.name}: {headline(group)}" for group in report.groups]


def headline(group: CueExplanation) -> str:
    """Return a few sentences about which cues the guesses of a group follow."""
    if group.gain.value is None:
        return f"the guesses were not explained, because {group.gain.reason}."
    if group.gain.value <= 0:
        return "the cues do not predict the guesses better than uniform guessing."
    shares = {key: (share.value or 0.0) / group.gain.value for key, share in group.shapley.items()}
    leading = [key for key in sorted(shares, key=lambda key: -shares[key]) if shares[key] >= _LEADING]
    named = listed([f"{key} ({shares[key]:.0%})" for key in leading])
    explained = ""
    if group.explained.value is not None:
        # The ceiling is a lower bound, so the explained share may exceed 1.
        share = group.explained.value
        explained = f" ({share:.0%} of the explainable gain)" if share < 1 else " (all of the explainable gain)"
    sentences = [f"cues predict guesses better than uniform guessing, by {_bits(group.gain)}{explained}."]
    if named:
        sentences.append(f"Most of the gain comes from {named}.")
    sentences.append(_body_sentence(group))
    if group.mirror_p is not None:
        sentences.append(
            f"If random players are mirrored left to right, this gain is {group.mirrored:.3f} bits on average "
            f"(permutation test: p {say_p(group.mirror_p)})."
        )
    return " ".join(sentences)


def _body_sentence(group: CueExplanation) -> str:
    gain = group.body_gain
    if gain.value is None:
        return f"Body cues were not tested, because {gain.reason}."
    if gain.ci95 is None:
        return f"Body cues add {_bits(gain)} to the gain of place and player cues."
    if gain.ci95[0] > 0:
        clear = [key for key, added in group.added.items() if added.ci95 is not None and added.ci95[0] > 0]
        by = "" if not clear else f"; {listed(clear)} alone also {'adds' if len(clear) == 1 else 'add'} a clear gain"
        return f"Body cues add {_bits(gain)} to the gain of place and player cues{by}."
    least = "" if group.detectable is None else f" The test has 80% power for a gain of {group.detectable:.3f} bits."
    return f"Body cues do not clearly add to the gain of place and player cues: {_bits(gain)}.{least}"


def _bits(value: MetricValue) -> str:
    if value.value is None:
        return _NOTHING
    return f"{value.value:z.3f} bits per guess{_interval(value.ci95, ' ')}"


def _interval(ends: Interval | None, before: str, digits: int = 3) -> str:
    return "" if ends is None else f"{before}[{ends[0]:z.{digits}f}, {ends[1]:z.{digits}f}]"


def _cell(value: MetricValue | None, digits: int = 3) -> str:
    """Format a value and its interval, on two lines."""
    if value is None or value.value is None:
        return _NOTHING
    return f"{value.value:.{digits}f}{_interval(value.ci95, chr(10), digits)}"


def _name_heads(report: CueReport) -> list[str]:
    """Return the headings of the columns of names, without sports if they are not given."""
    named = named_sports(group.sport for group in report.groups)
    return [*(["Sport"] if named else []), "Respondent", "Prompt"]


def _name(group: CueExplanation | CueDifference | StatedCue, heads: Sequence[str]) -> list[str]:
    return [getattr(group, head.lower()) or "" for head in heads]


def _tables(report: CueReport) -> Iterator[Titled]:
    groups = [group for group in report.groups if group.gain.value is not None]
    if not groups:
        return
    names = _name_heads(report)
    heads = ["Images", "Guesses", "All cues", "Places, players", "Body cues", "Explainable", "Explained"]
    rows = [
        [
            *_name(group, names),
            f"{group.n_images}",
            f"{group.n_guesses:,.10g}",
            *map(_cell, (group.gain, group.base_gain, group.body_gain, group.explainable)),
            _cell(group.explained, 2),
        ]
        for group in groups
    ]
    yield (
        "Held-out gain in bits per guess. Body cues: what they add to the gain of place and player cues",
        len(names),
        [*names, *heads],
        rows,
    )
    added = _keys([group.added for group in groups])
    if added:
        rows = [[*_name(group, names), *(_cell(group.added.get(key)) for key in added)] for group in groups]
        yield (
            "What each group of body cues adds to the gain of place and player cues, in bits per guess",
            len(names),
            [*names, *added],
            rows,
        )
    shared = _keys([group.shapley for group in groups])
    rows = [[*_name(group, names), *(_cell(group.shapley.get(key)) for key in shared)] for group in groups]
    yield (
        "Part of the gain that is due to each group of cues (Shapley value), in bits per guess",
        len(names),
        [*names, *shared],
        rows,
    )
    weights = [{weight.key: MetricValue(value=weight.value, ci95=weight.ci95) for weight in g.weights} for g in groups]
    cues = _keys(weights)
    rows = [[*_name(g, names), *(_cell(w.get(key), 2) for key in cues)] for g, w in zip(groups, weights, strict=True)]
    yield (
        "Weight of each cue: change in log odds per typical standard deviation of the cue",
        len(names),
        [*names, *cues],
        rows,
    )
    if report.differences:
        reference = report.differences[0].reference
        heads = ["Images", "All cues", "Body cues", *shared]
        rows = [
            [
                *_name(difference, names),
                f"{difference.n_images}",
                _cell(difference.gain),
                _cell(difference.body_gain),
                *(_cell(difference.shapley.get(key)) for key in shared),
            ]
            for difference in report.differences
        ]
        yield (
            f"Gains and Shapley values minus those of {reference}, on images that both answered",
            len(names),
            [*names, *heads],
            rows,
        )
        rows = [
            [*_name(difference, names), *(_cell(difference.weights.get(key), 2) for key in cues)]
            for difference in report.differences
        ]
        yield f"Weight of each cue minus its weight for {reference}", len(names), [*names, *cues], rows
    if report.stated:
        yield _stated_table(report)


def _stated_table(report: CueReport) -> Titled:
    names = _name_heads(report)
    heads = ["Category", "Cues", "Images", "Rationales", "Mean share", "Rank correlation", "p"]
    rows = [
        [
            *_name(stated, names),
            *(stated.category, ", ".join(stated.cues) or _NOTHING),
            *(f"{stated.n_images}", f"{stated.n_rationales:,}"),
            _NOTHING if stated.share is None else f"{stated.share:.0%}",
            stated.reason or "" if stated.correlation is None else f"{stated.correlation:.2f}",
            _NOTHING if stated.p is None else say_p(stated.p).removeprefix("= "),
        ]
        for stated in report.stated
    ]
    return (
        "Stated and followed cues: do guesses follow a cue on images where rationales mention it?",
        len(names) + 2,
        [*names, *heads],
        rows,
    )


def _keys(values: Sequence[dict[str, MetricValue]]) -> list[str]:
    return list(dict.fromkeys(key for value_by_key in values for key in value_by_key))


def _foot(report: CueReport) -> str:
    notes: dict[str, list[str]] = {}
    for group in report.groups:
        for note in group.notes:
            notes.setdefault(note, []).append(group.name)
    lines = [f"Note: {note} ({_groups(names, len(report.groups))})." for note, names in notes.items()]
    return "\n".join([*lines, *(f"Warning: {warning}" for warning in report.warnings), report.signature])


def _groups(names: Sequence[str], n_groups: int) -> str:
    if len(names) == n_groups > 1:
        return "all groups"
    return plural(len(names), "group") if len(names) > 3 else listed(names)


FORMS = Forms(text=to_text, html=_html, columns=COLUMNS, rows=frame_rows)
