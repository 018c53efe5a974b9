"""Test the classification of rationales against plain loops, hand-computed values and invariants.

All embeddings are synthetic.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from spotball_core.errors import OptionError
from spotball_core.reasoning.classify import EMPTY, TIE, classify
from spotball_core.reasoning.similarity import cosines, unit
from spotball_core.reasoning.templates import load_templates
from spotball_core.typing import FloatArray
from tests.failures import raises

SETS = {"pose": [[1.0, 0.0]], "gaze": [[0.0, 1.0]]}


def plain_cosine(a: FloatArray, b: FloatArray) -> float:
    dot = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    return dot / (math.sqrt(sum(float(x) ** 2 for x in a)) * math.sqrt(sum(float(y) ** 2 for y in b)))


def drawn(seed: int) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return random embeddings of 30 texts, and of three sets of templates."""
    rng = np.random.default_rng(seed)
    sets = {f"set {place}": rng.normal(size=(size, 7)) + 0.5 for place, size in enumerate((3, 4, 2))}
    return rng.normal(size=(30, 7)) + 0.5, sets


def test_cosines_equal_those_of_a_plain_loop_for_any_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, sets = drawn(0)
    columns = np.concatenate(list(sets.values()))
    expected = [[plain_cosine(row, column) for column in columns] for row in rows]
    np.testing.assert_allclose(cosines(rows, columns), expected, atol=1e-14)
    np.testing.assert_allclose(cosines(rows.astype(np.float32), columns), expected, atol=1e-6)
    monkeypatch.setattr("spotball_core.reasoning.similarity._BLOCK", 20)
    np.testing.assert_allclose(cosines(rows, columns), expected, atol=1e-14)


def test_classify_similarity_to_a_set_is_the_mean_cosine_over_its_templates() -> None:
    rows, sets = drawn(2)
    found = classify(rows, sets, centered=False)
    for row, similarity, number, margin in zip(rows, found.similarity, found.category, found.margin, strict=True):
        means = [float(np.mean([plain_cosine(row, column) for column in some])) for some in sets.values()]
        np.testing.assert_allclose(similarity, means, atol=1e-14)
        assert number == int(np.argmax(means))
        assert margin == pytest.approx(sorted(means)[-1] - sorted(means)[-2], abs=1e-14)
    assert found.offset.tolist() == [0.0, 0.0, 0.0]


def test_classify_centered_on_the_rationales_equals_hand_computed_values() -> None:
    # The cosines with pose and gaze are 0.6 and 0.8 for (3, 4), 1 and 0 for (1, 0), and 0 and 1 for (0, 1).
    # Their means are 1.6 / 3 and 1.8 / 3.
    found = classify([[3.0, 4.0], [1.0, 0.0], [0.0, 1.0]], SETS, centered=True)
    np.testing.assert_allclose(found.offset, [1.6 / 3, 0.6])
    np.testing.assert_allclose(found.similarity[0], [0.6 - 1.6 / 3, 0.2])
    assert found.labels == ["gaze", "pose", "gaze"]
    np.testing.assert_allclose(found.margin[0], 0.4 / 3)


def test_classify_centered_on_reference_texts_with_or_without_weights_equals_hand_computed_values() -> None:
    # The neutral text (4, 3) has cosine 0.8 with pose and 0.6 with gaze: pose has an advantage of 0.2.
    # A rationale that is closer to pose by less than 0.2 changes its category.
    rationales = [[0.7, 0.6], [0.9, 0.2], [0.6, 0.7]]
    assert classify(rationales, SETS, centered=False).labels == ["pose", "pose", "gaze"]
    fair = classify(rationales, SETS, centered=True, reference=[[4.0, 3.0]])
    np.testing.assert_allclose(fair.offset, [0.8, 0.6])
    assert fair.labels == ["gaze", "pose", "gaze"]
    assert fair.margin[0] == pytest.approx(0.2 - 0.1 / math.sqrt(0.85))
    reference = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    weighted = classify([[1.0, 1.0]], SETS, centered=True, reference=reference, weights=[0.5, 0.5, 1.0])
    np.testing.assert_allclose(weighted.offset, [0.5, 0.5])


