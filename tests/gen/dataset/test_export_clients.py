"""Test that the libraries for which the exports are made can load them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_gen.dataset.exports import FORMATS, export
from spotball_gen.items.pictures import decoded
from tests.conftest import ROOT
from tests.sharing import Prepared

pytestmark = [
    pytest.mark.slow,
    # The libraries emit warnings about themselves and each other.
    pytest.mark.filterwarnings("default"),
]


@dataclass(frozen=True)
class Exports:
    """A dataset and the folder of its exports; `parts` has the image names of each part of the split."""

    made: Path
    folder: Path
    scenes: dict[str, Scene]
    parts: dict[str, list[str]]

    @property
    def sizes(self) -> dict[str, int]:
        # Sizes depend on the version of OpenCV that wrote the videos.
        return {part: len(images) for part, images in self.parts.items()}


@pytest.fixture(scope="module")
def exports(made: Path, exported: Path) -> Exports:
    scenes = {scene.image: scene for scene in read_scenes(made / "scenes.jsonl")}
    splits = json.loads((made / "splits.json").read_text())
    return Exports(made, exported, scenes, {part: splits[part]["images"] for part in ("train", "test")})


def library(name: str) -> Any:
    package = name.partition(".")[0]
    return pytest.importorskip(name, reason=f"the package {package} is not installed: `make test-all` installs it")


@pytest.fixture
def datasets() -> Any:
    """Return the library `datasets` with its progress bars disabled."""
    found = library("datasets")
    found.disable_progress_bars()
    return found


def check_rows(rows: Any, exports: Exports) -> None:
    """Compare all rows with the scenes, and the decoded images with the files."""
    for row in rows:
        scene = exports.scenes[row["id"]]
        assert np.array_equal(np.asarray(row["image"]), decoded(exports.made / str(scene.path)))
        assert tuple(row["ball_cells"]) == scene.ball_cells
        assert tuple(row["ball_box"]) == scene.ball_box
        assert [tuple(box) for box in row["players"]] == [box.corners for box in scene.players or ()]
        assert [
            outline and tuple(tuple(map(tuple, polygon)) for polygon in outline) for outline in row["player_outlines"]
        ] == list(scene.player_outlines or ())


@pytest.mark.parametrize("format", ["parquet", "imagefolder"])
def test_datasets_library_loads_both_parts_of_an_exported_folder(
    format: str, datasets: Any, exports: Exports, tmp_path: Path
) -> None:
    loaded = datasets.load_dataset(str(exports.folder / format), cache_dir=str(tmp_path))
    for part, images in exports.parts.items():
        assert [f"{row['sport']}/{row['id']}" for row in loaded[part]] == images
        check_rows(loaded[part], exports)


def test_datasets_library_decodes_images_of_single_parquet_files_without_the_readme(
    datasets: Any, exports: Exports, tmp_path: Path
) -> None:
    """Check that the files contain their features, so that the README is not needed."""
    files = str(exports.folder / "parquet/data/test-*.parquet")
    rows = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path))
    assert isinstance(rows.features["image"], datasets.Image)
    assert len(rows) == exports.sizes["test"]
    check_rows(rows, exports)
    assert next(iter(datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)))["image"].size


def test_datasets_library_loads_the_export_with_its_imagefolder_loader(
    datasets: Any, exports: Exports, tmp_path: Path
) -> None:
    folder = str(exports.folder / "imagefolder")
    loaded = datasets.load_dataset("imagefolder", data_dir=folder, cache_dir=str(tmp_path))
    assert {part: len(rows) for part, rows in loaded.items()} == exports.sizes
    check_rows(loaded["train"], exports)


@pytest.mark.parametrize("folder", ["coco", "coco-with-ball"])
def test_pycocotools_reads_boxes_and_outlines_of_a_coco_export(folder: str, exports: Exports) -> None:
    coco = library("pycocotools.coco")
    from shapely import Polygon

    n_outlines = 0
    for part in exports.parts:
        file = coco.COCO(str(exports.folder / folder / f"annotations/instances_{part}.json"))
        for image in file.loadImgs(file.getImgIds()):
            scene = exports.scenes[image["scene"]]
            shown = "with_ball" if folder == "coco-with-ball" else "images"
            original = exports.made / str(scene.path).replace("images/", f"{shown}/")
            assert (exports.folder / folder / "images" / image["file_name"]).read_bytes() == original.read_bytes()
            annotations = file.loadAnns(file.getAnnIds(imgIds=image["id"]))
            (ball,) = (one for one in annotations if one["category_id"] == 1)
            x1, y1, x2, y2 = scene.ball_box or ()
            assert ball["bbox"] == pytest.approx([x1, y1, x2 - x1, y2 - y1])
            (outline,) = (outline[0] for outline in scene.player_outlines or () if outline)
            for annotation in (one for one in annotations if one["segmentation"]):
                n_outlines += 1
                mask, area = file.annToMask(annotation), Polygon(outline).area
                assert mask.shape == (scene.height, scene.width)
                assert annotation["area"] == pytest.approx(area)
                # Pixels on the edge may be inside or outside.
                assert abs(int(mask.sum()) - area) < Polygon(outline).length / 2
    assert n_outlines == 12


@pytest.mark.parametrize("format", FORMATS)
def test_mlcroissant_validates_and_loads_the_croissant_file_of_each_export_format(
    format: str, exports: Exports
) -> None:
    metadata = library("mlcroissant").Dataset(jsonld=str(exports.folder / format / "croissant.json"))
    issues = metadata.metadata.ctx.issues
    assert not issues.errors
    # The publisher of the dataset adds a date and a version.
    assert all(name in text for name, text in zip(("datePublished", "version"), sorted(issues.warnings), strict=True))
    counts = {"items": 12}
    if format == "coco":
        # Each image has a ball and two players.
        counts = {f"{part}-images": n for part, n in exports.sizes.items()}
        counts |= {f"{part}-annotations": 3 * n for part, n in exports.sizes.items()}
    loaded = {records.uuid: list(metadata.records(records.uuid)) for records in metadata.metadata.record_sets}
    assert {name: len(records) for name, records in loaded.items()} == counts
    for record in loaded.get("items", []):
        scene = exports.scenes[record["items/id"].decode()]
        assert [cell.decode() for cell in record["items/ball_cells"]] == list(scene.ball_cells or ())
        assert [tuple(box) for box in record["items/players"]] == [box.corners for box in scene.players or ()]
        if format == "parquet":
            assert np.array_equal(np.asarray(record["items/image"]), decoded(exports.made / str(scene.path)))


def test_mlcroissant_raises_an_error_if_an_exported_file_was_changed(exported: Path, tmp_path: Path) -> None:
    mlcroissant = library("mlcroissant")
    copy = shutil.copytree(exported / "coco", tmp_path / "coco")
    with (copy / "annotations/instances_train.json").open("a") as file:
        file.write(" ")
    with pytest.raises(mlcroissant.GenerationError):
        list(mlcroissant.Dataset(jsonld=str(copy / "croissant.json")).records("train-images"))


@pytest.mark.parametrize("format", [*FORMATS, "coco-with-ball"])
def test_huggingface_hub_reads_the_dataset_card(format: str, exported: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="the package huggingface-hub comes with the extra hub")
    card = hub.DatasetCard.load(exported / format / "README.md")
    card.data.to_dict()
    assert card.data.license == "cc0-1.0"
    assert card.data.size_categories == ["n<1K"]
    assert card.data.task_categories
    assert "balamurugan2025spottheball" in card.text


def test_export_examples_in_the_how_to_print_the_documented_output(tmp_path: Path, prepared: Prepared) -> None:
    """Run the Python examples of the section on exports, on the demo exports that the section makes."""
    for name in ("datasets", "pycocotools", "mlcroissant"):
        library(name)
    page = (ROOT / "docs/how-to/generate.md").read_text(encoding="utf-8")
    text = page.partition("\n## Export the dataset\n")[2].partition("\n## ")[0]
    examples = re.findall(r"```python\n(.*?)```\n\n(?:This prints:\n\n)?```text\n(.*?)```", text, re.DOTALL)
    assert len(examples) == text.count("```python") == 3
    for options in re.findall(r"^\$ spotball gen export items (.*)$", text, re.MULTILINE):
        words = options.split()
        out = tmp_path / words[words.index("--out") + 1]
        export(prepared.folder("items"), words[words.index("--format") + 1], out, with_ball="--with-ball" in words)
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    for code, output in examples:
        command = [sys.executable, "-W", "ignore", "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(output)


@pytest.mark.parametrize("folder", ["coco", "coco-with-ball"])
def test_datumaro_imports_the_coco_export(folder: str, exports: Exports) -> None:
    datumaro = pytest.importorskip("datumaro.components.dataset", reason="the package datumaro is not installed")
    dataset = datumaro.Dataset.import_from(str(exports.folder / folder), "coco")
    assert {name: len(part) for name, part in dataset.subsets().items()} == exports.sizes
    n_polygons = 0
    for item in dataset:
        scene = exports.scenes[item.id.rpartition("/")[2]]
        boxes = (box for box in item.annotations if box.type.name == "bbox")
        found = sorted((box.label, box.x, box.y, box.x + box.w, box.y + box.h) for box in boxes)
        known = sorted([(0, *(scene.ball_box or ())), *((1, *box.corners) for box in scene.players or ())])
        # Datumaro rounds coordinates to hundredths.
        assert np.allclose(found, known, atol=0.02)
        n_polygons += sum(one.type.name == "polygon" for one in item.annotations)
        assert item.media.data.shape[:2] == (scene.height, scene.width)
    assert n_polygons == 12
