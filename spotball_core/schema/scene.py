"""The record of a scene: an image, its ball and its players."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from spotball_core.grid import MOST_CELLS, Grid
from spotball_core.schema.keypoints import KEYPOINT_NAMES, Keypoints, near_box
from spotball_core.schema.outline import Outline
from spotball_core.schema.record import UNNAMED, Count, Identifier, Pixels, Record, RelativePath
from spotball_core.typing import BoolArray, FloatArray

T = TypeVar("T")


class GridShape(Record):
    """The numbers of rows and columns of a grid."""

    rows: Count
    cols: Count

    @model_validator(mode="after")
    def _bounded(self) -> GridShape:
        if self.rows * self.cols > MOST_CELLS:
            raise ValueError(
                f"found {self.rows:,} rows x {self.cols:,} columns, expected at most {MOST_CELLS:,} cells. Use a "
                "coarser grid"
            )
        return self


class PlayerBox(Record):
    """A player's bounding box in pixels of the scene's image, written as `[x1, y1, x2, y2]`.

    Examples:
        >>> PlayerBox.model_validate([10, 20, 30, 60]).x2
        30.0
    """

    x1: float
    y1: float
    x2: float
    y2: float

    @model_validator(mode="before")
    @classmethod
    def _from_sequence(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            if len(value) != 4:
                raise ValueError(f"expected 4 numbers x1, y1, x2, y2, not {len(value)}")
            return dict(zip(("x1", "y1", "x2", "y2"), value, strict=True))
        return value

    @model_validator(mode="after")
    def _ordered(self) -> PlayerBox:
        if self.x2 < self.x1 or self.y2 < self.y1:
            raise ValueError(f"the box {list(self.corners)} has x2 < x1 or y2 < y1. Give corners as x1, y1, x2, y2")
        return self

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """The box as (x1, y1, x2, y2)."""
        return self.x1, self.y1, self.x2, self.y2

    @model_serializer
    def _as_list(self) -> list[float]:
        return list(self.corners)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        # The schema describes the list that files contain, not the Python object.
        description = "x1, y1, x2, y2 in pixels."
        return {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4, "description": description}


class GroundTruth(Record):
    """The cells that hold the ball: a set of labels of one grid, in index order.

    Examples:
        >>> GroundTruth.from_labels(["d2", "C2"], Grid.standard()).cells
        ('C2', 'D2')
        >>> GroundTruth.from_box((90.5, 140.625, 117.5, 165.375), Grid.standard()).cells
        ('C2',)
    """

    grid: GridShape
    cells: tuple[str, ...]

    @model_validator(mode="after")
    def _canonical(self) -> GroundTruth:
        mask = _unit_grid(self.grid).mask(self.cells)
        if self.cells != (canonical := _named(mask, self.grid)):
            raise ValueError(f"cells {self.cells} are not in canonical form {canonical}; use GroundTruth.from_labels")
        return self

    @classmethod
    def from_labels(cls, labels: list[str] | tuple[str, ...], grid: Grid) -> GroundTruth:
        """Return the ground truth for cell labels in any spelling; raise GridError for a cell outside the grid."""
        shape = GridShape(rows=grid.rows, cols=grid.cols)
        return cls(grid=shape, cells=_named(grid.mask(labels), shape))

    @classmethod
    def from_box(cls, box: tuple[float, float, float, float], grid: Grid, *, min_share: float = 0.0) -> GroundTruth:
        """Return the ground truth for the ball's box in pixels: the cells of which it covers more than `min_share`."""
        return cls.from_labels(tuple(grid.cells_in(box, min_share=min_share)), grid)

    @property
    def mask(self) -> BoolArray:
        """Return a boolean array over the grid's cells, true where the ball is."""
        return _unit_grid(self.grid).mask(self.cells)


