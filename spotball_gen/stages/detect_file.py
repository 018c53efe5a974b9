"""Stage `detect`, kind `file`: read boxes from COCO, YOLO or MOTChallenge files of other tools."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from spotball_core.errors import OptionError
from spotball_gen.box_files.boxes import FileBox, ImageView
from spotball_gen.box_files.coco import read_coco
from spotball_gen.box_files.mot import read_mot
from spotball_gen.box_files.yolo import read_yolo
from spotball_gen.items.item import Item, Label, Sport
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings, one_by_one

_EXAMPLE = {"video": "v", "source": "s", "id": "i", "frame": 1, "ms": 0}


class FileSettings(StageSettings):
    """Settings of `file`.

    In `path` and `frame_name`, `{video}` is the name of the video file without extension, `{source}` the video's id,
    `{id}` the item's id, `{frame}` the frame's number and `{ms}` its time stamp in milliseconds. `{frame:06d}` is the
    frame's number with six digits.

    Attributes:
        path: the file (COCO), the file of each video (MOTChallenge), or the folder with a file per frame (YOLO).
        format: `coco` (JSON), `yolo` (text files) or `mot` (CSV).
        classes: label (`ball` or `player`) of each class in the file; other classes are ignored. COCO files contain
            class names, and by default, the sport's `ball_class` and `player_class` are used. Files in the other
            formats contain class numbers.
        frame_name: name of a frame's file in COCO (with folder, without extension), or of its file in YOLO's folder.
        first_frame: number of the video's first frame in the file.
        first_pixel: coordinate of the first pixel's left edge in a MOTChallenge file.
        pixels: whether boxes refer to decoded frames of the video (`video`) or to the items' images (`image`), for
            example because the frames in the work folder were annotated.
    """

    path: str
    format: Literal["coco", "yolo", "mot"]
    classes: Mapping[str, Label] = {}
    frame_name: str = "{video}_{frame}"
    first_frame: int = Field(1, ge=0)
    first_pixel: Literal[0, 1] = 1
    pixels: Literal["video", "image"] = "video"

    @model_validator(mode="after")
    def _readable(self) -> FileSettings:
        for name in ("path", "frame_name"):
            try:
                getattr(self, name).format(**_EXAMPLE)
            except (KeyError, IndexError, ValueError, AttributeError) as error:
                field_names = ", ".join(f"{{{field}}}" for field in _EXAMPLE)
                raise ValueError(
                    f"expected `{name}` with no placeholders except {field_names}, not {getattr(self, name)!r} "
                    f"({error})"
                ) from error
        if self.format != "coco" and not self.classes:
            raise ValueError('expected classes by number, such as {"32" = "ball", "0" = "player"}')
        return self


class FromFile:
    """Read an item's boxes from files.

    A COCO file must contain every frame. A frame without a file in YOLO's folder, or without a line in a MOTChallenge
    file, counts as a frame in which nothing was detected.

    Raises:
        OptionError: if the file or folder does not exist.
        InputError: if a COCO file is invalid. The error lists all problems.

    Examples:
        >>> import tempfile
        >>> from spotball_core.grid import Grid
        >>> from spotball_gen.items.item import VideoSource
        >>> from spotball_gen.items.pictures import PictureFile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "match_26.txt").write_text("32 0.5 0.5 0.05 0.1 0.9")
        >>> source = VideoSource("match-1a2b3c4d", "videos/match.mp4", "soccer", "CC0", "match.mp4", "")
        >>> notes = {"frames": {"number": 25, "size": [1920, 1080], "window": [0, 0, 1920, 1080]}}
        >>> item = Item("match-1a2b3c4d-000001000", source, 1.0, 0, PictureFile(Path("frame.png")), notes=notes)
        >>> settings = FileSettings(path=".", format="yolo", classes={"32": "ball", "0": "player"})
        >>> stage = FromFile(settings, Context(folder, Grid.standard(), folder=folder))
        >>> stage.process([item]).items[0].boxes
        (Box(x1=304.0, y1=162.0, x2=336.0, y2=198.0, score=0.9, label='ball'),)
    """

    Settings: ClassVar[type[StageSettings]] = FileSettings
    packages: ClassVar[tuple[str, ...]] = ()

    name = "detect"
    kind = "file"
    version = "1"
    batch_size = 64
    device: Device = "cpu"
    sees = False
    """Whether the detector examines images. This one does not, so other stages do not run it on further images."""

    def __init__(self, settings: FileSettings, context: Context) -> None:
        self.settings = settings
        self.context = context
        self._coco: dict[Path, Mapping[str, tuple[FileBox, ...]]] = {}
        self._mot: dict[Path, Mapping[int, tuple[FileBox, ...]]] = {}
        self._digests: dict[Path, str] = {}
        self._videos: dict[str, str] = {}
        fixed = "{" not in settings.path
        path = self._path(settings.path)
        if fixed and not (path.is_dir() if settings.format == "yolo" else path.is_file()):
            raise OptionError(
                f"path: the {'folder' if settings.format == 'yolo' else 'file'} {path} does not exist. Correct "
                "the path",
                code="missing-file",
                field="detect",
            )
        if fixed and settings.format == "coco":
            self._coco[path] = read_coco(path)

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their boxes, in the order of the file. No item is rejected; an item that is missing in
        a COCO file fails.

        Raises:
            InputError: if a file is invalid. The error lists all problems.
            OptionError: if two videos would get the same boxes, because the path and frame name are the same for both.
        """
        return one_by_one(self.name, items, self._detected)

    def _detected(self, item: Item) -> Item:
        frames = item.notes["frames"]
        number = int(frames["number"]) + self.settings.first_frame
        names = {
            "video": Path(item.source.path).stem,
            "source": item.source.video,
            "id": item.id,
            "frame": number,
            "ms": round(item.time * 1000),
        }
        self._check_own(item, names)
        path = self._path(self.settings.path.format(**names))
        file_boxes, file = self._read(path, self.settings.frame_name.format(**names), number)
        view = self._view(frames)
        classes = self.settings.classes or self._classes(item.sport)
        boxes = (view.box(box, classes[box.category]) for box in file_boxes if box.category in classes)
        return replace(item, boxes=tuple(box for box in boxes if box)).noted(self.name, file=file)

    def _read(self, path: Path, name: str, number: int) -> tuple[tuple[FileBox, ...], str]:
        """Return a frame's boxes, and the name and digest of the file that contains them (empty if there is none)."""
        if self.settings.format == "yolo":
            file = path / f"{name}.txt"
            return (read_yolo(file), _digest(file)) if file.exists() else ((), "")
        if path not in self._digests:
            if self.settings.format == "mot":
                self._mot[path] = read_mot(path, self.settings.first_pixel)
            elif path not in self._coco:
                self._coco[path] = read_coco(path)
            self._digests[path] = _digest(path)
        if self.settings.format == "mot":
            return self._mot[path].get(number, ()), self._digests[path]
        if name not in self._coco[path]:
            raise ValueError(
                f"{path.name} does not contain the image {name!r}. Add it to `images`, or correct `frame_name`"
            )
        return self._coco[path][name], self._digests[path]

    def _view(self, frames: Mapping[str, Any]) -> ImageView:
        grid = self.context.grid
        image = float(grid.width), float(grid.height)
        if self.settings.pixels == "image":
            return ImageView(image, (0, 0, *image), image)
        (width, height), (x1, y1, x2, y2) = frames["size"], frames["window"]
        return ImageView((width, height), (x1, y1, x2, y2), image)

    def _classes(self, sport: str) -> Mapping[str, Label]:
        sport_settings = self.context.sports.get(sport, Sport())
        return {sport_settings.ball_class: "ball", sport_settings.player_class: "player"}

    def _check_own(self, item: Item, names: Mapping[str, Any]) -> None:
        """Check that the file names depend on the item's video."""
        if "{id" in self.settings.path + self.settings.frame_name:
            return
        frame = "" if self.settings.format == "mot" else self.settings.frame_name
        place = f"{self.settings.path}/{frame}".format(**{**names, "frame": 0, "ms": 0})
        other_video = self._videos.setdefault(place, item.source.video)
        if other_video != item.source.video:
            conflict = f"the videos {other_video} and {item.source.video} would use the same boxes"
            raise OptionError(
                f"{conflict}. Add {{source}} to `path`, or add {{video}} and rename the videos", field="detect"
            )

    def _path(self, text: str) -> Path:
        return self.context.folder / Path(text).expanduser()


def _digest(path: Path) -> str:
    """Return a file's name and the start of its digest."""
    with path.open("rb") as file:
        return f"{path.name}@{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
