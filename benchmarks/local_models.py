"""Measure the provider `transformers` on a GPU: replies per second, memory, and the number of simultaneous replies.

The model has the architecture of Qwen2.5-VL-7B with random weights, so nothing is downloaded. It is compared with a
loop that calls `generate` for one reply at a time, and with vLLM if it is installed. Times are absolute, with the name
of the device.

    python benchmarks/local_models.py [--size 7b|tiny] [--images 8] [--samples 50] [--tokens 64]

`--size tiny` takes seconds on a CPU, and only shows that the measurement works.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import io
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import figure
from PIL import Image

sys.path.append(str(Path(__file__).parents[1]))

from spotball_adapters.providers.local_model import device_name, loaded, picked_device
from spotball_adapters.providers.protocol import Access, Message, Picture, Request, Settings
from spotball_adapters.providers.transformers import MAX_SAMPLES, Transformers
from spotball_core.synthetic.scenes import synthetic_scenes
from tests.adapters.tiny_models import save_qwen

QUESTION = "The ball was removed from this image. Which cell of the 6 x 10 grid holds it? Answer with one cell."

# The published configuration of Qwen2.5-VL-7B-Instruct.
TEXT = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "num_hidden_layers": 28,
    "vocab_size": 152064,
    "initializer_range": 0.02,
    "max_position_embeddings": 128000,
    "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1000000.0},
}
VISION = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "num_heads": 16,
    "window_size": 112,
    "fullatt_block_indexes": [7, 15, 23, 31],
    "initializer_range": 0.02,
}
PIXELS = {"7b": 1280 * 28 * 28, "tiny": 112 * 112}


def pictures(n: int) -> list[Picture]:
    """Return random images of the benchmark's size."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(n):
        out = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (360, 640, 3), dtype=np.uint8)).save(out, "PNG")
        made.append(Picture(out.getvalue(), "image/png", 640, 360))
    return made


def requests(images: int, samples: int, tokens: int) -> list[Request]:
    """Return one request per image."""
    scene = synthetic_scenes(1, seed=0)[0]
    settings = Settings(temperature=1.0, max_output_tokens=tokens, seed=0)
    return [
        Request(scene, picture, (Message("user", QUESTION, picture=True),), settings, tuple(range(1, samples + 1)))
        for picture in pictures(images)
    ]


def ours(model: Path, asked: list[Request]) -> tuple[float, int]:
    """Return the provider's time in seconds without loading the model, and its number of simultaneous replies."""
    provider = Transformers(Access(model=str(model)))

    async def ask() -> float:
        await provider.ask(asked[0])
        start = time.perf_counter()
        for request in asked:
            answer = await provider.ask(request)
            assert len(answer.replies) == len(request.samples)
        seconds = time.perf_counter() - start
        await provider.close()
        return seconds

    return asyncio.run(ask()), provider._width


def plain(model: Path, asked: list[Request], tokens: int) -> float:
    """Return the time in seconds of a loop that calls `generate` for one reply at a time."""
    local = loaded(str(model))
    start = time.perf_counter()
    for request in asked:
        for _ in request.samples:
            inputs = local.inputs(request.picture, request.messages)
            local.model.generate(**inputs, do_sample=True, max_new_tokens=tokens)
    seconds = time.perf_counter() - start
    local.release()
    return seconds


def vllm(model: Path, asked: list[Request], tokens: int) -> float:
    """Return the time in seconds that vLLM takes for all images and replies in one call."""
    from vllm import LLM, SamplingParams

    engine = LLM(str(model), max_model_len=4096)
    prompt = f"<|vision_start|><|image_pad|><|vision_end|>{QUESTION}"
    sampling = SamplingParams(n=len(asked[0].samples), temperature=1.0, max_tokens=tokens, ignore_eos=True)
    images = [Image.open(io.BytesIO(request.picture.data)) for request in asked]
    start = time.perf_counter()
    engine.generate([{"prompt": prompt, "multi_modal_data": {"image": image}} for image in images], sampling)
    return time.perf_counter() - start


def main() -> None:
    """Measure the provider and its alternatives, and print each figure."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(PIXELS), default="7b")
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--samples", type=int, default=MAX_SAMPLES)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--plain", type=int, default=10, help="replies of the plain loop, whose time is scaled up")
    options = parser.parse_args()
    device = picked_device()
    print(f"device: {device_name(device)}; size: {options.size}; random weights")
    asked = requests(options.images, options.samples, options.tokens)
    with tempfile.TemporaryDirectory() as temporary:
        real = options.size == "7b"
        if real:
            torch.set_default_dtype(torch.bfloat16)
        model = save_qwen(Path(temporary), TEXT if real else None, VISION if real else None, PIXELS[options.size])
        torch.set_default_dtype(torch.float32)
        n = options.images * options.samples
        seconds, width = ours(model, asked)
        figure("provider transformers", n / seconds, "answers/s")
        figure("replies at a time", width, "replies")
        if device == "cuda":
            figure("peak memory", torch.cuda.max_memory_allocated() / 1e9, "GB")
        few = min(options.plain, options.samples)
        alone = plain(model, requests(1, few, options.tokens), options.tokens)
        figure("over a loop of generate", (n / seconds) / (few / alone), "times")
        if importlib.util.find_spec("vllm"):
            figure("share of vLLM's answers per second", vllm(model, asked, options.tokens) / seconds, "times")
        else:
            print("vLLM is not installed")


if __name__ == "__main__":
    main()