class Scene(Record):
    """An image of a sport, with its grid, ball and players. All coordinates are in pixels of the image.

    An image's identity is `(sport, image)`: the same image id may occur in several sports.

    Attributes:
        sport: the group of images that this image belongs to. Default: `all`, one group for all images.
        ball_cells: labels of the cells that hold the ball, in index order; None if the truth is not known. If missing
            or empty, they are the cells that `ball_box` covers, if there is a box. Annotated cells may differ from the
            box; scores use the cells.
        players: the players' boxes; None if players were not annotated, empty if there are none.
        player_outlines: for each player, the polygons whose union is the player's outline; None if it is not known.
            Near-player and overlap rates use a player's outline if there is one, else the box.
        player_keypoints: for each player, COCO's 17 keypoints as `[x, y, confidence]`, with confidence 0 for a keypoint
            that was not detected; None if the pose is not known. No score depends on keypoints.
        control: whether the ball is still visible.
        path: the image file's path, relative to the dataset's folder.

    Examples:
        >>> scene = Scene(sport="soccer", image="163", grid=Grid.standard(), ball_cells=["C2", "C3", "D2", "D3"])
        >>> scene.key, scene.width, scene.ball_cells
        (('soccer', '163'), 640, ('C2', 'C3', 'D2', 'D3'))
    """

    sport: Identifier = UNNAMED
    image: Identifier
    width: Pixels
    height: Pixels
    grid: GridShape
    ball_cells: tuple[str, ...] | None = None
    ball_box: tuple[float, float, float, float] | None = None
    players: tuple[PlayerBox, ...] | None = None
    player_outlines: tuple[Outline | None, ...] | None = None
    player_keypoints: tuple[Keypoints | None, ...] | None = None
    control: bool = Field(default=False, strict=True)
    path: RelativePath | None = None

    if TYPE_CHECKING:
        # The types that validation accepts are wider than the fields' types. A Grid also provides width and height.
        def __init__(
            self,
            *,
            sport: str | int = UNNAMED,
            image: str | int,
            grid: Grid | GridShape | Mapping[str, int],
            width: int = ...,
            height: int = ...,
            ball_cells: Sequence[str] | None = None,
            ball_box: Sequence[float] | None = None,
            players: Sequence[PlayerBox | Sequence[float]] | None = None,
            player_outlines: Sequence[Sequence[Any] | Mapping[str, Any] | None] | None = None,
            player_keypoints: Sequence[Sequence[Sequence[float]] | None] | None = None,
            control: bool = False,
            path: str | None = None,
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _from_grid(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(grid := value.get("grid"), Grid):
            shape = {"rows": grid.rows, "cols": grid.cols}
            size = {"width": grid.width, "height": grid.height}
            if any(value.get(side, pixels) != pixels for side, pixels in size.items()):
                raise ValueError(
                    f"`width` or `height` differs from the {grid.width:g} x {grid.height:g} pixels of `grid`. Omit both"
                )
            return {**value, **size, "grid": shape}
        return value

    @field_validator("ball_box")
    @classmethod
    def _ordered(cls, box: tuple[float, float, float, float] | None) -> tuple[float, float, float, float] | None:
        return None if box is None else PlayerBox.model_validate(box).corners

    @model_validator(mode="after")
    def _outlines_fit(self) -> Scene:
        for number, box, outline in self._by_player("player_outlines", self.player_outlines):
            if not _meet(box, outline):
                raise ValueError(
                    f"the outline of player {number} lies outside the player's box. Give both in pixels of the image"
                )
        return self

    @model_validator(mode="after")
    def _keypoints_fit(self) -> Scene:
        for number, box, points in self._by_player("player_keypoints", self.player_keypoints):
            if not near_box(points, box.corners):
                raise ValueError(
                    f"no detected keypoint of player {number} lies in or near the player's box. Give both in pixels of "
                    "the image"
                )
        return self

    def _by_player(self, field: str, values: Sequence[T | None] | None) -> Iterator[tuple[int, PlayerBox, T]]:
        """Yield number, box and value of each player with a value; raise ValueError without one entry per player."""
        if values is None:
            return
        if self.players is None or len(values) != len(self.players):
            n = "no players" if self.players is None else f"{len(self.players)} players"
            raise ValueError(f"{field} has {len(values)} entries for {n}, expected one entry per player")
        for number, (box, value) in enumerate(zip(self.players, values, strict=True), start=1):
            if value is not None:
                yield number, box, value

    @model_serializer(mode="wrap")
    def _without_unknown(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A scene without outlines or keypoints is written without these fields, so that digests of older scenes stay
        # valid.
        data: dict[str, Any] = write(self)
        for field in ("player_outlines", "player_keypoints"):
            if getattr(self, field) is None:
                data.pop(field, None)
        return data

    @model_validator(mode="after")
    def _on_the_grid(self) -> Scene:
        if self.ball_cells:
            cells = GroundTruth.from_labels(self.ball_cells, self.layout).cells
        elif self.ball_box is not None:
            cells = GroundTruth.from_box(self.ball_box, self.layout).cells
        else:
            cells = ()
        object.__setattr__(self, "ball_cells", cells or None)
        return self

    @property
    def key(self) -> tuple[str, str]:
        """The image's identity: (sport, image)."""
        return self.sport, self.image

    @cached_property
    def layout(self) -> Grid:
        """The grid over this image, with its size in pixels."""
        return _grid(self.grid.rows, self.grid.cols, self.width, self.height)

    @cached_property
    def truth(self) -> GroundTruth | None:
        """The cells that hold the ball; None if they are not known."""
        return GroundTruth(grid=self.grid, cells=self.ball_cells) if self.ball_cells else None

    @property
    def boxes(self) -> FloatArray:
        """The players' boxes, shape (n_players, 4)."""
        return np.array([box.corners for box in self.players or ()], dtype=float).reshape(-1, 4)

    @property
    def keypoints(self) -> FloatArray:
        """The players' keypoints, shape (n_players, 17, 3): x and y in pixels, confidence in [0, 1].

        A player whose pose is not known has rows of NaN. A keypoint that was not detected has confidence 0.
        """
        poses = self.player_keypoints or (None,) * len(self.players or ())
        unknown = ((np.nan,) * 3,) * len(KEYPOINT_NAMES)
        return np.array([unknown if points is None else points for points in poses], dtype=float).reshape(-1, 17, 3)

    def with_keypoints(self, keypoints: FloatArray | Sequence[ArrayLike | None]) -> Scene:
        """Return a copy of the scene in which these keypoints replace the existing ones.

        Args:
            keypoints: the keypoints of each player, shape (n_players, 17, 3), as the property `keypoints` returns them:
                NaN or None if a player's pose is not known. If no pose is known, the copy has no `player_keypoints`.

        Raises:
            ValueError: if the number of players differs, values are not keypoints, or keypoints are far from their
                player's box.

        Examples:
            >>> scene = Scene(sport="soccer", image="1", grid=Grid.standard(), players=[[10, 20, 30, 60], [0, 0, 9, 9]])
            >>> pose = np.tile([20.0, 30.0, 0.9], (17, 1))
            >>> posed = scene.with_keypoints([pose.tolist(), None])
            >>> posed.keypoints.shape, np.isnan(posed.keypoints).any(axis=(1, 2)).tolist()
            ((2, 17, 3), [False, True])
            >>> posed.with_keypoints(posed.keypoints) == posed
            True
        """
        arrays = [None if points is None else np.asarray(points, dtype=float) for points in keypoints]
        poses = [None if points is None or np.isnan(points).all() else points.tolist() for points in arrays]
        if len(poses) != len(self.boxes):
            raise ValueError(f"keypoints: found {len(poses)} players, expected {len(self.boxes)} as in the scene")
        fields: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        return Scene(**{**fields, "player_keypoints": poses if any(poses) else None})


def _meet(box: PlayerBox, outline: Outline) -> bool:
    xs, ys = zip(*(point for polygon in outline for point in polygon), strict=True)
    return bool(min(xs) <= box.x2 and max(xs) >= box.x1 and min(ys) <= box.y2 and max(ys) >= box.y1)


@lru_cache(maxsize=256)
def _grid(rows: int, cols: int, width: int, height: int) -> Grid:
    """Return the grid, shared by all scenes of the same size because it caches the distances between cells."""
    return Grid(rows, cols, width, height)


def _unit_grid(shape: GridShape) -> Grid:
    return _grid(shape.rows, shape.cols, shape.cols, shape.rows)


def _named(mask: BoolArray, shape: GridShape) -> tuple[str, ...]:
    grid = _unit_grid(shape)
    return tuple(grid.label(int(index)) for index in mask.nonzero()[0])
