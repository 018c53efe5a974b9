"""Test how photos are prepared: unchanged, resized or padded, or rejected with an error."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from spotball_adapters.gaze.photos import Photo, Photos, fitted
from spotball_core.errors import InputError
from tests.adapters.gaze.made import stimulus
from tests.failures import raises


def saved(folder: Path, image: Image.Image, name: str = "a.png", **options: object) -> Photo:
    folder.mkdir(exist_ok=True)
    image.save(folder / name, **options)
    return Photo(stimulus(0, image=name))


def pixels(data: bytes) -> np.ndarray:  # type: ignore[type-arg]
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


@pytest.mark.parametrize(("name", "media"), [("a.png", "image/png"), ("a.jpg", "image/jpeg")])
def test_photo_of_the_right_size_is_sent_unchanged(tmp_path: Path, name: str, media: str) -> None:
    photo = saved(tmp_path, Image.new("RGB", (448, 448), (9, 80, 200)), name)
    photos = Photos(tmp_path, 448, tmp_path / "kept")
    picture = photos.of(photo)
    assert picture.data == (tmp_path / name).read_bytes()
    assert (picture.media_type, picture.width, picture.height) == (media, 448, 448)
    assert photos.size(photo) == (448, 448)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("size", "side", "inside"),
    [
        ((800, 400), 448, (0, 112, 448, 336)),
        ((300, 600), 448, (112, 0, 336, 448)),
        ((60, 40), 60, (0, 10, 60, 50)),
        ((100, 100), 100, (0, 0, 100, 100)),
    ],
)
def test_photo_is_padded_to_a_square_with_black_and_only_reduced_in_size(
    tmp_path: Path, size: tuple[int, int], side: int, inside: tuple[int, ...]
) -> None:
    photo = saved(tmp_path, Image.new("RGB", size, (255, 255, 255)))
    photos = Photos(tmp_path, 448, None)
    picture = photos.of(photo)
    assert (picture.width, picture.height) == photos.size(photo) == (side, side)
    x1, y1, x2, y2 = inside
    expected = np.zeros((side, side, 3))
    expected[y1:y2, x1:x2] = 255
    assert np.array_equal(pixels(picture.data), expected)


def test_resized_photo_is_stored_and_reused(tmp_path: Path) -> None:
    photo = saved(tmp_path, Image.effect_noise((900, 900), 60).convert("RGB"))
    first = Photos(tmp_path, 448, tmp_path / "kept").of(photo)
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.read_bytes() == first.data
    kept.write_bytes(b"as it was kept")
    assert Photos(tmp_path, 448, tmp_path / "kept").of(photo).data == b"as it was kept"
    assert Photos(tmp_path, 300, tmp_path / "kept").of(photo).width == 300
    assert len(list((tmp_path / "kept").iterdir())) == 2


@pytest.mark.parametrize("height", [20, 40])
def test_photo_is_rotated_by_its_exif_orientation(tmp_path: Path, height: int) -> None:
    image = Image.new("RGB", (40, height))
    image.putpixel((0, 0), (255, 0, 0))
    exif = Image.Exif()
    exif[0x0112] = 6
    shown = pixels(Photos(tmp_path, 448, None).of(saved(tmp_path, image, exif=exif)).data)
    assert shown.shape == (40, 40, 3)
    # The top left pixel is now at the top right, next to the padding if the image is not square.
    assert shown[0, (40 + height) // 2 - 1].tolist() == [255, 0, 0]


@pytest.mark.parametrize("mode", ["RGBA", "P", "1", "L", "LA"])
def test_opaque_photos_of_any_mode_are_accepted(tmp_path: Path, mode: str) -> None:
    image = Image.new("RGB", (50, 50), (255, 255, 255)).convert(mode)
    assert (pixels(Photos(tmp_path, 448, None).of(saved(tmp_path, image)).data) == 255).all()


def test_fitted_keeps_the_center_of_the_image() -> None:
    image = Image.new("RGB", (101, 51))
    image.putpixel((50, 25), (255, 255, 255))
    assert fitted(image, 101).getpixel((50, 50)) == (255, 255, 255)


def moved_outside(path: Path) -> None:
    path.rename(path.parent.parent / "a.png")
    path.symlink_to(path.parent.parent / "a.png")


@pytest.mark.parametrize(
    ("damage", "where", "value"),
    [
        (Path.unlink, "missing-file:image", ""),
        (moved_outside, "invalid-path:image", ""),
        (lambda path: path.write_text("no image"), "unreadable-file:image", "another format"),
        (lambda path: path.write_bytes(path.read_bytes()[:2000]), "unreadable-file:image", "truncated"),
        (lambda path: Image.new("RGBA", (448, 448), (1, 2, 3, 100)).save(path), "invalid-value:image", "transparent"),
    ],
    ids=["nothing", "outside", "text", "broken", "transparent"],
)
def test_photo_that_cannot_be_read_or_is_transparent_raises_input_error(
    tmp_path: Path, damage: Callable[[Path], object], where: str, value: str
) -> None:
    folder = tmp_path / "photos"
    photo = saved(folder, Image.effect_noise((448, 448), 9).convert("RGB"))
    damage(folder / "a.png")
    with raises(InputError, where) as caught:
        Photos(folder, 448, None).of(photo)
    assert value in caught.value.problems[0].found


def test_photo_of_a_stimulus_without_a_path_raises_input_error(tmp_path: Path) -> None:
    with raises(InputError, "missing-value:image") as caught:
        Photos(tmp_path, 448, None).of(Photo(stimulus(0, image=None)))
    assert "1000" in caught.value.problems[0].found
