"""Define a VLMEvalKit dataset class that reads the Spot the Ball dataset from the folder in SPOTBALL_DATASET.

Copy this file to `vlmeval/dataset/` and add `SpotTheBall` to `IMAGE_DATASET` in its `__init__.py`, or call `register`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.smp import load

from spotball_adapters.prompts.picture import encoded
from spotball_adapters.prompts.prompt import load_prompt
from spotball_adapters.replies import parse_reply
from spotball_core import Scene, read_scenes, score
from spotball_core.errors import OptionError

FOLDER = "SPOTBALL_DATASET"
"""The environment variable that names the folder with scenes.jsonl and the images."""

RESPONDENT = "model"

PROMPTS = {"SpotTheBall_base": "base", "SpotTheBall_cue": "cue"}
"""Names of the datasets, with the prompts from the paper that consist of one message."""


class SpotTheBall(ImageBaseDataset):  # type: ignore[misc, unused-ignore]
    """Dataset that asks for the ball removed from each image. It has one row per image and no control images."""

    TYPE = "VQA"
    DATASET_URL: ClassVar[dict[str, str]] = dict.fromkeys(PROMPTS, "")
    DEFAULT_JUDGE = ""

    def load_data(self, dataset: str) -> pd.DataFrame:
        """Write the images to files in `img_root`, and return a table with one question per image."""
        folder, pictures = _folder(), Path(self.img_root)
        pictures.mkdir(parents=True, exist_ok=True)
        prompt = load_prompt(PROMPTS[dataset])
        rows = []
        for index, scene in enumerate(scene for scene in _scenes() if not scene.control):
            path = pictures / f"{index}.png"
            path.write_bytes(encoded(scene, folder).data)
            (message,) = prompt.final(scene.sport)
            rows.append(
                {
                    "index": index,
                    "sport": scene.sport,
                    "image_id": scene.image,
                    "image_path": str(path.resolve()),
                    "question": message.text,
                    "answer": ",".join(scene.ball_cells or ()),
                }
            )
        return pd.DataFrame(rows)

    @classmethod
    def evaluate(cls, eval_file: str, **judge_kwargs: Any) -> dict[str, float]:
        """Return each defined metric of `spotball score` as SPORT|METRIC, and the mean accuracy over sports.

        Args:
            eval_file: the predictions that VLMEvalKit wrote.
            judge_kwargs: ignored; no model judges the replies.
        """
        scenes = _scenes()
        grids = {scene.key: scene.layout for scene in scenes}
        table = load(eval_file)
        rows = [
            {
                "sport": sport,
                "image": image,
                "respondent": RESPONDENT,
                "cell": parse_reply(str(reply), grids[sport, image]).cell,
            }
            for sport, image, reply in zip(
                table["sport"].astype(str), map(_id, table["image_id"]), table["prediction"], strict=True
            )
        ]
        values, accuracies = {}, []
        for group in score(rows, scenes, bootstrap=0).groups:
            defined = {key: result.value for key, result in group.metrics.items() if result.value is not None}
            values |= {f"{group.sport}|{key}": value for key, value in defined.items()}
            values[f"{group.sport}|n_unparsed"] = group.n_unparsed
            accuracies += [defined["accuracy"]] if "accuracy" in defined else []
        if accuracies:
            values["Overall|accuracy"] = sum(accuracies) / len(accuracies)
        return values


def register() -> None:
    """Register the class with VLMEvalKit without changes to its files."""
    from vlmeval import dataset

    if SpotTheBall not in dataset.DATASET_CLASSES:
        dataset.DATASET_CLASSES.append(SpotTheBall)
        dataset.SUPPORTED_DATASETS.extend(SpotTheBall.supported_datasets())


def _folder() -> Path:
    folder = os.environ.get(FOLDER)
    if not folder:
        raise OptionError(f"the dataset is missing. Set the environment variable {FOLDER} to its folder")
    return Path(folder)


def _scenes() -> list[Scene]:
    return list(read_scenes(_folder() / "scenes.jsonl"))


def _id(value: Any) -> str:
    # In Excel tables, 163 becomes a number, and in a column with gaps it becomes 163.0.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
