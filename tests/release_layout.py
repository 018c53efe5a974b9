"""Write a small synthetic copy of the published release's layout, with every known quirk of the real one.

The following is the same for every seed, so that tests can state expected results:

- soccer: images 2, 163, 302, 347, all with ground truth. Only Gemini's file shows that 302 and 347 are controls.
- basketball: images 1, 2 and the control 81, all with ground truth; the image file of 81 is `81_wball.png`.
- volleyball: images 1, 2, 3 with ground truth, but no file for 3; the control 51 has a file and no ground truth, and
  is named `51.png` by GPT and `51_wball.png` by Gemini. Basketball and volleyball share `1.png` and `2.png`.
- players: see `BOXES`. None was detected on volleyball 2, and players are unknown on soccer 163.
- people: participants 1, 2, 3 click three times on each image that is not a control; see `EXPLANATIONS`.
- gpt: four samples of each prompt, sport and image, controls included.
- gemini: level 2; on soccer 163 it answers `GEMINI_163`, on each other image D5 four times.
- qwen: level 0 of basketball has one and a half runs: four iterations of 1, 2 and 81, then four of 1 and two of 2.
- llama: level 1 of volleyball is incomplete: four samples of image 1, two of image 2, none of the other images.

All other values (people's other clicks, and the cells of GPT, Qwen and Llama) are random.
"""

from __future__ import annotations

import csv
import random
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

TRUTHS = {
    "soccer": {
        "2": ("164", "324.5", "14", "25", "D4;E4"),
        "163": ("90.5", "250", "27", "44", "D3;C2;D2;C3"),
        "302": ("190.5", "358.5", "25", "43", "E4;E5"),
        "347": ("240.5", "393.5", "25", "43", "E5;E6;F5;F6"),
    },
    "basketball": {
        "1": ("600", "210", "40", "44", "D10"),
        "2": ("576", "240", "48", "36", "D10;D9;E10;E9"),
        "81": ("10", "8", "32", "32", "A1"),
    },
    "volleyball": {
        "1": ("352", "90", "32", "18", "B6"),
        "2": ("110", "45", "20", "18", "A2"),
        "3": ("288", "120", "40", "36", "B5;C5"),
    },
}
"""x, y, width and height of the ball, and its cells, as written in the files.

In soccer, these are the top-left corner and the size in a frame of 512 x 512; in the other sports, the center and the
size in pixels. The ball of basketball 81 is partly outside the image.
"""

TRUTH_FILES = {"soccer": "soccer_gt.csv", "basketball": "bb_gt.csv", "volleyball": "vball_gt.csv"}

IMAGE_FILES = {
    "soccer": ("2.jpg", "163.jpg", "302.jpg", "347.jpg"),
    "basketball": ("1.png", "2.png", "81_wball.png"),
    "volleyball": ("1.png", "2.png", "51_wball.png"),
}

CLICKED = {"soccer": ("2", "163"), "basketball": ("1", "2"), "volleyball": ("1", "2", "3")}

FIRST_CLICKS = ((3, 2), (3, 3), (4, 2))
"""Row and column of participant 1's clicks on soccer 163."""

EXPLANATIONS = {
    "soccer": (
        ("1", "163", 'He says "up there", they look left,\nso C2'),
        ("2", "302", "I see it"),
        ("3", "2", "legs"),
    ),
    "basketball": (("1", "81", "it is there"), ("2", "1", "arms"), ("9", "1", "I have no clicks")),
    "volleyball": (("1", "3", "  "), ("2", "3", "hands, all of them")),
}

GEMINI_163 = ("c3", "", "ERROR", "G3", "D11", "5D")

BOXES = {
    "soccer": (
        ("2.jpg", (10.0, 20.0, 50.5, 140.0)),
        ("2.jpg", (300.25, 100.0, 340.0, 220.0)),
        ("302.jpg", (5, 5, 9, 9)),
        ("347.jpg", (1, 2, 3, 4)),
    ),
    "basketball": (
        ("1.png", (100.0, 100.0, 150.0, 200.0)),
        ("2.png", (20, 20, 40, 80)),
        ("81_wball.png", (7, 7, 70, 70)),
    ),
    "volleyball": (
        ("1.png", (400.0, 50.0, 450.0, 190.0)),
        ("3.png", (1, 1, 2, 2)),
        ("3.png", (3, 3, 4, 4)),
        ("51_wball.png", (0, 0, 1, 1)),
    ),
}


