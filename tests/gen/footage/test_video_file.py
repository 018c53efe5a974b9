"""Test time stamps across container formats, and access to frames by time."""

from __future__ import annotations

import subprocess
import sys
import wave
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_gen.footage.video_file import frames_between, frames_near, open_video
from spotball_gen.items.frames import VideoError
from tests.conftest import ROOT
from tests.failures import raises
from tests.gen.videos import number_of, numbered, textured, write_video

RATE, FRAMES = 25, 60

Pixels = NDArray[np.uint8]


def write(
    path: Path, pictures: list[Pixels], codec: str, pixels: str = "yuv420p", start: int = 0, turn: int = 0, **more: str
) -> None:
    """Write pictures with a first time stamp of `start` frame periods, and with a rotation by `turn` degrees."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE, options=more)
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt, stream.bit_rate = pixels, 5_000_000
        if turn and not hasattr(stream, "set_display_rotation"):
            pytest.skip("this version of PyAV cannot write a rotation")
        if turn:
            stream.set_display_rotation(turn)
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = start + number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def write_with_b_frames(path: Path, *, codec: str = "libx264", start: int = 0, key_every: int = 250) -> None:
    """Write numbered pictures, two thirds as B-frames."""
    options = {"bf": "2", "b-pyramid": "none", "g": str(key_every)} if codec == "libx264" else {"bf": "2"}
    write(path, [numbered(number) for number in range(FRAMES)], codec, start=start, **options)


def blots(seed: int) -> Pixels:
    return textured(seed, width=40, height=24).repeat(8, axis=0).repeat(8, axis=1)


@pytest.mark.parametrize("start", [0, 250])
@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
@pytest.mark.parametrize("ending", ["avi", "mp4", "mkv", "mov", "ts"])
def test_frame_times_count_from_the_first_frame_in_every_container_format(
    tmp_path: Path, ending: str, codec: str, start: int
) -> None:
    path = tmp_path / f"a.{ending}"
    write_with_b_frames(path, codec=codec, start=start)
    with open_video(str(path)) as video:
        numbers, times = zip(*((number_of(frame.rgb()), frame.time) for frame in video.frames()), strict=True)
        assert abs(video.length - FRAMES / RATE) < 0.1
    assert list(numbers) == list(range(FRAMES))
    assert np.allclose(times, np.arange(FRAMES) / RATE, atol=0.001)


@pytest.mark.parametrize("start", [0, 250])
@pytest.mark.parametrize("ending", ["avi", "mp4", "mkv", "ts"])
def test_frames_near_and_frames_between_return_the_frames_at_the_requested_times(
    tmp_path: Path, ending: str, start: int
) -> None:
    path = tmp_path / f"a.{ending}"
    write_with_b_frames(path, start=start, key_every=12)
    for times in ([0.0], [0.4, 0.48], [1.0, 1.04, 1.08], [2.36]):
        numbers = [number_of(frame.rgb()) for frame in frames_near(str(path), times)]
        wanted = [round(time * RATE) for time in times]
        # AVI has no presentation times: after a seek, times may be off by the number of B-frames in a group.
        assert np.abs(np.subtract(numbers, wanted)).max() <= (2 if ending == "avi" else 0)
    between = [number_of(frame.rgb()) for frame in frames_between(str(path), 0.99, 1.21)]
    assert len(between) == 6
    assert between == sorted(between)


def test_reading_beyond_the_end_of_a_video_or_from_a_missing_or_sound_file_is_an_error(tmp_path: Path) -> None:
    write_with_b_frames(tmp_path / "a.mp4")
    with pytest.raises(ValueError, match=r"a\.mp4 .+ 9\.000 "):
        frames_near(str(tmp_path / "a.mp4"), [9.0])
    with pytest.raises(ValueError, match=r"b\.mp4 "):
        frames_near(str(tmp_path / "b.mp4"), [0.0])
    with wave.open(str(tmp_path / "sound.wav"), "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(8000))
    with raises(VideoError, "unusable-video"), open_video(str(tmp_path / "sound.wav")):
        pass


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_rotated_video_is_decoded_upright(tmp_path: Path, turn: int) -> None:
    picture = textured(3)
    write(tmp_path / "a.mp4", [picture], "mpeg4", turn=turn)
    upright = np.rot90(picture, turn // 90)
    with open_video(str(tmp_path / "a.mp4")) as video:
        (frame,) = video.frames()
    assert frame.size == upright.shape[1::-1]
    assert np.abs(frame.rgb().astype(int) - upright).mean() < 12
    assert frame.luma().shape == upright.shape[:2]


@pytest.mark.parametrize("pixels", ["yuv420p", "yuvj422p", "yuv444p", "bgr0", "gray"])
def test_luma_and_thumbnail_agree_with_the_rgb_picture(tmp_path: Path, pixels: str) -> None:
    write(tmp_path / "a.mkv", [blots(5)], "mjpeg" if pixels == "yuvj422p" else "ffv1", pixels)
    with open_video(str(tmp_path / "a.mkv")) as video:
        (frame,) = video.frames()
    rgb = frame.rgb().astype(float)
    gray = rgb @ [0.299, 0.587, 0.114]
    assert np.corrcoef(frame.luma().ravel(), gray.ravel())[0, 1] > 0.999
    height, width = frame.thumbnail().shape[:2]
    assert 36 <= height < 72
    assert 64 <= width < 128
    small = rgb[:: -(-192 // height), :: -(-320 // width)]
    assert np.corrcoef(frame.thumbnail().ravel(), small.ravel())[0, 1] > 0.98


@pytest.mark.slow
def test_reading_damaged_videos_and_images_prints_no_library_messages(tmp_path: Path) -> None:
    write_video(tmp_path / "a.avi", [numbered(i) for i in range(50)], list(range(0, 2000, 40)), rate=25)
    write_with_b_frames(tmp_path / "b.mp4")
    for path in (tmp_path / "a.avi", tmp_path / "b.mp4"):
        data = np.fromfile(path, np.uint8)
        data[len(data) // 3 : len(data) // 2 : 7] = 0xAA
        data.tofile(path)
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    code = f"""
from pathlib import Path
from spotball_gen.footage.video_file import open_video
from spotball_gen.items.pictures import decoded
for name in ("a.avi", "b.mp4"):
    with open_video({str(tmp_path)!r} + "/" + name) as video:
        assert sum(1 for _ in video.frames()) > 5
try:
    decoded(Path({str(tmp_path)!r}, "a.png"))
except OSError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("refused\n", "")


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv444p", "gray10le"])
def test_rgb_conversion_of_frames_in_several_threads_equals_serial_conversion(tmp_path: Path, pixels: str) -> None:
    write(tmp_path / "a.mkv", [blots(seed) for seed in range(40)], "ffv1", pixels)
    with av.open(str(tmp_path / "a.mkv")) as container:
        plain = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    with open_video(str(tmp_path / "a.mkv")) as video, ThreadPoolExecutor(max_workers=4) as pool:
        converted = list(pool.map(lambda frame: frame.rgb(), video.frames()))
    assert len(converted) == 40
    assert all(np.array_equal(one, other) for one, other in zip(converted, plain, strict=True))
