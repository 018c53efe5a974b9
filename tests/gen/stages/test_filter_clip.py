"""Test the CLIP filter with a tiny model that is loaded and run on the CPU."""

from __future__ import annotations

import math
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.items.item import Item, Sport
from spotball_gen.items.stage import Outcome
from spotball_gen.pipeline.config import find
from spotball_gen.stages.filter_clip import Clip
from tests.failures import raises
from tests.gen.making import context_of, item_of, printed_offline
from tests.gen.tiny_models import save_clip

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
torch = pytest.importorskip("torch", reason="PyTorch is not installed: it comes with the local extra")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: it comes with the local extra"
)
Pictures = pytest.importorskip("PIL.Image", reason="Pillow is not installed: it comes with the local extra")

PROMPTS = ("a picture of soccer players in action with ball", "Fußball!")
Scores = dict[str, float]
SPORTS = {"soccer": Sport(prompts=PROMPTS), "tennis": Sport(prompts=("tennis",))}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clip(tmp_path_factory.mktemp("models") / "tiny-clip")


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> list[Item]:
    """Return images of noise on different colors, so that their scores differ."""
    work, rng = tmp_path_factory.mktemp("work"), np.random.default_rng(0)
    made = []
    for number in range(11):
        pixels = rng.integers(0, 60, (90, 160, 3)) + rng.integers(0, 195, (1, 1, 3))
        sport = "tennis" if number % 3 == 2 else "soccer"
        made.append(item_of(pixels.astype(np.uint8), work, f"match-{number:09}", sport))
    return made


def stage(model: Path, folder: Path | None = None, **settings: Any) -> Clip:
    made = Clip.Settings.model_validate({"model": str(model), "device": "cpu", **settings})
    clip: Clip = Clip(made, context_of(model.parent, sports=SPORTS, folder=folder or Path()))
    return clip


def scores_of(outcome: Outcome) -> Scores:
    assert not outcome.failures
    return {item.id: item.scores["clip"] for item in outcome.items} | {
        reject.item: reject.scores["clip"] for reject in outcome.rejects
    }


@pytest.fixture(scope="module")
def scores(model: Path, items: list[Item]) -> Scores:
    """Return the scores of all items, computed together."""
    return scores_of(stage(model, threshold=-1).process(items))


def test_clip_scores_equal_a_full_forward_pass_of_transformers(model: Path, items: list[Item], scores: Scores) -> None:
    """Compare with the forward pass on text and image together, one image at a time."""
    whole = transformers.CLIPModel.from_pretrained(model).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    for item in items:
        text = tokenizer(list(SPORTS[item.sport].prompts), padding=True, return_tensors="pt")
        pixels = processor(images=Pictures.fromarray(item.image), return_tensors="pt")
        with torch.inference_mode():
            logits = whole(**text, **pixels).logits_per_image / whole.logit_scale.exp()
        assert scores[item.id] == pytest.approx(logits.max().item(), abs=6e-5)
    assert len({round(score, 3) for score in scores.values()}) > 5


def test_items_not_above_the_threshold_are_rejected(model: Path, items: list[Item], scores: Scores) -> None:
    threshold = sorted(scores.values())[4]
    outcome = stage(model, threshold=threshold).process(items)
    assert [item.id for item in outcome.items] == [item.id for item in items if scores[item.id] > threshold]
    assert len(outcome.rejects) == 5
    for reject in outcome.rejects:
        assert (reject.stage, reject.reason) == ("filter", "unlike the prompts")
        assert reject.detail == f"{scores[reject.item]:.4f} is not above {threshold:g}"


def test_clip_score_does_not_depend_on_the_order_of_items_or_the_batch(
    model: Path, items: list[Item], scores: Scores
) -> None:
    clip = stage(model, threshold=-1)
    assert scores_of(clip.process(items[::-1])) == scores
    assert {item.id: scores_of(clip.process([item]))[item.id] for item in items} == scores
    again = scores_of(stage(model, threshold=-1, batch_size=2).process(items[3:8]))
    assert again == {item.id: scores[item.id] for item in items[3:8]}


@pytest.mark.parametrize("lot", [2, 4, 16])
def test_image_vectors_in_a_batch_nearly_equal_those_of_single_images(lot: int, model: Path, items: list[Item]) -> None:
    """Compare image vectors computed in batches, as on a GPU, with image vectors computed one at a time."""
    loaded, images = stage(model, threshold=-1)._model, [item.image for item in items]
    assert loaded.image_vectors(images, lot) == pytest.approx(loaded.image_vectors(images, 1), abs=1e-5)


