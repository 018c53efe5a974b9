"""Test that images are opened only in known formats, regardless of the file name."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from PIL import EpsImagePlugin, Image, UnidentifiedImageError

from spotball_core.pages.cards import as_data, upright
from spotball_core.service.images import FORMATS, open_image
from tests.test_imports import FILES

POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 640 360\n%%EndComments\nshowpage\n%%EOF\n"


def test_open_image_does_not_start_ghostscript_for_postscript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def ghostscript(*arguments: object, **options: object) -> None:
        started.append(arguments)
        raise OSError("not started in tests")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", ghostscript)
    (tmp_path / "a.jpg").write_bytes(POSTSCRIPT)
    with Image.open(tmp_path / "a.jpg") as image, pytest.raises(OSError, match="not started"):
        image.load()
    assert started  # Pillow alone starts Ghostscript.
    started.clear()
    assert upright(tmp_path / "a.jpg") is None
    assert as_data(tmp_path / "a.jpg") is None
    with pytest.raises(UnidentifiedImageError):
        open_image(tmp_path / "a.jpg")
    assert not started


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
        (b"<!DOCTYPE html><p>Not found", "HTML"),
        (b"", "empty"),
        (b"abc", "another format"),
    ],
)
def test_open_image_of_another_kind_of_file_names_the_kind(content: bytes, kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(content)
    for source in (tmp_path / "a.jpg", io.BytesIO(content)):
        with pytest.raises(UnidentifiedImageError, match=kind):
            open_image(source)


@pytest.mark.parametrize("kind", FORMATS)
def test_upright_opens_known_formats_and_does_not_raise_for_damaged_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    Image.effect_noise((64, 36), 50).convert("RGB").save(path, kind)
    assert upright(path) is not None
    whole = path.read_bytes()
    for cut in (0, 3, 20, 40, len(whole) // 2, len(whole) - 20):
        path.write_bytes(whole[:cut])
        upright(path)
        path.write_bytes(whole[:cut] + b"\xff" * 16 + whole[cut + 16 :])
        upright(path)


def test_only_the_images_module_calls_pillow_image_open() -> None:
    opening = re.compile(r"(Image|Images|Pictures)\.open\(")
    assert [path.name for path in FILES if opening.search(path.read_text(encoding="utf-8"))] == ["images.py"]
