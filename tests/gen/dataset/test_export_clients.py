"""Test that the libraries for which the exports are made can load them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_gen.dataset.exports import FORMATS, export
from spotball_gen.demo.config import write_demo_config
from spotball_gen.items.pictures import decoded
from spotball_gen.run import generate
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.slow,
    # The libraries emit warnings about themselves and each other.
    pytest.mark.filterwarnings("default"),
]

REASON = "the package {} is not installed: `make test-all` installs it"


@pytest.fixture(scope="module")
def exported(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    for format in FORMATS:
        export(made, format, folder / format)
    export(made, "coco", folder / "coco-with-ball", with_ball=True)
    return folder


@pytest.fixture(scope="module")
def scenes(made: Path) -> dict[str, Scene]:
    return {scene.image: scene for scene in read_scenes(made / "scenes.jsonl")}


@pytest.fixture(scope="module")
def sizes(made: Path) -> dict[str, int]:
    """Return the number of images per part, which depends on the version of OpenCV that wrote the videos."""
    parts = json.loads((made / "splits.json").read_text())
    return {part: len(parts[part]["images"]) for part in ("train", "test")}


@pytest.fixture
def datasets() -> Any:
    """Return the library `datasets` with its progress bars disabled."""
    library = pytest.importorskip("datasets", reason=REASON.format("datasets"))
    library.disable_progress_bars()
    return library


def check_rows(rows: Any, scenes: dict[str, Scene], made: Path) -> None:
    """Compare all rows with the scenes, and the decoded images with the files."""
    for row in rows:
        scene = scenes[row["id"]]
        assert np.array_equal(np.asarray(row["image"]), decoded(made / str(scene.path)))
        assert tuple(row["ball_cells"]) == scene.ball_cells
        assert tuple(row["ball_box"]) == scene.ball_box
        assert [tuple(box) for box in row["players"]] == [box.corners for box in scene.players or ()]
        assert [
            outline and tuple(tuple(map(tuple, polygon)) for polygon in outline) for outline in row["player_outlines"]
        ] == list(scene.player_outlines or ())


@pytest.mark.parametrize("format", ["parquet", "imagefolder"])
def test_datasets_loads_the_exported_folder(
    format: str, datasets: Any, exported: Path, scenes: dict[str, Scene], made: Path, tmp_path: Path
) -> None:
    loaded = datasets.load_dataset(str(exported / format), cache_dir=str(tmp_path))
    parts = json.loads((made / "splits.json").read_text())
    for part in ("train", "test"):
        assert [f"{row['sport']}/{row['id']}" for row in loaded[part]] == parts[part]["images"]
        check_rows(loaded[part], scenes, made)


def test_datasets_decodes_images_of_single_parquet_files(
    datasets: Any, exported: Path, scenes: dict[str, Scene], made: Path, sizes: dict[str, int], tmp_path: Path
) -> None:
    """Check that the files contain their features, so that the README is not needed."""
    files = str(exported / "parquet/data/test-*.parquet")
    rows = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path))
    assert isinstance(rows.features["image"], datasets.Image)
    assert len(rows) == sizes["test"]
    check_rows(rows, scenes, made)
    assert next(iter(datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)))["image"].size


def test_datasets_loads_the_export_with_its_imagefolder_loader(
    datasets: Any, exported: Path, scenes: dict[str, Scene], made: Path, sizes: dict[str, int], tmp_path: Path
) -> None:
    loaded = datasets.load_dataset("imagefolder", data_dir=str(exported / "imagefolder"), cache_dir=str(tmp_path))
    assert {part: len(rows) for part, rows in loaded.items()} == sizes
    check_rows(loaded["train"], scenes, made)


@pytest.mark.parametrize("folder", ["coco", "coco-with-ball"])
def test_pycocotools_reads_boxes_and_outlines(
    folder: str, exported: Path, scenes: dict[str, Scene], made: Path
) -> None:
    coco = pytest.importorskip("pycocotools.coco", reason=REASON.format("pycocotools"))
    from shapely import Polygon

    n_outlines = 0
    for part in ("train", "test"):
        file = coco.COCO(str(exported / folder / f"annotations/instances_{part}.json"))
        for image in file.loadImgs(file.getImgIds()):
            scene = scenes[image["scene"]]
            shown = "with_ball" if folder == "coco-with-ball" else "images"
            original = made / str(scene.path).replace("images/", f"{shown}/")
            assert (exported / folder / "images" / image["file_name"]).read_bytes() == original.read_bytes()
            annotations = file.loadAnns(file.getAnnIds(imgIds=image["id"]))
            (ball,) = (one for one in annotations if one["category_id"] == 1)
            x1, y1, x2, y2 = scene.ball_box or ()
            assert ball["bbox"] == pytest.approx([x1, y1, x2 - x1, y2 - y1])
            for annotation in annotations:
                if not annotation["segmentation"]:
                    continue
                n_outlines += 1
                mask = file.annToMask(annotation)
                assert mask.shape == (scene.height, scene.width)
                (outline,) = (outline for outline in scene.player_outlines or () if outline)
                area = Polygon(outline[0]).area
                assert annotation["area"] == pytest.approx(area)
                # Pixels on the edge may be inside or outside.
                assert abs(int(mask.sum()) - area) < Polygon(outline[0]).length / 2
    assert n_outlines == 12


@pytest.mark.parametrize("format", FORMATS)
def test_mlcroissant_validates_and_loads(
    format: str, exported: Path, scenes: dict[str, Scene], made: Path, sizes: dict[str, int]
) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason=REASON.format("mlcroissant"))
    metadata = mlcroissant.Dataset(jsonld=str(exported / format / "croissant.json"))
    issues = metadata.metadata.ctx.issues
    assert not issues.errors
    # The publisher of the dataset adds a date and a version.
    assert all(name in text for name, text in zip(("datePublished", "version"), sorted(issues.warnings), strict=True))
    counts = {"items": 12}
    if format == "coco":
        # Each image has a ball and two players.
        counts = {f"{part}-images": n for part, n in sizes.items()}
        counts |= {f"{part}-annotations": 3 * n for part, n in sizes.items()}
    loaded = {records.uuid: list(metadata.records(records.uuid)) for records in metadata.metadata.record_sets}
    assert {name: len(records) for name, records in loaded.items()} == counts
    for record in loaded.get("items", []):
        scene = scenes[record["items/id"].decode()]
        assert [cell.decode() for cell in record["items/ball_cells"]] == list(scene.ball_cells or ())
        assert [tuple(box) for box in record["items/players"]] == [box.corners for box in scene.players or ()]
        if format == "parquet":
            assert np.array_equal(np.asarray(record["items/image"]), decoded(made / str(scene.path)))


def test_mlcroissant_notices_a_changed_file(exported: Path, tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason=REASON.format("mlcroissant"))
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


def test_export_examples_in_the_how_to_print_the_documented_output(tmp_path: Path) -> None:
    """Run the Python examples of the section on exports, on the demo exports that the section makes."""
    for name in ("datasets", "pycocotools", "mlcroissant"):
        pytest.importorskip(name, reason=REASON.format(name))
    page = (ROOT / "docs/how-to/generate.md").read_text(encoding="utf-8")
    text = page.partition("\n## Export the dataset\n")[2].partition("\n## ")[0]
    examples = re.findall(r"```python\n(.*?)```\n\n(?:This prints:\n\n)?```text\n(.*?)```", text, re.DOTALL)
    assert len(examples) == text.count("```python") == 3
    generate(write_demo_config(tmp_path / "demo"), tmp_path / "items")
    for options in re.findall(r"^\$ spotball gen export items (.*)$", text, re.MULTILINE):
        words = options.split()
        out = tmp_path / words[words.index("--out") + 1]
        export(tmp_path / "items", words[words.index("--format") + 1], out, with_ball="--with-ball" in words)
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    for code, output in examples:
        command = [sys.executable, "-W", "ignore", "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(output)


@pytest.mark.parametrize("folder", ["coco", "coco-with-ball"])
def test_datumaro_imports_the_coco_export(
    folder: str, exported: Path, scenes: dict[str, Scene], sizes: dict[str, int]
) -> None:
    datumaro = pytest.importorskip("datumaro.components.dataset", reason="the package datumaro is not installed")
    dataset = datumaro.Dataset.import_from(str(exported / folder), "coco")
    assert {name: len(part) for name, part in dataset.subsets().items()} == sizes
    n_polygons = 0
    for item in dataset:
        scene = scenes[item.id.rpartition("/")[2]]
        boxes = sorted(
            (box.label, box.x, box.y, box.x + box.w, box.y + box.h)
            for box in item.annotations
            if box.type.name == "bbox"
        )
        known = sorted([(0, *(scene.ball_box or ())), *((1, *box.corners) for box in scene.players or ())])
        # Datumaro rounds coordinates to hundredths.
        assert np.allclose(boxes, known, atol=0.02)
        n_polygons += sum(one.type.name == "polygon" for one in item.annotations)
        assert item.media.data.shape[:2] == (scene.height, scene.width)
    assert n_polygons == 12