def write_release(folder: str | Path, seed: int = 0) -> Path:
    """Write the copy into the subfolder `data` of a folder, and return the folder."""
    folder = Path(folder)
    draw = random.Random(seed)
    _write_images(folder / "data" / "images")
    _write_players(folder / "data" / "analysis" / "player_proximity")
    _write_people(folder / "data" / "responses" / "humans", draw)
    _write_models(folder / "data" / "responses" / "models", draw)
    return folder


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a CSV file of the release."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def png(shade: int, width: int = 640, height: int = 360) -> bytes:
    """Return a PNG image of one shade of gray, from 0 to 255."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes([shade]) * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _write_images(folder: Path) -> None:
    for sport, truths in TRUTHS.items():
        rows = []
        for image, (x, y, width, height, cells) in truths.items():
            center = (1.25 * (float(x) + float(width) / 2), 0.703125 * (float(y) + float(height) / 2))
            rows.append((image, x, y, width, height, *center, cells))
        header = ("image", "x", "y", "width", "height", "gt_x", "gt_y", "cell")
        write_csv(folder / sport / TRUTH_FILES[sport], header, rows)
        for name in IMAGE_FILES[sport]:
            content = png(zlib.crc32(f"{sport}/{name}".encode()) % 256)
            # The importer does not decode images, so any distinct bytes can stand for a JPEG file.
            content = content if name.endswith(".png") else b"\xff\xd8\xff\xe0" + name.encode()
            (folder / sport / name).write_bytes(content)


def _write_players(folder: Path) -> None:
    root = "/content/drive/MyDrive/spotball_eval"
    rows = []
    kept: dict[tuple[str, str], int] = {("volleyball", "2"): 0}
    for sport, boxes in BOXES.items():
        for name, box in boxes:
            key = (sport, Path(name).stem)
            rows.append((sport, f"{root}/{sport}/{name}", kept.get(key, 0), *box))
            kept[key] = kept.get(key, 0) + 1
    corners = ("x1", "y1", "x2", "y2")
    write_csv(folder / "filtered_people_boxes_long.csv", ("sport", "image", "box_idx", *corners), rows)
    summary = [(sport, name, n, 640, 360) for (sport, name), n in sorted(kept.items())]
    columns = ("sport", "image", "n_person_kept", "img_w", "img_h")
    write_csv(folder / "filtered_people_image_summary.csv", columns, summary)


def _write_people(folder: Path, draw: random.Random) -> None:
    for sport, images in CLICKED.items():
        rows: list[tuple[object, ...]] = []
        for participant in ("1", "2", "3"):
            for order, image in enumerate(images, start=1):
                for click in (1, 2, 3):
                    place = (draw.randint(1, 6), draw.randint(1, 10))
                    if (sport, participant, image) == ("soccer", "1", "163"):
                        place = FIRST_CLICKS[click - 1]
                    rows.append((participant, order, image, click, *place))
        write_csv(folder / f"{sport}_clicks.csv", ("id", "order", "image", "click", "row", "col"), rows)
        texts = [(participant, 1, image, text) for participant, image, text in EXPLANATIONS[sport]]
        write_csv(folder / f"{sport}_explanations.csv", ("id", "order", "image", "response"), texts)


def _write_models(folder: Path, draw: random.Random) -> None:
    def cells(n: int) -> list[str]:
        return [f"{draw.choice('ABCDEF')}{draw.randint(1, 10)}" for _ in range(n)]

    names = {**IMAGE_FILES, "volleyball": ("1.png", "2.png", "3.png", "51.png")}
    for sport in names:
        for level in (0, 1, 2):
            answers = [(name, i, cell) for name in names[sport] for i, cell in enumerate(cells(4), start=1)]
            _write_answers(folder / "gpt" / f"level{level}_{sport}.csv", level, answers)

    names["soccer"] = ("2.jpg", "163.jpg", "302_wball.jpg", "347_wballjpg.jpg")
    names["volleyball"] = ("1.png", "2.png", "3.png", "51_wball.png")
    for sport in names:
        answers = []
        for name in names[sport]:
            told = GEMINI_163 if name == "163.jpg" else ("D5",) * 4
            answers += [(name, i, cell) for i, cell in enumerate(told, start=1)]
        _write_answers(folder / "gemini" / f"level2_{sport}.csv", 2, answers)

    half = {"1.png": 4, "2.png": 2}
    answers = [(name, i, cell) for name in names["basketball"] for i, cell in enumerate(cells(4), start=1)]
    answers += [(name, i, cell) for name, n in half.items() for i, cell in enumerate(cells(n), start=1)]
    _write_answers(folder / "qwen" / "level0_basketball.csv", 0, answers)
    answers = [(name, i, cell) for name, n in half.items() for i, cell in enumerate(cells(n), start=1)]
    _write_answers(folder / "llama" / "level1_volleyball.csv", 1, answers)


def _write_answers(path: Path, level: int, answers: list[tuple[str, int, str]]) -> None:
    def reasoning(name: str, iteration: int) -> str:
        return f'They look at "{name}",\nall of them ({iteration})'

    if level == 2:
        header = ["image", "iteration", "q1_answer", "q2_answer", "q3_answer", "reasoning", "cell", "final_response"]
        rows = [[name, i, "a", "b, c", "", reasoning(name, i), cell, f"Cell: {cell}"] for name, i, cell in answers]
    else:
        header = ["image", "iteration", "reasoning", "cell"]
        rows = [[name, i, reasoning(name, i), cell] for name, i, cell in answers]
    write_csv(path, header, rows)
