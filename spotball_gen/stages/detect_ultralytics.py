"""Stage `detect`, kind `ultralytics`: a YOLO detector run with the package ultralytics, if it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from spotball_core.errors import OptionError
from spotball_core.geometry import Polygon, clipped
from spotball_gen.items.item import Box, Item, Sport
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.models.torch_models import picked_device
from spotball_gen.models.yolo.onnx_file import YoloSettings, by_size, file_name, wanted_classes


class Ultralytics:
    """Find balls and players with a YOLO model's original weights: a `.pt` file, or a name that the package downloads.

    A segmentation model such as `yolov8n-seg.pt` also gives the players' outlines. The package is not part of any extra
    of spotball-core, because it is licensed under the AGPL and needs torchvision.

    Raises:
        OptionError: if the package is not installed, if the file does not exist, or if the device is not available.
    """

    Settings: ClassVar[type[StageSettings]] = YoloSettings
    packages: ClassVar[tuple[str, ...]] = ("ultralytics", "torch", "torchvision")

    name = "detect"
    kind = "ultralytics"
    version = "1"

    def __init__(self, settings: YoloSettings, context: Context) -> None:
        if importlib.util.find_spec("ultralytics") is None:
            raise OptionError(
                f"detect {self.kind!r} needs the package ultralytics (AGPL license), which the extras do not "
                "install. Install it yourself, or use yolov8-onnx, which runs the same weights",
                code="missing-package",
            )
        self.settings = settings
        self.context = context
        self.batch_size = settings.batch_size
        self._path = context.folder / Path(settings.model).expanduser()
        if not self._path.is_file() and Path(settings.model).name != settings.model:
            raise OptionError(
                f"model: the file {self._path} does not exist. Correct the path, or download the weights",
                code="missing-file",
                field="detect",
            )
        self._on = picked_device(settings.device, self.name)
        self.device: Device = "gpu" if self._on == "cuda" else "cpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their boxes: balls and players, highest score first. No item is rejected.

        Raises:
            OptionError: if the model cannot be loaded, or has no class for the sport's ball or players.
        """
        by_id: dict[str, Item] = {}
        for same_size in by_size(items).values():
            for item, result in zip(same_size, self._predicted(same_size), strict=True):
                sport = self.context.sports.get(item.sport, Sport())
                classes = wanted_classes(self._model.names, sport, self.settings.model)
                found_boxes = result.boxes
                parts = (found_boxes.xyxy, found_boxes.conf, found_boxes.cls)
                rows = zip(*(part.cpu().tolist() for part in parts), _outlines(result, item), strict=True)
                boxes = [
                    Box(x1, y1, x2, y2, score, classes[int(at)], outline if classes[int(at)] == "player" else None)
                    for (x1, y1, x2, y2), score, at, outline in rows
                    if int(at) in classes
                ]
                boxes = sorted((box for box in boxes if box.width > 0 < box.height), key=lambda box: -box.score)
                by_id[item.id] = replace(item, boxes=tuple(boxes)).noted(self.name, weights=self._weights)
        return Outcome(tuple(by_id[item.id] for item in items))

    def _predicted(self, items: Sequence[Item]) -> list[Any]:
        cv2 = opencv()
        results: list[Any] = self._model.predict(
            [cv2.cvtColor(item.image, cv2.COLOR_RGB2BGR) for item in items],
            conf=self.settings.confidence,
            iou=self.settings.overlap,
            device=self._on,
            verbose=False,
            **({"imgsz": self.settings.size} if self.settings.size else {}),
        )
        return results

    @cached_property
    def _model(self) -> Any:
        from ultralytics import YOLO

        try:
            return YOLO(str(self._path) if self._path.is_file() else self.settings.model)
        except Exception as error:  # The package, PyTorch and pickle raise different errors.
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise OptionError(
                f"{self.settings.model} cannot be loaded: {reason}. Correct the path, or download the weights again",
                code="unusable-model",
                field="detect",
            ) from error

    @cached_property
    def _weights(self) -> str:
        return file_name(self._path) if self._path.is_file() else self.settings.model


def _outlines(result: Any, item: Item) -> list[tuple[Polygon, ...] | None]:
    """Return the outline of each detection, or None for each detection if the model gives no masks."""
    if getattr(result, "masks", None) is None:
        return [None] * len(result.boxes.conf)
    height, width = item.image.shape[:2]
    outlines = ([[(float(x), float(y)) for x, y in points]] if len(points) >= 3 else [] for points in result.masks.xy)
    return [clipped(polygons, width, height) or None for polygons in outlines]
