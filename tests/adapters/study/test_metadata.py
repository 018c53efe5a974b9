"""Images as they are sent: the same pixels, and nothing else of the file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image, ImageOps, PngImagePlugin

from spotball_adapters.study.metadata import without_metadata
from spotball_adapters.study.setup.design import load
from spotball_core.errors import InputError
from tests.adapters.study.made import Person, running, study

SECRET = b"the ball is in C2"
TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}


def picture(form: str, *, orientation: int = 1, **options: Any) -> bytes:
    """A picture of noise with a comment, EXIF and XMP wherever the format has them, and bytes behind its end."""
    pixels = np.random.default_rng(0).integers(0, 256, (24, 40, 3), dtype=np.uint8)
    image, out = Image.fromarray(pixels), io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    exif[0x0112] = orientation
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", SECRET.decode())
    texts.add_itxt("More", SECRET.decode())
    extras = {"JPEG": {"comment": SECRET, "xmp": SECRET}, "PNG": {"pnginfo": texts}, "WEBP": {"xmp": SECRET}}
    image.save(out, form, exif=exif, **extras[form], **options)
    return out.getvalue() + SECRET


def shown(data: bytes) -> np.ndarray[Any, Any]:
    """The pixels as a browser shows them."""
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
def test_the_pixels_stay_and_the_rest_goes(form: str, options: dict[str, Any], orientation: int) -> None:
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
def test_a_file_that_is_cut_off_is_refused(form: str) -> None:
    whole = without_metadata(picture(form), TYPES[form])
    for end in range(len(whole)):
        with pytest.raises(ValueError, match=r"truncated|not a|damaged|not found"):
            without_metadata(whole[:end], TYPES[form])


def test_a_gray_jpeg_of_cameras_with_a_second_image_behind_it() -> None:
    """Cameras append further images, and say where they are in APP2."""
    first = without_metadata(picture("JPEG"), "image/jpeg")
    index = b"\xff\xe2\x00\x08MPF\0II"
    assert without_metadata(first[:2] + index + first[2:] + first, "image/jpeg") == first


def test_what_the_server_sends(tmp_path: Path) -> None:
    folder = study(tmp_path)
    file = tmp_path / "data/images/soccer/1.png"
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", SECRET.decode())
    with Image.open(file) as image:
        image.save(file, pnginfo=texts)
    assert SECRET in file.read_bytes()
    with running(folder) as url, httpx.Client(base_url=url) as client:
        person = Person(client)
        person.start()
        sent = [client.get(item["image"]).content for item in person.state["trials"]]
    assert any(np.array_equal(shown(one), shown(file.read_bytes())) for one in sent)
    assert not any(SECRET in one for one in sent)


def test_a_damaged_image_is_told_before_anything_is_served(tmp_path: Path) -> None:
    folder = study(tmp_path)
    file = tmp_path / "data/images/soccer/1.png"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"1\.png: image: found an unreadable file \(the image file is truncated\)"):
        load(folder)
