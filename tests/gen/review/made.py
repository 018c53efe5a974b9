"""Create datasets to review, and run the command that serves them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from spotball_core.io.scenes import write_scenes
from spotball_core.schema.scene import Scene
from spotball_core.synthetic.pictures import draw_scene
from spotball_core.synthetic.scenes import synthetic_scenes


def dataset(folder: Path, *, images: int = 4, plain: bool = False) -> Path:
    """Write synthetic scenes, each with one image with the ball and one without; if plain, write placeholder bytes."""
    scenes = []
    for scene in synthetic_scenes(images):
        name = f"{scene.sport}/{scene.image}.png"
        for part, ball in (("images", False), ("with_ball", True))[: 1 if plain else 2]:
            path = folder / part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if plain:
                path.write_bytes(f"image {scene.key}".encode())
            else:
                draw_scene(scene, ball=ball).save(path)
        scenes.append(scene.model_copy(update={"path": f"images/{name}"}))
    write_scenes(scenes, folder / "scenes.jsonl")
    return folder


def plain_dataset(folder: Path, *, images: int = 4) -> Path:
    return dataset(folder, images=images, plain=True)


def by_id(scenes: tuple[Scene, ...]) -> list[Scene]:
    """Return scenes in the order of the review if no image exceeds a limit."""
    return sorted(scenes, key=lambda scene: scene.key)


@contextmanager
def reviewing(folder: Path, *, reviewer: str = "anna", port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `spotball gen review` as a process, and yield the printed link and the process."""
    line = [sys.executable, "-m", "spotball_core", "gen", "review", str(folder)]
    line += ["--reviewer", reviewer, "--port", str(port)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stderr
            said = [child.stderr.readline(), child.stderr.readline()]
            link = re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=\S{20,}\n", said[1])
            assert link, said + child.stderr.readlines()
            yield link[0].strip(), child
        finally:
            child.kill()
            child.communicate(timeout=60)


@contextmanager
def client(link: str) -> Iterator[httpx.Client]:
    """Yield an HTTP client that has opened the link."""
    with httpx.Client(base_url=link.partition("/?")[0], follow_redirects=True) as opened:
        response = opened.get(link)
        assert response.status_code == 200, response.text
        yield opened


def sent(number: int, after: int = 0, item: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a change as the page sends it, with an id made from `number`."""
    change = f"00000000-0000-0000-0000-{number:012}"
    decision: dict[str, Any] = {"verdict": "accept", "reason": None, "unchecked": [], "regions": []}
    return {"change": change, "after": after, "item": item, **decision, **fields}
