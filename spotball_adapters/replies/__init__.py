"""Parse replies: read the cell that a reply answers with.

The policy `strict` reads only the format that the prompts request. The policy `lenient` reads a reply as a careful
person would. Policies such as `point-1000` and `box-gemini` read a point, or the center of a box, in coordinates of a
scale. No policy guesses: an ambiguous reply is unparsed, with the reason.
"""

from __future__ import annotations

from typing import cast

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.lenient import parse_leniently
from spotball_adapters.replies.points import PointAnswer, parse_point
from spotball_adapters.replies.result import PROBLEMS, Parsed, Problem
from spotball_adapters.replies.strict import parse_strictly
from spotball_core.counting.parse_record import PARSE_POLICIES, ParsePolicy
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.io.answer_options import PointScale

__all__ = ["DEFAULT_POLICY", "POLICIES", "PROBLEMS", "ParsePolicy", "Parsed", "Problem", "parse_reply"]

CELL_POLICIES: tuple[ParsePolicy, ...] = ("strict", "lenient")
POLICIES = PARSE_POLICIES

DEFAULT_POLICY: ParsePolicy = "strict"


def parse_reply(text: str, grid: Grid, *, policy: ParsePolicy = DEFAULT_POLICY, finish: Finish = "stop") -> Parsed:
    """Return the cell that a reply answers with. The time is proportional to the reply's length.

    Args:
        text: the reply, unchanged.
        grid: the grid whose cells are the possible answers.
        policy: "strict" reads only the format that the prompts request; "lenient" also reads answers in free text;
            "point-SCALE" and "box-SCALE" read coordinates, where SCALE is a key of `points.CONVENTIONS`.
        finish: why the reply ended: stop, length, filtered, refused or other.

    Raises:
        OptionError: if the policy is unknown.

    Examples:
        >>> parse_reply("Reasoning: They look left.\\nCell: **d-4**", Grid.standard())
        Parsed(cell='D4', reasoning='They look left.', problem=None, continued=False)
        >>> parse_reply("The ball is most likely in D4.", Grid.standard(), policy="strict").problem
        'no answer'
        >>> parse_reply("The ball is most likely in D4.", Grid.standard(), policy="lenient").cell
        'D4'
        >>> parse_reply("(594, 611)", Grid.standard(), policy="point-1000").cell
        'D6'
    """
    if policy not in POLICIES:
        raise OptionError(
            f"parse policy {policy!r} does not exist. Use one of {', '.join(POLICIES)}.", code="unknown-name"
        )
    if policy in CELL_POLICIES:
        parse = parse_leniently if policy == "lenient" else parse_strictly
        return parse(text, grid, finish=finish)
    answer, _, scale = policy.partition("-")
    return parse_point(text, grid, finish=finish, answer=cast("PointAnswer", answer), scale=cast("PointScale", scale))
