"""Test images with a grid: drawing, encoding, errors, and the cache."""

from __future__ import annotations

import io
import itertools
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from spotball_adapters.prompts.picture import ScenePictures, encoded
from spotball_adapters.providers.protocol import Picture
from spotball_core.errors import GridError, InputError, Problem
from spotball_core.grid import Grid
from spotball_core.overlay import LARGEST, gridded, layout
from spotball_core.schema.scene import GridShape, Scene
from tests.conftest import examples
from tests.failures import raises

Image = pytest.importorskip("PIL.Image", reason="pictures need the adapters extra")


def noise(width: int = 640, height: int = 360, *, seed: int = 0):  # type: ignore[no-untyped-def]
    """Return a synthetic image of squares in random colors."""
    values = np.random.default_rng(seed).integers(0, 256, (height // 20, width // 20, 3), dtype=np.uint8)
    return Image.fromarray(values).resize((width, height), Image.Resampling.NEAREST)


def scene(path: str | None = "a.png", *, width: int = 640, height: int = 360, rows: int = 6, cols: int = 10) -> Scene:
    shape = GridShape(rows=rows, cols=cols)
    return Scene(sport="synthetic", image=str(path), width=width, height=height, grid=shape, path=path)


def pixels(image) -> np.ndarray:  # type: ignore[no-untyped-def, type-arg]
    return np.asarray(image.convert("RGB"))


def shown(picture: Picture) -> np.ndarray:  # type: ignore[type-arg]
    with Image.open(io.BytesIO(picture.data)) as image:
        return pixels(image)


def with_grid(image) -> np.ndarray:  # type: ignore[no-untyped-def, type-arg]
    """Return the pixels of an image with the standard grid."""
    return pixels(gridded(image, Grid.standard()))


class TestDrawing:
    @pytest.mark.parametrize("ground", [0, 40, 128, 215, 255])
    def test_gridded_draws_lines_and_labels_inside_their_cells_with_contrast(self, ground: int) -> None:
        drawn = with_grid(Image.new("RGB", (640, 360), (ground,) * 3))
        for x in range(64, 640, 64):
            assert np.ptp(drawn[40, x - 1 : x + 1, 0].astype(int)) > 60
        for y in range(60, 360, 60):
            assert np.ptp(drawn[y - 1 : y + 1, 50, 0].astype(int)) > 60
        for x1, y1, x2, y2 in Grid.standard().rectangles.astype(int):
            inside = drawn[y1 + 2 : y2 - 2, x1 + 2 : x2 - 2]
            # Only the upper left part of the cell differs from the background, with high contrast.
            changed = np.argwhere((inside != ground).any(axis=2))
            assert np.ptp(inside) >= 200
            assert len(changed) > 40
            assert (changed.max(axis=0) < [0.4 * (y2 - y1), 0.65 * (x2 - x1)]).all()

    def test_gridded_labels_differ_and_share_the_letter_along_a_row(self) -> None:
        drawn = with_grid(Image.new("RGB", (640, 360)))
        cells = {drawn[y : y + 56, x : x + 60].tobytes() for y in range(2, 360, 60) for x in range(2, 640, 64)}
        assert len(cells) == 60
        # All labels of a row begin with the same letter.
        letters = {drawn[62 : 62 + 20, x + 2 : x + 11].tobytes() for x in range(64, 640, 64)}
        assert len(letters) == 1

    def test_gridded_changes_less_than_20_percent_of_the_pixels_and_leaves_its_input_unchanged(self) -> None:
        image = noise()
        changed = (with_grid(image) != pixels(noise())).any(axis=2)
        assert 0.02 < changed.mean() < 0.2
        assert image.tobytes() == noise().tobytes()

    @pytest.mark.parametrize(
        ("rows", "cols", "width", "height", "labeled", "scale"),
        [
            (6, 10, 640, 360, True, 1),
            (6, 10, 320, 180, True, 1),
            (6, 10, 1920, 1080, True, 1),
            (6, 10, 3840, 2160, True, 1),
            (3, 5, 320, 180, True, 1),
            (12, 20, 640, 360, True, 1),
            (12, 20, 320, 180, False, 1),
            (26, 40, 1920, 1080, True, 1),
            (26, 40, 640, 360, False, 1),
            (30, 40, 640, 360, False, 1),
            (26, 40, 320, 180, False, 2),
            (1, 1, 640, 360, True, 1),
            (1, 40, 640, 360, False, 1),
        ],
    )
    def test_layout_puts_labels_in_cells_or_in_a_margin_depending_on_the_size_of_the_cells(
        self, rows: int, cols: int, width: int, height: int, labeled: bool, scale: int
    ) -> None:
        grid = Grid(rows, cols, width, height)
        plan = layout(grid)
        assert (plan.margin == (0, 0), plan.scale) == (labeled, scale)
        image = noise(width, height)
        drawn = gridded(image, grid)
        assert drawn.size == plan.size
        left, above = plan.margin
        assert plan.size == (width * scale + 2 * left, height * scale + 2 * above)
        if scale == 1:
            scene_part = pixels(drawn)[above : above + height, left : left + width]
            assert (scene_part != pixels(image)).any(axis=2).mean() < 0.45

    def test_gridded_margin_labels_each_row_and_column_on_both_sides(self) -> None:
        grid = Grid(26, 40, 640, 360)
        plan, drawn = layout(grid), pixels(gridded(Image.new("RGB", (640, 360)), grid))
        left, above = plan.margin
        ink = drawn.max(axis=2) > 150
        for top in (0, above + 360):
            band = ink[top : top + above, left : left + 640]
            assert all(band[:, i * 16 : (i + 1) * 16].any() for i in range(40))
            # Gaps separate the numbers, so that 1 and 2 are not read as 12.
            assert not any(band[:, i * 16].any() for i in range(41) if i * 16 < 640)
        for side in (0, left + 640):
            band = ink[above : above + 360, side : side + left]
            edges = [round(i * 360 / 26) for i in range(27)]
            assert all(band[a:b].any() for a, b in itertools.pairwise(edges))
            assert not any(band[edge].any() for edge in edges[:-1])

    @settings(max_examples=examples(25))
    @given(st.integers(1, 40), st.integers(1, 60), st.integers(40, 900), st.integers(40, 900))
    def test_layout_of_any_grid_can_be_drawn_or_raises_grid_error_for_too_small_cells(
        self, rows: int, cols: int, width: int, height: int
    ) -> None:
        grid = Grid(rows, cols, width, height)
        try:
            plan = layout(grid)
        except GridError:
            assert min(grid.cell_width, grid.cell_height) < 3
            return
        assert gridded(Image.new("RGB", (width, height)), grid).size == plan.size
        assert max(plan.size) <= LARGEST

    def test_layout_with_too_small_cells_and_gridded_with_an_image_of_another_size_raise_grid_error(self) -> None:
        with raises(GridError, "invalid-grid"):
            layout(Grid(1000, 1000, 640, 360))
        with raises(GridError, "incompatible-data"):
            gridded(Image.new("RGB", (320, 180)), Grid.standard())


class TestEncoded:
    def test_encoded_returns_a_deterministic_png_of_the_image_with_grid_without_metadata(self, tmp_path: Path) -> None:
        noise().save(tmp_path / "a.png")
        picture = encoded(scene(), tmp_path)
        assert (picture.media_type, picture.width, picture.height) == ("image/png", 640, 360)
        with Image.open(io.BytesIO(picture.data)) as image:
            assert (image.format, image.mode, image.size) == ("PNG", "RGB", (640, 360))
        assert (shown(picture) == with_grid(noise())).all()
        assert encoded(scene(), str(tmp_path)) == picture
        noise().save(tmp_path / "a.png", icc_profile=b"profile", dpi=(300, 300), exif=with_orientation(1))
        assert encoded(scene(), tmp_path) == picture

    def test_encoded_reports_the_size_of_the_drawn_image(self, tmp_path: Path) -> None:
        noise(320, 180).save(tmp_path / "a.png")
        picture = encoded(scene(width=320, height=180, rows=26, cols=40), tmp_path)
        assert shown(picture).shape == (picture.height, picture.width, 3) != (180, 320, 3)

    @pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
    @pytest.mark.parametrize("ending", ["png", "tiff"])
    def test_encoded_accepts_all_supported_pixel_modes(self, tmp_path: Path, mode: str, ending: str) -> None:
        image = noise().convert(mode)
        image.save(tmp_path / f"a.{ending}")
        assert (shown(encoded(scene(f"a.{ending}"), tmp_path)) == with_grid(image.convert("RGB"))).all()

    @pytest.mark.parametrize("ending", ["jpg", "webp", "bmp", "gif"])
    def test_encoded_accepts_jpg_webp_bmp_and_gif(self, tmp_path: Path, ending: str) -> None:
        noise().save(tmp_path / f"a.{ending}")
        assert encoded(scene(f"a.{ending}"), tmp_path).width == 640

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_encoded_applies_the_exif_orientation(self, tmp_path: Path, orientation: int) -> None:
        turn = {
            2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE",
            6: "ROTATE_90", 7: "TRANSVERSE", 8: "ROTATE_270",
        }  # fmt: skip
        stored = noise()
        if orientation > 1:
            # Store the inverse of the rotation, as a camera does.
            stored = stored.transpose(Image.Transpose[turn[orientation]])
        stored.save(tmp_path / "a.png", exif=with_orientation(orientation))
        assert (shown(encoded(scene(), tmp_path)) == with_grid(noise())).all()


def with_orientation(number: int):  # type: ignore[no-untyped-def]
    exif = Image.Exif()
    exif[0x0112] = number
    return exif


class TestErrors:
    def refused(self, where: str, given: Scene, folder: Path) -> Problem:
        with pytest.raises(InputError) as caught:
            encoded(given, folder)
        (problem,) = caught.value.problems
        assert (problem.code, problem.field) == (where, "image")
        assert problem.file == str(folder / (given.path or ""))
        return problem

    def test_encoded_of_a_scene_without_a_path_or_of_a_missing_file_is_an_error(self, tmp_path: Path) -> None:
        assert "synthetic/None" in self.refused("missing-value", scene(None), tmp_path).found
        self.refused("missing-file", scene(), tmp_path)

    def test_encoded_of_a_path_outside_the_folder_is_an_error(self, tmp_path: Path) -> None:
        noise().save(tmp_path / "a.png")
        (tmp_path / "dataset").mkdir()
        (tmp_path / "dataset" / "a.png").symlink_to(tmp_path / "a.png")
        self.refused("invalid-path", scene(), tmp_path / "dataset")
        unchecked = scene().model_copy(update={"path": "../a.png"})
        assert self.refused("invalid-path", unchecked, tmp_path / "dataset").found == "'../a.png'"

    @pytest.mark.parametrize("content", [b"", b"no image", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 640 360\n"])
    def test_encoded_of_a_file_that_is_not_an_image_is_an_error(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.png").write_bytes(content)
        assert "BMP, GIF, JPEG, PNG, TIFF, WEBP" in self.refused("unreadable-file", scene(), tmp_path).expected

    @pytest.mark.parametrize("ending", ["png", "jpg", "gif", "tiff", "webp", "bmp"])
    def test_encoded_of_a_truncated_image_or_a_corrupt_png_is_an_error(self, tmp_path: Path, ending: str) -> None:
        path = tmp_path / f"a.{ending}"
        noise().save(path)
        content = path.read_bytes()
        damaged = [content[: int(share * len(content))] for share in (0.3, 0.9)]
        for share in (0.1, 0.5, 0.9) if ending == "png" else ():
            corrupt = bytearray(content)
            corrupt[int(share * len(content))] ^= 0xFF
            damaged.append(bytes(corrupt))
        for data in damaged:
            path.write_bytes(data)
            self.refused("unreadable-file", scene(path.name), tmp_path)

    def test_encoded_of_an_image_with_another_size_than_the_scene_is_an_error(self, tmp_path: Path) -> None:
        for image, orientation in ((noise(360, 640), 1), (noise(), 6)):
            image.save(tmp_path / "a.png", exif=with_orientation(orientation))
            problem = self.refused("invalid-value", scene(), tmp_path)
            assert "360 x 640" in problem.found
            assert "640 x 360" in problem.expected
            assert "synthetic/a.png" in problem.expected

    def test_encoded_of_an_image_with_a_transparent_pixel_or_color_is_an_error(self, tmp_path: Path) -> None:
        pixel, color = noise().convert("RGBA"), noise().convert("P")
        pixel.putpixel((3, 5), (0, 0, 0, 254))
        pixel.save(tmp_path / "pixel.png")
        color.save(tmp_path / "color.png", transparency=color.getpixel((0, 0)))
        for name in ("pixel.png", "color.png"):
            assert "transparent" in self.refused("invalid-value", scene(name), tmp_path).found

    @pytest.mark.parametrize(("mode", "ending"), [("CMYK", "jpg"), ("I;16", "tiff"), ("F", "tiff"), ("LAB", "tiff")])
    def test_encoded_of_an_unsupported_pixel_mode_is_an_error(self, tmp_path: Path, mode: str, ending: str) -> None:
        Image.new(mode, (640, 360)).save(tmp_path / f"a.{ending}")
        assert mode in self.refused("invalid-value", scene(f"a.{ending}"), tmp_path).found.split()

    def test_encoded_of_a_huge_or_animated_image_is_an_error(self, tmp_path: Path) -> None:
        Image.new("1", (9000, 9000)).save(tmp_path / "a.png")
        assert "9000 x 9000" in self.refused("invalid-value", scene(), tmp_path).found
        noise().save(tmp_path / "a.gif", save_all=True, append_images=[noise(seed=1)])
        assert "2" in self.refused("invalid-value", scene("a.gif"), tmp_path).found.split()

    def test_encoded_with_a_grid_that_is_too_fine_is_an_error(self, tmp_path: Path) -> None:
        noise().save(tmp_path / "a.png")
        assert "1000x1000@640x360" in self.refused("invalid-grid", scene(rows=1000, cols=1000), tmp_path).found


class TestScenePictures:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        noise().save(tmp_path / "a.png")
        noise(seed=1).save(tmp_path / "b.png")
        return tmp_path

    @pytest.mark.parametrize("cached", [True, False])
    def test_scene_pictures_returns_the_images_of_encoded_and_reads_each_file_once(
        self, folder: Path, cached: bool
    ) -> None:
        pictures = ScenePictures(folder, folder / "cache" if cached else None)
        scenes = [scene("a.png"), scene("b.png")]
        expected = [encoded(one, folder) for one in scenes]
        assert [pictures.of(one) for one in scenes] == expected
        for name in ("a.png", "b.png"):
            (folder / name).unlink()
        assert [pictures.of(one) for one in scenes] == expected

    def test_scene_pictures_reuses_the_cached_file_in_a_later_run(self, folder: Path) -> None:
        first = ScenePictures(folder, folder / "cache").of(scene())
        (kept,) = (folder / "cache").iterdir()
        assert kept.suffix == ".png"
        # Replace the cached file to check that it is sent without drawing again.
        other = encoded(scene("b.png"), folder)
        kept.write_bytes(other.data)
        assert ScenePictures(folder, folder / "cache").of(scene()).data == other.data != first.data

    def test_scene_pictures_caches_different_images_and_grids_separately(self, folder: Path) -> None:
        (folder / "same.png").write_bytes((folder / "a.png").read_bytes())
        scenes = scene(), scene("same.png"), scene("b.png"), scene(rows=12, cols=20)
        drawn = [ScenePictures(folder, folder / "cache").of(one).data for one in scenes]
        assert drawn[0] == drawn[1]
        noise(seed=2).save(folder / "a.png")
        drawn.append(ScenePictures(folder, folder / "cache").of(scene()).data)
        assert len(set(drawn)) == len(list((folder / "cache").iterdir())) == 4

    def test_scene_pictures_caches_nothing_after_an_error(self, folder: Path) -> None:
        (folder / "a.png").write_bytes(b"no image")
        pictures = ScenePictures(folder, folder / "cache")
        for _ in range(2):
            with raises(InputError, "unreadable-file:image"):
                pictures.of(scene())
        assert list((folder / "cache").iterdir()) == []
        noise().save(folder / "a.png")
        assert pictures.of(scene()).width == 640

    def test_scene_pictures_in_several_threads_writes_one_cache_file(self, folder: Path) -> None:
        pictures, seen = ScenePictures(folder, folder / "cache"), []
        threads = [threading.Thread(target=lambda: seen.append(pictures.of(scene()))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert seen == [encoded(scene(), folder)] * 8
        assert len(list((folder / "cache").iterdir())) == 1
