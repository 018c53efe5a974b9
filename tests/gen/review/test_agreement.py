"""Test agreement of two reviewers against a plain computation and by hand, and where it is undefined."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from spotball_core.synthetic.scenes import synthetic_scenes
from spotball_gen.review.agreement import agreements, cohens_kappa, lines
from spotball_gen.review.material import ReviewImage
from spotball_gen.review.store import Decision
from tests.conftest import ROOT

SCENES = synthetic_scenes(3)
PIECES = [ReviewImage(scene, ROOT, None, first=scene is SCENES[0]) for scene in SCENES]


def plain(one: str, other: str) -> Fraction | None:
    """Return kappa from the counts of both answers, in exact fractions."""
    n = len(one)
    if not n:
        return None
    observed = Fraction(sum(a == b for a, b in zip(one, other, strict=True)), n)
    expected = sum((Fraction(one.count(c), n) * Fraction(other.count(c), n) for c in "xyz"), Fraction())
    return None if expected == 1 else (observed - expected) / (1 - expected)


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), max_size=40))
def test_cohens_kappa_equals_a_plain_computation(pairs: list[tuple[str, str]]) -> None:
    one, other = ("".join(pair[i] for pair in pairs) for i in (0, 1))
    found, expected = cohens_kappa(one, other), plain(one, other)
    assert found.n == len(pairs)
    assert (found.kappa is None) == (expected is None) == (found.undefined is not None)
    if expected is not None:
        assert found.kappa == pytest.approx(float(expected), abs=1e-12)
        assert found.kappa == cohens_kappa(other, one).kappa


def test_cohens_kappa_equals_a_hand_calculation() -> None:
    # The observed agreement is (20 + 15) / 50 = 0.7, and by chance it is 0.5 x 0.6 + 0.5 x 0.4 = 0.5.
    one, other = "y" * 25 + "n" * 25, "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15
    found = cohens_kappa(one, other)
    assert (found.n, found.agree) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4, abs=1e-15)
    assert (cohens_kappa("yn", "ny").kappa, cohens_kappa("ynyn", "ynyn").kappa) == (-1, 1)
    # If one reviewer always gives the same answer, agreement is not better than chance.
    assert cohens_kappa("yyyy", "yyyn").kappa == 0
    # Kappa is undefined without items or variation.
    nothing, same = cohens_kappa("", ""), cohens_kappa("yyy", "yyy")
    assert (nothing.agree, nothing.kappa, same.agree, same.kappa) == (None, None, 1.0, None)
    assert nothing.undefined == "there is no item that both reviewers decided on"
    assert same.undefined == "all decisions of both reviewers are the same"


def test_agreements_of_two_reviewers_ignore_undecided_images() -> None:
    first, second, third = (scene.key for scene in SCENES)
    box = (SCENES[0].players or ())[0].corners
    anna = {first: Decision("accept", None, (box,)), second: Decision("accept"), third: Decision()}
    ben = {first: Decision("accept"), second: Decision("reject", "other"), third: Decision("accept")}
    (pair,) = agreements({"anna": anna, "ben": ben}, PIECES)
    # Images that one reviewer has not decided on are ignored.
    assert (pair.verdicts.n, pair.verdicts.agree, pair.verdicts.kappa) == (2, 0.5, 0)
    assert pair.boxes.n == sum(len(scene.players or ()) for scene in SCENES[:2])
    assert pair.boxes.agree == pytest.approx(1 - 1 / pair.boxes.n)
    assert pair.differing == (second,)
    assert agreements({"anna": anna}, PIECES) == ()


def test_status_lines_describe_decisions_and_agreement() -> None:
    first, second = SCENES[0].key, SCENES[1].key
    gone = ("soccer", "gone")
    anna = {first: Decision("accept"), second: Decision("reject", "other"), gone: Decision("accept")}
    ben = {first: Decision("accept"), second: Decision("repaint", None, (), ((0, 0, 9, 9),))}
    told = list(lines({"anna": anna, "ben": ben}, PIECES))
    assert told[:6] == [
        "3 images (1 shown first: over a limit of the stage `check`, or inpainted again)",
        "anna decided on 2 of 3 images: 1 accepted, 1 rejected, 0 to inpaint again; 0 boxes unchecked",
        "  rejected: 1 other",
        "  1 more decisions on images that are no longer in the dataset",
        "ben decided on 2 of 3 images: 1 accepted, 0 rejected, 1 to inpaint again; 0 boxes unchecked",
        # Half of the verdicts agree, and a quarter would by chance.
        "anna and ben: verdicts: they agree on 50.0% of 2 images; Cohen's kappa 0.333",
    ]
    assert told[6].endswith("Cohen's kappa is not defined: all decisions of both reviewers are the same")
    assert told[7:] == [f"  {'/'.join(second)}: reject, repaint"]
    assert list(lines({}, PIECES))[1] == "there are no decisions yet"
    undefined = "anna and ben: verdicts: Cohen's kappa is not defined: there is no item that both reviewers decided on"
    assert undefined in lines({"anna": {}, "ben": {}}, PIECES)
