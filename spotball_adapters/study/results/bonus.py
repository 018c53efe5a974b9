"""What a participant's accuracy earns, and who is paid it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from spotball_adapters.study.results.participations import Participation
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_cells

HEADS = ("PROLIFIC_PID", "amount")


def amount(person: Participation, most: Decimal) -> Decimal:
    """The bonus: `most` times accuracy over the test images, rounded down to cents.

    Accuracy is the share of clicks in cells that hold the ball; checks and images of unknown truth are left out.

    Args:
        person: what somebody did.
        most: what all clicks right would earn, at least 0.

    Returns:
        From 0.00 to `most`, with two decimals.
    """
    hits = person.test_hits
    # As a fraction: nothing is rounded but the end.
    cents = Fraction(most) * 100 * sum(hits) // len(hits) if hits else 0
    return Decimal(cents).scaleb(-2)


def bonuses(people: Sequence[Participation], persons: Mapping[str, str], most: Decimal) -> dict[str, Decimal]:
    """The bonus of each person who earned one, in the order they began.

    Args:
        people: who is paid by accuracy.
        persons: the platform's ID of a person, by participant. Who has none is left out.
        most: what all clicks right would earn.
    """
    earned = {persons[person.participant]: amount(person, most) for person in people if person.participant in persons}
    return {person: sum_ for person, sum_ in earned.items() if sum_}


def write_bonuses(amounts: Mapping[str, Decimal], path: Path) -> None:
    """Write a CSV file with the columns `HEADS`, readable by its owner only, since it names people."""
    with replacing(path, mode=0o600) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADS)
        writer.writerows(csv_cells((person, f"{sum_:.2f}")) for person, sum_ in amounts.items())
