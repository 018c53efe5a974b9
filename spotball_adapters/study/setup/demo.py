"""Create demo studies with synthetic scenes, or with synthetic pictures of people at tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from spotball_adapters.study.setup.config import CONFIG
from spotball_adapters.study.setup.init import init_study
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import write_scenes
from spotball_core.service.files import replacing
from spotball_core.synthetic.pictures import write_scene_pictures
from spotball_core.synthetic.scenes import synthetic_scenes

N_SCENES, SHOWN, EXPLAINED = 60, 10, 2
PHOTOS, PHOTO_CHECKS, SIDE = 20, 3, 448
"""Size of the demo study with the task `choice`: the total number of photos in its two lists, the number of attention
checks, and the side length of a photo in pixels (the same as in the gaze paper)."""

_TEXTS = {
    "consent": """\
**This is a demo of a study about how people understand a scene.** All scenes are synthetic, so the answers cannot be
used for research.

In a real study, this page explains who conducts it and why, what participants do, what is stored, that taking part is
voluntary, and whom to contact. The server deletes your answers when it stops.""",
    "debriefing": """\
**This was a demo with synthetic scenes.** In a real study, this page explains the purpose and the payment.""",
}


def demo_study(folder: Path) -> Path:
    """Create a demo study with synthetic scenes, which a participant completes in a few minutes.

    Args:
        folder: an empty or new folder. The dataset is written to its subfolder `data`, the study to `study`.

    Returns:
        The study's folder.

    Raises:
        MissingExtraError: if Pillow is not installed.
    """
    data, study = folder / "data", folder / "study"
    write_scenes(write_scene_pictures(synthetic_scenes(N_SCENES), data), data / SCENES)
    config = init_study(data, study, images=SHOWN)
    _adapt(study, {f"explanations = {config.explanations}\n": f"explanations = {EXPLAINED}\n"})
    return study


def demo_choices(folder: Path) -> Path:
    """Create a demo study with synthetic pictures of people; participants choose the object that the person looks at.

    For the argument, the return value and errors, see `demo_study`.
    """
    from spotball_adapters.gaze.training.pictures import design_plans, draw_set

    data, study = folder / "data", folder / "study"
    plans = design_plans()
    easy = [plan for plan in plans if len(plan.stimulus.objects) == 2 and plan.stimulus.proximity == 1]
    checks = [plan for plan in easy if plan.stimulus.condition == "congruent"][:PHOTO_CHECKS]
    photos = [plan for plan in plans if plan not in checks][:: len(plans) // PHOTOS][:PHOTOS]
    marked = [replace(plan, stimulus=plan.stimulus.model_copy(update={"attention_check": True})) for plan in checks]
    draw_set([*photos, *marked], data, size=SIDE, seed=0)
    init_study(data, study, task="choice", images=PHOTOS // 2)
    _adapt(study, {})
    return study


def _adapt(study: Path, changes: Mapping[str, str]) -> None:
    """Change a study.toml: replace each text in the keys of `changes` by its value, and set the title, completion code
    and pay of the demo.
    """
    text = (study / CONFIG).read_text(encoding="utf-8")
    for before, after in changes.items():
        text = text.replace(before, after)
    text = re.sub(r'^title = "(.*)"$', r'title = "\1: a demo"', text, flags=re.MULTILINE)
    text = text.replace('# code = "XXXXXXXX"', 'code = "SYNTHETIC"').replace('"AMOUNT an hour"', '"nothing"')
    text = text.replace("bonus = 1.00", "bonus = 0.00")
    for name, words in _TEXTS.items():
        text = re.sub(rf"^{name} = '''.*?'''$", f"{name} = '''\n{words}\n'''", text, flags=re.DOTALL | re.MULTILINE)
    with replacing(study / CONFIG) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
