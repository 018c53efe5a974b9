"""Test frames by time stamp, shots, near duplicates, and errors for damaged videos."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from spotball_core.grid import Grid
from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.items.frames import Mark, VideoError, VideoFrame, digest
from spotball_gen.items.pictures import PictureFile, quick_png
from spotball_gen.items.stage import Context
from spotball_gen.pipeline.engines.taking import Seen
from spotball_gen.stages.frames_pyav import PyAV, PyAVSettings
from tests.failures import raises
from tests.gen.videos import number_of, numbered, source_of, textured, write_video


def frames(
    path: Path, after: Mark | None = None, *, size: tuple[int, int] = (160, 96), **settings: Any
) -> Iterator[VideoFrame]:
    return PyAV(PyAVSettings(**settings), Context(path.parent, Grid(6, 10, *size))).read(source_of(path), after)


def read(path: Path, after: Mark | None = None, **settings: Any) -> list[VideoFrame]:
    """Return the frames, without limits on cropping and scaling."""
    return list(frames(path, after, **{"min_kept": 0, "max_scale": 9, **settings}))


def picture_of(path: Path, **settings: Any) -> tuple[NDArray[np.uint8], tuple[float, ...]]:
    """Return the image and the window of the only frame."""
    (frame,) = read(path, **settings)
    return frame.image, frame.window


def write_plain(path: Path, width: int, height: int) -> Path:
    write_video(path, [np.full((height, width, 3), 90, np.uint8)], [0])
    return path


def due(times: list[int], fps: float) -> list[int]:
    """Return the expected frames: the first one in each interval of 1 / fps seconds."""
    taken: dict[int, int] = {}
    for number, time in enumerate(times):
        taken.setdefault(int(time * fps / 1000 + 1e-6), number)
    return list(taken.values())


class TestTimes:
    @pytest.mark.parametrize("fps", [1, 2.5, 0.5])
    @pytest.mark.parametrize(("ending", "codec"), [("mkv", "mjpeg"), ("mkv", "mpeg4"), ("mp4", "mpeg4")])
    def test_frames_of_a_video_with_variable_frame_rate_are_chosen_by_time_stamp(
        self, tmp_path: Path, ending: str, codec: str, fps: float
    ) -> None:
        rng = np.random.default_rng(3)
        times = [0, *np.cumsum(rng.choice([20, 40, 40, 250, 1900], 120)).tolist()]
        path = tmp_path / f"a.{ending}"
        write_video(path, [numbered(i) for i in range(len(times))], times, codec=codec)
        found = read(path, fps=fps)
        assert [frame.number for frame in found] == due(times, fps)
        assert [frame.ms for frame in found] == [times[number] for number in due(times, fps)]
        assert [number_of(frame.image) for frame in found if frame.image is not None] == due(times, fps)

    def test_reading_after_the_mark_of_a_frame_gives_the_remaining_frames_unchanged(self, tmp_path: Path) -> None:
        times = list(range(0, 12_000, 130))
        write_video(tmp_path / "a.mkv", [textured(time // 2600) for time in times], times)
        whole = read(tmp_path / "a.mkv")
        assert len({frame.shot for frame in whole}) > 2
        for number, last in enumerate(whole, start=1):
            rest = read(tmp_path / "a.mkv", Mark(last.number, last.ms, last.shot))
            for one, other in zip(rest, whole[number:], strict=True):
                assert (one.number, one.ms, one.shot) == (other.number, other.ms, other.shot)
                assert np.array_equal(one.image, other.image)  # type: ignore[arg-type]


class TestPictures:
    def test_frame_of_the_configured_size_is_unchanged_rgb(self, tmp_path: Path) -> None:
        color = np.zeros((96, 160, 3), np.uint8) + np.array([200, 40, 90], np.uint8)
        write_video(tmp_path / "a.mkv", [color], [0])
        image, window = picture_of(tmp_path / "a.mkv")
        assert np.abs(image.astype(int) - color).max() < 6
        assert window == (0, 0, 160, 96)

    def test_frame_of_another_aspect_ratio_is_cropped_or_padded(self, tmp_path: Path) -> None:
        wide = np.full((96, 320, 3), 200, np.uint8)
        wide[:, :80] = wide[:, 240:] = 20
        write_video(tmp_path / "a.mkv", [wide], [0])
        image, window = picture_of(tmp_path / "a.mkv")
        assert window == (80, 0, 240, 96)
        assert image[:, 4:-4].min() > 180
        image, window = picture_of(tmp_path / "a.mkv", fit="pad")
        assert window == (0, -48, 320, 144)
        assert image[:20].max() == 0
        assert image[48, 80].min() > 180
        assert image[48, 10].max() < 60

    @pytest.mark.parametrize("fit", ["crop", "pad"])
    @pytest.mark.parametrize("size", [(160, 96), (192, 108), (200, 50), (64, 200)])
    def test_frame_has_the_configured_size(self, tmp_path: Path, fit: str, size: tuple[int, int]) -> None:
        image, (x1, y1, x2, y2) = picture_of(write_plain(tmp_path / "a.mkv", *size), fit=fit)
        assert image.shape == (96, 160, 3)
        assert (x2 - x1) / (y2 - y1) == pytest.approx(160 / 96, rel=0.03)


class TestSize:
    @pytest.mark.parametrize(
        ("size", "settings", "values"),
        [
            ((96, 160), {}, ("96x160", "36%", "frames.min_kept", "0.7", 'frames.fit = "pad"')),
            ((320, 96), {}, ("320x96", "50%", "frames.min_kept")),
            ((96, 160), {"min_kept": 0}, ("160x96", "1.67")),
            ((128, 76), {}, ("128x76", "1.2")),
        ],
    )
    def test_video_that_would_be_cropped_or_enlarged_too_much_is_an_error(
        self, tmp_path: Path, size: tuple[int, int], settings: dict[str, Any], values: tuple[str, ...]
    ) -> None:
        path = write_plain(tmp_path / "a.mkv", *size)
        with raises(VideoError, "unusable-video") as caught:
            list(frames(path, **settings))
        assert all(value in str(caught.value) for value in values)

    @pytest.mark.parametrize(
        ("size", "settings"),
        [
            ((96, 160), {"fit": "pad"}),
            ((96, 160), {"min_kept": 0.3, "max_scale": 2}),
            ((128, 96), {"max_scale": 1.25}),
            ((148, 90), {}),
        ],
    )
    def test_video_within_the_crop_and_scale_limits_is_read(
        self, tmp_path: Path, size: tuple[int, int], settings: dict[str, Any]
    ) -> None:
        (frame,) = frames(write_plain(tmp_path / "a.mkv", *size), **settings)
        assert frame.image.shape == (96, 160, 3)


class TestShots:
    def test_shot_numbers_change_at_the_exact_frame_of_a_cut(self, tmp_path: Path) -> None:
        shots = np.repeat(range(4), [23, 40, 12, 31]).tolist()
        pictures = [np.roll(textured(shot), number, axis=1) for number, shot in enumerate(shots)]
        write_video(tmp_path / "a.mkv", pictures, [40 * i for i in range(len(pictures))])
        assert [frame.shot for frame in read(tmp_path / "a.mkv", fps=25)] == shots
        # Shot numbers are also correct if few frames are kept, and none from the shortest shot.
        found = read(tmp_path / "a.mkv", fps=0.5)
        assert [(frame.number, frame.shot) for frame in found] == [(0, 0), (50, 1), (100, 3)]

    def test_flash_causes_at_most_one_shot_change(self, tmp_path: Path) -> None:
        pictures = [textured(1)] * 30
        pictures[12] = np.full_like(pictures[0], 255)
        write_video(tmp_path / "a.mkv", pictures, [40 * i for i in range(30)])
        shots = [frame.shot for frame in read(tmp_path / "a.mkv", fps=25)]
        assert shots[11] == 0
        assert shots[-1] <= 1

    def test_camera_motion_does_not_start_a_shot(self, tmp_path: Path) -> None:
        write_match(tmp_path / "a.avi", "synthetic-volleyball", (Shot("play", 12, 4),), width=320, height=180)
        assert {frame.shot for frame in read(tmp_path / "a.avi", size=(320, 180))} == {0}


class TestNearDuplicates:
    @given(st.integers(0, 10_000), st.integers(30, 95), st.sampled_from([(160, 96), (320, 180), (640, 360)]))
    def test_digest_is_robust_to_compression_and_size(self, seed: int, quality: int, size: tuple[int, int]) -> None:
        rng = np.random.default_rng(seed)
        image = cv2.GaussianBlur(rng.integers(0, 256, (180, 320, 3)).astype(np.uint8), (0, 0), 14)
        image = cv2.normalize(image, None, 0, 255, cv2.NORM_MINMAX)
        _, data = cv2.imencode(".jpg", cv2.resize(image, size), [cv2.IMWRITE_JPEG_QUALITY, quality])
        again = cv2.imdecode(data, cv2.IMREAD_COLOR)
        assert Seen(24, [("it", digest(image))]).near(digest(again)) is not None

    def test_digest_of_a_brightness_ramp_equals_a_hand_calculation(self) -> None:
        ramp = np.linspace(0, 255, 17).round().astype(np.uint8)
        rising = np.broadcast_to(ramp[None, :, None], (16, 17, 3)).copy()
        assert digest(rising) == b"\xff" * 32
        assert digest(rising[:, ::-1].copy()) == bytes(32)

    @given(st.lists(st.binary(min_size=32, max_size=32), max_size=30), st.binary(min_size=32, max_size=32))
    def test_seen_near_returns_the_nearest_hash_within_the_limit(self, known: list[bytes], wanted: bytes) -> None:
        bits = [(int.from_bytes(one) ^ int.from_bytes(wanted)).bit_count() for one in known]
        near = [(count, i) for i, count in enumerate(bits) if count <= 100]
        expected = (str(min(near)[1]), min(near)[0]) if near else None
        assert Seen(100, [(str(i), one) for i, one in enumerate(known)]).near(wanted) == expected

    @pytest.mark.parametrize("bits", [0, 3, 10, 16, 17, 40])
    def test_seen_near_among_many_hashes_equals_an_exhaustive_search(self, bits: int) -> None:
        rng = np.random.default_rng(bits)
        # There are more hashes than `Seen` compares one by one. They form families that differ in few bits.
        families = rng.integers(0, 256, (40, 32), dtype=np.uint8)
        flips = np.packbits(rng.random((9000, 256)) < rng.uniform(0, 0.08, (9000, 1)), axis=1)
        hashes = families[rng.integers(0, 40, 9000)] ^ flips
        seen = Seen(bits, ((str(number), one.tobytes()) for number, one in enumerate(hashes)))
        asked = np.vstack([families, hashes[::450] ^ np.packbits(rng.random((20, 256)) < 0.03, axis=1)])
        found = 0
        for one in asked:
            distances = np.unpackbits(hashes ^ one, axis=1).sum(axis=1)
            nearest = int(distances.argmin())
            expected = (str(nearest), int(distances[nearest])) if distances[nearest] <= bits else None
            assert seen.near(one.tobytes()) == expected
            found += expected is not None
        assert bits == 0 or found > 0


class TestDamaged:
    def test_read_of_a_file_that_is_truncated_or_not_a_video_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "a.mp4").write_bytes(b"this is text, not a video" * 100)
        (tmp_path / "b.mp4").touch()
        write_match(tmp_path / "a.avi", "synthetic-soccer", (Shot("play", 12, 1),), width=160, height=96)
        os.truncate(tmp_path / "a.avi", (tmp_path / "a.avi").stat().st_size // 2)
        for name in ("a.mp4", "b.mp4", "missing.mp4", "a.avi"):
            with raises(VideoError, "unusable-video"):
                read(tmp_path / name)

    def test_read_of_a_video_with_overwritten_bytes_loses_only_the_affected_frames(self, tmp_path: Path) -> None:
        path = tmp_path / "a.avi"
        write_video(path, [numbered(i) for i in range(100)], list(range(0, 10_000, 100)), rate=10)
        assert len(read(path)) == 10
        data = np.fromfile(path, np.uint8)
        data[len(data) // 2 :][: len(data) // 20] = 0
        data.tofile(path)
        found = read(path)
        good = [f for f in found if f.image is not None and number_of(f.image) == f.ms // 100]
        assert 8 <= len(good) <= len(found) <= 10

    def test_time_stamps_that_go_backwards_are_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "a.ts"
        write_video(path, [numbered(1)] * 50, list(range(0, 5_000, 100)), codec="mpeg4")
        path.write_bytes(path.read_bytes() * 2)
        found: list[VideoFrame] = []
        with raises(VideoError, "unusable-video"):
            found.extend(frames(path))
        assert [frame.ms for frame in found] == [0, 1000, 2000, 3000, 4000]

    def test_frames_one_millisecond_apart_are_all_read_from_a_file_whose_name_looks_like_a_pattern(
        self, tmp_path: Path
    ) -> None:
        write_video(tmp_path / "cut_%02d.mkv", [numbered(i) for i in range(6)], list(range(6)))
        found = read(tmp_path / "cut_%02d.mkv", fps=1000)
        assert [(f.ms, number_of(f.image)) for f in found if f.image is not None] == [(i, i) for i in range(6)]


SIDES = st.integers(1, 40)
IMAGES = arrays(np.uint8, st.one_of(st.tuples(SIDES, SIDES), st.tuples(SIDES, SIDES, st.just(3))))


@given(IMAGES, st.booleans())
def test_picture_file_keeps_every_pixel(
    tmp_path_factory: pytest.TempPathFactory, array: NDArray[np.uint8], packed: bool
) -> None:
    path = tmp_path_factory.mktemp("pictures") / "a.image"
    PictureFile.write(path, array, packed=packed)
    # Read the file with another library than the one under test.
    with Image.open(path) as read:
        assert read.format == ("PNG" if packed else "PPM")
        assert read.mode == ("L" if array.ndim == 2 else "RGB")
        assert np.array_equal(np.asarray(read), array)
    assert np.array_equal(PictureFile(path, gray=array.ndim == 2).array, array)


def test_picture_file_is_packed_only_once(tmp_path: Path) -> None:
    pixels = textured(4)
    picture = PictureFile.write(tmp_path / "a.image", pixels, packed=False)
    assert picture.path.stat().st_size > pixels.size
    PictureFile(picture.path).pack()
    assert picture.path.read_bytes() == quick_png(pixels)
    before = picture.path.stat()
    PictureFile(picture.path).pack()
    assert (picture.path.stat().st_ino, picture.path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert np.array_equal(PictureFile(picture.path).array, pixels)
