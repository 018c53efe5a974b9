"""Test the removal of metadata from images before they are sent."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps, PngImagePlugin

from spotball_adapters.study.metadata import without_metadata
from tests.adapters.study.made import people, study

SECRET = b"the ball is in C2"
TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}


def picture(form: str, *, orientation: int = 1, **options: Any) -> bytes:
    """Return a noise image with all metadata that its format supports, and with extra bytes after its end."""
    pixels = np.random.default_rng(0).integers(0, 256, (24, 40, 3), dtype=np.uint8)
    image, out, texts = Image.fromarray(pixels), io.BytesIO(), PngImagePlugin.PngInfo()
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    exif[0x0112] = orientation
    texts.add_text("Comment", SECRET.decode())
    texts.add_itxt("More", SECRET.decode())
    extras = {"JPEG": {"comment": SECRET, "xmp": SECRET}, "PNG": {"pnginfo": texts}, "WEBP": {"xmp": SECRET}}
    image.save(out, form, exif=exif, **extras[form], **options)
    return out.getvalue() + SECRET


def shown(data: bytes) -> np.ndarray[Any, Any]:
    """Return the pixels as a browser shows them."""
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


@pytest.mark.parametrize("orientation", [1, 3, 6])
@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "icc_profile": b"a profile" * 9000}),
        ("JPEG", {"restart_marker_blocks": 2}),
        ("PNG", {"icc_profile": b"a profile"}),
        ("WEBP", {"lossless": True, "icc_profile": b"a profile"}),
        ("WEBP", {"quality": 60}),
    ],
)
def test_without_metadata_keeps_only_pixels_orientation_and_color_profile(
    form: str, options: dict[str, Any], orientation: int
) -> None:
    before = picture(form, orientation=orientation, **options)
    after = without_metadata(before, TYPES[form], orientation)
    assert before.count(SECRET) >= 2
    assert SECRET not in after
    assert np.array_equal(shown(after), shown(before))
    with Image.open(io.BytesIO(after)) as image:
        assert set(image.getexif()) == ({0x0112} if orientation != 1 else set())
        assert image.info.get("icc_profile") == options.get("icc_profile")
        assert not {"comment", "xmp", "Comment", "More"} & set(image.info)
    assert without_metadata(after, TYPES[form], orientation) == after


@pytest.mark.parametrize("form", TYPES)
def test_without_metadata_of_a_truncated_file_is_an_error(form: str) -> None:
    whole = without_metadata(picture(form), TYPES[form])
    for end in range(len(whole)):
        with pytest.raises(ValueError, match=r"truncated|not a|damaged|not found"):
            without_metadata(whole[:end], TYPES[form])


def test_without_metadata_removes_an_image_appended_to_a_camera_jpeg_and_its_index() -> None:
    # Some cameras append images to a JPEG file, and write an index of them to its APP2 segment.
    first = without_metadata(picture("JPEG"), "image/jpeg")
    index = b"\xff\xe2\x00\x08MPF\0II"
    assert without_metadata(first[:2] + index + first[2:] + first, "image/jpeg") == first


def test_server_sends_images_without_metadata(tmp_path: Path) -> None:
    folder = study(tmp_path)
    file, texts = tmp_path / "data/images/soccer/1.png", PngImagePlugin.PngInfo()
    texts.add_text("Comment", SECRET.decode())
    with Image.open(file) as image:
        image.save(file, pnginfo=texts)
    assert SECRET in file.read_bytes()
    with people(folder, None) as (person,):
        person.start()
        sent = [person.client.get(item["image"]).content for item in person.state["trials"]]
    assert any(np.array_equal(shown(one), shown(file.read_bytes())) for one in sent)
    assert not any(SECRET in one for one in sent)