def test_classify_labels_zero_or_non_finite_embeddings_as_empty_and_equal_similarities_as_tie() -> None:
    rows = [[0.0, 0.0], [np.nan, 1.0], [np.inf, 0.0], [1.0, 1.0], [1e-200, 0.0], [1e200, 1e199]]
    found = classify(rows, SETS, centered=False)
    assert found.category.tolist() == [EMPTY, EMPTY, EMPTY, TIE, 0, 0]
    assert found.labels == ["empty", "empty", "empty", "tie", "pose", "pose"]
    assert np.isnan(found.margin[:3]).all()
    assert found.margin[3] == 0.0
    assert np.isnan(found.similarity[:3]).all()
    assert classify(np.empty((0, 2)), SETS, centered=False).labels == []
    # Texts with zero or non-finite embeddings do not enter the offset.
    np.testing.assert_allclose(classify(rows[:4], SETS, centered=True).offset, [math.sqrt(0.5)] * 2)


@pytest.mark.parametrize(
    ("sets", "options", "said"),
    [
        ({"one": [[1.0, 0.0]]}, {}, "invalid-option:templates"),
        ({"one": [[1.0, 0.0]], "two": [[1.0]]}, {}, "wrong-shape:templates"),
        ({"one": [[1.0, 0.0]], "two": np.empty((0, 2))}, {}, "wrong-shape:templates"),
        ({"one": [[1.0, 0.0, 0.0]], "two": [[1.0, 0.0, 0.0]]}, {}, "wrong-shape"),
        ({"one": [[1.0, 0.0]], "two": [[0.0, 0.0]]}, {}, "unusable-model"),
        (SETS, {"centered": True, "reference": np.empty((0, 2))}, "cannot-estimate"),
        (SETS, {"centered": True, "weights": [-1.0]}, "wrong-shape:weights"),
        (SETS, {"centered": True, "weights": [1.0, 1.0]}, "wrong-shape:weights"),
        (SETS, {"centered": True, "weights": [0.0]}, "cannot-estimate"),
    ],
)
def test_classify_with_unusable_input_raises_option_error(
    sets: dict[str, object], options: dict[str, object], said: str
) -> None:
    with raises(OptionError, said):
        classify([[1.0, 0.5]], sets, **{"centered": False, **options})  # type: ignore[arg-type]


seeds = st.integers(0, 10_000)


@given(seeds, hnp.arrays(float, 30, elements=st.floats(1e-3, 1e3)), st.booleans())
def test_classify_does_not_depend_on_the_length_of_embeddings(seed: int, lengths: FloatArray, centered: bool) -> None:
    rows, sets = drawn(seed)
    one, other = (classify(each, sets, centered=centered) for each in (rows, rows * lengths[:, None]))
    np.testing.assert_allclose(one.similarity, other.similarity, atol=1e-12)
    assert one.labels == other.labels
    np.testing.assert_allclose(unit(rows), unit(rows * lengths[:, None]), atol=1e-12)


@given(seeds, st.booleans())
def test_classify_does_not_depend_on_the_order_of_rows_templates_or_categories(seed: int, centered: bool) -> None:
    rows, sets = drawn(seed)
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    one = classify(rows, sets, centered=centered)
    assert classify(rows[shuffled], sets, centered=centered).category.tolist() == one.category[shuffled].tolist()
    turned = {name: some[::-1] for name, some in sets.items()}
    assert classify(rows, turned, centered=centered).labels == one.labels
    # The order and the names of the categories do not matter.
    renamed = {f"new {name}": some for name, some in reversed(sets.items())}
    assert [label.removeprefix("new ") for label in classify(rows, renamed, centered=centered).labels] == one.labels


@given(seeds)
def test_classify_centered_similarities_to_each_set_have_mean_zero_over_rationales(seed: int) -> None:
    rows, sets = drawn(seed)
    found = classify(rows, sets, centered=True)
    np.testing.assert_allclose(found.similarity.mean(axis=0), 0.0, atol=1e-12)
    assert (found.margin >= 0).all()


def test_bag_of_words_embeddings_assign_each_template_to_its_own_category() -> None:
    # This embedding counts each word. The test shows that the sets are distinct, not that a model classifies well.
    templates = load_templates()
    vocabulary = sorted({word for text in templates.texts for word in text.lower().split()})
    bags = {
        name: np.array([[text.lower().split().count(word) for word in vocabulary] for text in texts])
        for name, texts in templates.categories.items()
    }
    for name, vectors in bags.items():
        assert set(classify(vectors, bags, centered=False).labels) == {name}
