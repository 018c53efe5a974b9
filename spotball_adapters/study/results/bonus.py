"""Compute each participant's bonus, which depends on the participant's accuracy."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from spotball_adapters.study.results.exclusion import TIMES, Exclusion
from spotball_adapters.study.results.participations import Participation
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_cells

HEADS = ("PROLIFIC_PID", "amount")


def amount(person: Participation, most: Decimal) -> Decimal:
    """Return a participant's bonus: `most` times the accuracy on test images, rounded down to two decimals.

    Accuracy is the share of clicks in cells that contain the ball, or of correct choices. Attention checks and images
    without ground truth are excluded.

    Args:
        person: the participant.
        most: the bonus for an accuracy of 1; at least 0.

    Returns:
        An amount from 0.00 to `most`, with two decimals.
    """
    hits = person.test_hits
    # Use a fraction, so that only the final result is rounded.
    cents = Fraction(most) * 100 * sum(hits) // len(hits) if hits else 0
    return Decimal(cents).scaleb(-2)


def unpaid_rules(exclusion: Exclusion) -> tuple[str, ...]:
    """Return the names of the rules whose violation costs the bonus. The consent page states them."""
    return tuple(rule for rule in exclusion.rules if rule in TIMES)


def bonuses(people: Sequence[Participation], persons: Mapping[str, str], most: Decimal) -> dict[str, Decimal]:
    """Return the bonus of each person who earned more than 0, by platform ID, in the order of `people`.

    Args:
        people: participants who receive a bonus for accuracy.
        persons: platform IDs by participant label. Participants without an ID are excluded.
        most: the bonus for an accuracy of 1.
    """
    earned = {persons[person.participant]: amount(person, most) for person in people if person.participant in persons}
    return {person: sum_ for person, sum_ in earned.items() if sum_}


def write_bonuses(amounts: Mapping[str, Decimal], path: Path) -> None:
    """Write bonuses by platform ID as a CSV file with the columns `HEADS`. Only the file's owner can read it, because
    platform IDs identify people.
    """
    with replacing(path, mode=0o600) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADS)
        writer.writerows(csv_cells((person, f"{sum_:.2f}")) for person, sum_ in amounts.items())