def test_top_share_keeps_the_best_items_of_each_sport(model: Path, items: list[Item]) -> None:
    clip = stage(model, top_share=0.3)
    assert clip.settles
    outcome = clip.process(items)
    assert not outcome.rejects
    scores = {item.id: item.scores for item in outcome.items}
    rejects = clip.settle(scores, {item.id: item.sport for item in items})
    left = scores.keys() - {reject.item for reject in rejects}
    for sport in SPORTS:
        mine = sorted((item.id for item in items if item.sport == sport), key=lambda ident: -scores[ident]["clip"])
        n_kept = math.ceil(0.3 * len(mine))
        assert left & set(mine) == set(mine[:n_kept])
        assert scores[mine[n_kept - 1]]["clip"] > scores[mine[n_kept]]["clip"]
    assert {reject.reason for reject in rejects} == {"not among the best"}
    assert rejects[0].detail == "rank 4 of 8; only the best 3 are kept"
    # Of items with equal scores, those with the earlier ids are kept.
    ids = [f"match-{number:09}" for number in range(4)]
    equal = {ident: {"clip": 0.5} for ident in reversed(ids)}
    rejects = stage(model, top_share=0.5, threshold=0.1).settle(equal, dict.fromkeys(ids, "soccer"))
    assert [reject.item for reject in rejects] == ids[2:]


def test_clip_settings_need_a_threshold_or_a_top_share_and_a_threshold_decides_on_each_item_alone(model: Path) -> None:
    with pytest.raises(ValidationError, match="`threshold`, `top_share`"):
        Clip.Settings.model_validate({})
    assert not stage(model, threshold=0.1).settles


def test_sport_without_prompts_or_with_a_too_long_prompt_raises_option_error(model: Path, items: list[Item]) -> None:
    clip = Clip(Clip.Settings.model_validate({"model": str(model), "threshold": 0}), context_of(model.parent))
    with raises(OptionError, "missing-option:filter"):
        clip.process(items[:1])
    sports = {"soccer": Sport(prompts=("ball " * 40,))}
    clip = Clip(clip.settings, context_of(model.parent, sports=sports))
    with raises(OptionError, "too-large:filter"):
        clip.process(items[:1])


def test_noted_weights_depend_on_file_content_not_on_location(model: Path, items: list[Item], tmp_path: Path) -> None:
    (note,) = {item.notes["filter"]["weights"] for item in stage(model, threshold=-1).process(items).items}
    assert note.startswith("tiny-clip@")
    shutil.copytree(model, tmp_path / "tiny-clip")
    # A relative path starts from the folder of the configuration.
    (same,) = stage(Path("tiny-clip"), threshold=-1, folder=tmp_path).process(items[:1]).items
    assert same.notes["filter"]["weights"] == note
    (other,) = stage(save_clip(tmp_path / "other" / "tiny-clip", seed=1), threshold=-1).process(items[:1]).items
    assert other.notes["filter"]["weights"] != note


def test_unsuitable_model_raises_option_error(items: list[Item], tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    transformers.BertConfig(hidden_size=16, num_attention_heads=1).save_pretrained(tmp_path / "bert")
    for name, where in (("bare", "unusable-model"), ("bert", "unusable-model:filter")):
        with raises(OptionError, where):
            stage(tmp_path / name, threshold=0).process(items[:1])


def test_missing_model_device_or_library_is_an_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raises(OptionError, "missing-file"):
        stage(tmp_path / "nothing", threshold=0)
    if not torch.cuda.is_available():
        with raises(OptionError, "unsupported-device"):
            stage(model, threshold=0, device="cuda")
        assert stage(model, threshold=0, device="auto").device == "cpu"
    monkeypatch.setitem(sys.modules, "transformers", None)
    with raises(MissingExtraError, "missing-extra"):
        stage(model, threshold=0)


def test_hub_model_without_network_raises_option_error(tmp_path: Path) -> None:
    code = (
        "import sys, numpy; from pathlib import Path; from tests.gen.making import *\n"
        "from spotball_gen.items.item import known_sports; from spotball_gen.stages.filter_clip import Clip\n"
        "work = Path(sys.argv[1]); context = context_of(work, sports=known_sports())\n"
        "clip = Clip(Clip.Settings.model_validate({'threshold': 0.2}), context)\n"
        "try: clip.process([item_of(numpy.zeros((9, 16, 3), numpy.uint8), work)])\n"
        "except ValueError as error: print(type(error).__name__, error.code, error)"
    )
    assert printed_offline(code, tmp_path).startswith(
        "OptionError unusable-model filter: openai/clip-vit-base-patch32: "
    )


def test_bfloat16_scores_nearly_equal_float32_scores(model: Path, items: list[Item], scores: Scores) -> None:
    coarse = scores_of(stage(model, threshold=-1, dtype="bfloat16").process(items))
    assert coarse != scores
    assert [coarse[ident] for ident in scores] == pytest.approx(list(scores.values()), abs=0.1)


def test_clip_stage_is_registered_and_gives_the_same_scores_after_pickling(
    model: Path, items: list[Item], scores: Scores
) -> None:
    assert find("filter", "clip") is Clip
    sent = pickle.loads(pickle.dumps(stage(model, threshold=-1)))
    assert scores_of(sent.process(items)) == scores
