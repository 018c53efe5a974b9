"""Test the transformers provider with tiny models of two architectures on the CPU."""

import asyncio
import dataclasses
import functools
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    Message,
    PermanentError,
    Picture,
    Provider,
    Request,
    Settings,
)
from spotball_adapters.providers.transformers import Transformers
from tests.adapters.tiny_models import save_llama, save_qwen
from tests.builders import scene
from tests.failures import codes, raises

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="PyTorch is not installed: it comes with the local extra")
transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: it comes with the local extra"
)
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: it comes with the local extra")

QUESTION = (Message("user", "Where is the ball? ⚽ Où est le ballon ?", picture=True),)
TENS = tuple(range(1, 11))


@dataclass(frozen=True)
class Shape:
    folder: Path
    model: type
    tower: type


@pytest.fixture(scope="module", params=["llama", "qwen"])
def shape(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shape:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "llama":
        return Shape(save_llama(folder), transformers.MllamaForConditionalGeneration, transformers.MllamaVisionModel)
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel as Tower

    return Shape(save_qwen(folder), transformers.Qwen2_5_VLForConditionalGeneration, Tower)


@pytest.fixture(scope="module")
def provider(shape: Shape) -> Iterator[Provider]:
    made = Transformers(Access(str(shape.folder)))
    yield made
    asyncio.run(made.close())


def picture(seed: int = 0) -> Picture:
    pixels = np.random.default_rng(seed).integers(0, 256, (90, 160, 3), dtype=np.uint8)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return Picture(content.getvalue(), "image/png", 160, 90)


def request(
    samples: tuple[int, ...] = TENS,
    *,
    seed: int | None = 3,
    temperature: float | None = 0.6,
    top_p: float | None = None,
    tokens: int | None = 12,
    messages: tuple[Message, ...] = QUESTION,
    shown: Picture | None = None,
) -> Request:
    settings = Settings(temperature=temperature, top_p=top_p, max_output_tokens=tokens, seed=seed)
    return Request(scene("1"), shown or picture(), messages, settings, samples)


def ask(provider: Provider, asked: Request) -> Answer:
    return asyncio.run(provider.ask(asked))


def run_alone(folder: Path, use: Callable[[Provider], Awaitable[Any]]) -> Any:
    """Create a provider, call a function with it, and close it."""

    async def whole() -> Any:
        made = Transformers(Access(str(folder)))
        try:
            return await use(made)
        finally:
            await made.close()

    return asyncio.run(whole())


async def until(condition: Callable[[], bool], asked: asyncio.Task[Answer]) -> None:
    """Wait until a condition holds, and fail if the request ends before that."""
    while not condition():
        if asked.done():
            pytest.fail(f"the request ended first: {asked.result()}")
        await asyncio.sleep(0.01)


def with_generation(folder: Path, copy: Path, **changes: Any) -> Path:
    """Return a copy of a model with a changed generation config."""
    shutil.copytree(folder, copy)
    path = copy / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return copy


def watch(monkeypatch: pytest.MonkeyPatch, kind: type, before: Callable[[dict[str, Any]], None]) -> None:
    """Call a function before each forward pass of a module."""
    forward = kind.forward

    @functools.wraps(forward)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        before(kwargs | {"pixels": args[0] if args else kwargs.get("pixel_values")})
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(kind, "forward", watched)


class Plain:
    """The model used as in the documentation of the library, with one prompt and one reply."""

    def __init__(self, shape: Shape, asked: Request) -> None:
        from transformers import AutoImageProcessor, AutoTokenizer

        self.model = shape.model.from_pretrained(shape.folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(shape.folder)
        images = AutoImageProcessor.from_pretrained(shape.folder)
        with Image.open(io.BytesIO(asked.picture.data)) as image:
            pixels = images(images=[[image]] if "Mllama" in shape.model.__name__ else [image], return_tensors="pt")
        (message,) = asked.messages
        if "Mllama" in shape.model.__name__:
            text = f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n<|image|>{message.text}<|eot_id|>"
            ids = tokenizer(text + "<|start_header_id|>assistant<|end_header_id|>\n\n", return_tensors="pt").input_ids
            tiles = pixels.pop("num_tiles")[0][0]
            mask = torch.zeros(1, ids.shape[1], 1, 4, dtype=torch.long)
            mask[:, int((ids[0] == self.model.config.image_token_index).nonzero()[0]) :, :, :tiles] = 1
            self.inputs = dict(pixels) | {"input_ids": ids, "cross_attention_mask": mask}
        else:
            merged = "<|image_pad|>" * (int(pixels["image_grid_thw"].prod()) // 4)
            text = f"<|im_start|>user\n<|vision_start|>{merged}<|vision_end|>{message.text}<|im_end|>\n"
            ids = tokenizer(text + "<|im_start|>assistant\n", return_tensors="pt").input_ids
            kinds = (ids == self.model.config.image_token_id).int()
            self.inputs = dict(pixels) | {"input_ids": ids, "mm_token_type_ids": kinds}
            if transformers.__version__.startswith("5.0."):
                del self.inputs["mm_token_type_ids"]
        self.inputs["attention_mask"] = torch.ones_like(ids)
        self.tokenizer = tokenizer

    def greedy(self, tokens: int) -> str:
        made = self.model.generate(**self.inputs, do_sample=False, max_new_tokens=tokens)
        said = made[0, self.inputs["input_ids"].shape[1] :]
        return str(self.tokenizer.decode(said, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def first_token(self, temperature: float) -> Any:
        """Return the probabilities of the first token of the reply."""
        with torch.no_grad():
            logits = self.model(**self.inputs).logits[0, -1].double()
        return (logits / temperature).softmax(-1).numpy()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_greedy_reply_equals_that_of_the_library(shape: Shape, provider: Provider, seed: int) -> None:
    asked = request((1,), temperature=0, shown=picture(seed), tokens=24)
    answer = ask(provider, asked)
    plain = Plain(shape, asked)
    assert answer.replies[0].text == plain.greedy(24)
    assert answer.input_tokens == plain.inputs["input_ids"].shape[1]


def test_image_is_encoded_once_per_request_for_all_samples(
    shape: Shape, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[tuple[int, ...]] = []
    watch(monkeypatch, shape.tower, lambda given: encoded.append(tuple(given["pixels"].shape)))
    ask(provider, request((1,)))
    answer = ask(provider, request(tuple(range(1, provider.max_samples + 1))))
    assert len(answer.replies) == 50
    of_one, of_fifty = encoded
    assert of_one == of_fifty
    assert answer.model == provider.model


def test_prompt_is_processed_once_per_request_for_all_samples(
    shape: Shape, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[int, ...]] = []
    watch(monkeypatch, shape.model, lambda given: read.append(tuple(given["input_ids"].shape)))
    answer = ask(provider, request())
    assert read[0] == (1, answer.input_tokens)
    assert set(read[1:]) == {(10, 1)}


def test_seeded_reply_does_not_depend_on_the_other_samples_of_the_request(provider: Provider) -> None:
    together = ask(provider, request())
    alone = [ask(provider, request((sample,))) for sample in TENS]
    assert together.replies == tuple(one.replies[0] for one in alone)
    assert together.output_tokens == sum(one.output_tokens or 0 for one in alone)
    assert ask(provider, request((7, 2))).replies == (together.replies[6], together.replies[1])


def test_seeded_reply_differs_by_sample_image_question_and_seed(provider: Provider) -> None:
    texts = [reply.text for reply in ask(provider, request()).replies]
    assert len(set(texts)) == len(texts)
    assert ask(provider, request((1,))).replies[0].text == texts[0]
    others = [
        request((1,), seed=4),
        request((1,), shown=picture(1)),
        request((1,), messages=(Message("user", "Where?", picture=True),)),
    ]
    assert all(ask(provider, other).replies[0].text != texts[0] for other in others)


def test_replies_without_a_seed_differ_between_requests(provider: Provider) -> None:
    assert ask(provider, request(seed=None)).replies != ask(provider, request(seed=None)).replies


def test_first_tokens_follow_the_distribution_of_the_model(shape: Shape, provider: Provider) -> None:
    asked = request(tuple(range(1, 51)), temperature=1.3, tokens=1)
    expected = _most_likely(Plain(shape, asked).first_token(1.3), most=50)
    counts: Counter[str] = Counter()
    for first in range(1, 1001, 50):
        part = dataclasses.replace(asked, samples=tuple(range(first, first + 50)))
        counts.update(reply.text + reply.finish for reply in ask(provider, part).replies)
    names = _names(shape)
    seen = np.array([counts[name] for name in names])
    # Different tokens of incomplete bytes decode to the same text.
    shared = {name: sum(expected[at] for at, other in enumerate(names) if other == name) * 1000 for name in names}
    observed = np.array([seen[names.index(name)] for name in shared])
    wanted = np.array(list(shared.values()))
    assert observed.sum() == 1000
    rare = wanted < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    wanted = np.append(wanted[~rare], wanted[rare].sum())
    assert len(wanted) > 3
    assert stats.chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > 0.001


def _most_likely(probabilities: Any, most: int) -> Any:
    """Keep only the most likely tokens of a distribution, as the library does by default (top-k)."""
    kept = np.where(probabilities >= np.sort(probabilities)[-most], probabilities, 0)
    return kept / kept.sum()


def _names(shape: Shape) -> list[str]:
    """Return the text and finish of a reply that consists of one token, for each token."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(shape.folder)
    ends = json.loads((shape.folder / "generation_config.json").read_text())["eos_token_id"]
    ends = ends if isinstance(ends, list) else [ends]
    return [
        tokenizer.decode([token], skip_special_tokens=True) + ("stop" if token in ends else "length")
        for token in range(len(tokenizer))
    ]


def test_top_p_samples_only_from_the_nucleus(shape: Shape, provider: Provider) -> None:
    asked = request(tuple(range(1, 51)), temperature=1.3, top_p=0.2, tokens=1)
    likely = _most_likely(Plain(shape, asked).first_token(1.3), most=50)
    order = np.argsort(-likely)
    nucleus = order[: int((np.cumsum(likely[order]) < 0.2).sum()) + 1]
    names = _names(shape)
    said = {reply.text + reply.finish for reply in ask(provider, asked).replies}
    assert said <= {names[token] for token in nucleus}
    everything = dataclasses.replace(asked, settings=dataclasses.replace(asked.settings, top_p=1.0))
    assert not {reply.text + reply.finish for reply in ask(provider, everything).replies} <= said


def test_temperature_0_generates_one_reply_for_all_samples(
    shape: Shape, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[int, ...]] = []
    watch(monkeypatch, shape.model, lambda given: read.append(tuple(given["input_ids"].shape)))
    answer = ask(provider, request(temperature=0, top_p=0.5))
    assert len(answer.replies) == 10
    assert len(set(answer.replies)) == 1
    assert {rows for rows, _ in read} == {1}
    assert answer.output_tokens == 10 * len(read)


def test_reply_depends_on_the_image(shape: Shape, provider: Provider) -> None:
    first, second = (Plain(shape, request(shown=picture(seed))).first_token(1.0) for seed in (0, 1))
    assert not np.allclose(first, second, atol=1e-3)
    texts = {ask(provider, request((1,), temperature=0, shown=picture(seed))).replies[0].text for seed in range(6)}
    assert len(texts) > 1


def test_replies_end_at_eos_tokens_or_the_token_limit(shape: Shape, tmp_path: Path) -> None:
    asked = request(tuple(range(1, 41)), tokens=4, temperature=1.0)
    endless = run_alone(
        with_generation(shape.folder, tmp_path / "endless", eos_token_id=None), lambda made: made.ask(asked)
    )
    assert {reply.finish for reply in endless.replies} == {"length"}
    assert endless.output_tokens == 40 * 4
    ends = list(range(60))
    ended = run_alone(with_generation(shape.folder, tmp_path / "ends", eos_token_id=ends), lambda made: made.ask(asked))
    tokenizer = transformers.AutoTokenizer.from_pretrained(shape.folder)
    names = tuple(tokenizer.decode([token]) for token in ends)
    kinds = Counter((reply.finish, reply.finish_said) for reply in ended.replies)
    assert set(kinds) == {("stop", "eos"), ("length", "max_new_tokens")}
    assert ended.output_tokens < endless.output_tokens
    for reply, longer in zip(ended.replies, endless.replies, strict=True):
        assert longer.text.startswith(reply.text.rstrip("\ufffd"))
        assert reply.text.endswith(names) or reply.finish == "length"
        assert reply.finish == "stop" or reply.text == longer.text


def test_text_omits_special_tokens_and_keeps_the_rest_unchanged(shape: Shape) -> None:
    from spotball_adapters.providers.local_model import loaded

    local = loaded(str(shape.folder))
    said = "  D5 : ⚽ é 漢字 .\n"
    tokens = local.processor.tokenizer(said, add_special_tokens=False).input_ids
    assert local.text([*tokens, local.processor.tokenizer.eos_token_id]) == said


def test_request_without_settings_uses_the_generation_config_of_the_model(
    shape: Shape, provider: Provider, tmp_path: Path
) -> None:
    plain = request(temperature=None, seed=None)
    assert len(set(ask(provider, plain).replies)) == 1
    folder = with_generation(shape.folder, tmp_path / "own", do_sample=True, temperature=0.9)
    answer = run_alone(folder, lambda made: made.ask(plain))
    assert len(set(answer.replies)) > 1


def test_temperature_with_top_k_1_in_the_generation_config_raises_permanent_error(shape: Shape, tmp_path: Path) -> None:
    folder = with_generation(shape.folder, tmp_path / "one", do_sample=True, top_k=1)
    with raises(PermanentError, "unsupported-option"):
        run_alone(folder, lambda made: made.ask(request()))


def test_out_of_memory_reduces_the_batch_and_encodes_the_image_only_once(
    shape: Shape, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = ask(provider, request())
    encoded: list[int] = []
    widths: list[int] = []
    watch(monkeypatch, shape.tower, lambda _: encoded.append(1))

    def little(given: dict[str, Any]) -> None:
        widths.append(given["input_ids"].shape[0])
        if widths[-1] > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    watch(monkeypatch, shape.model, little)

    async def twice(made: Provider) -> tuple[Answer, Answer]:
        return await made.ask(request()), await made.ask(request())

    first, second = run_alone(shape.folder, twice)
    assert first == second == full
    assert len(encoded) == 2
    assert Counter(width for width in widths if width > 3) == {10: 1, 5: 1}


def test_out_of_memory_for_one_sample_raises_permanent_error(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: dict[str, Any]) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    watch(monkeypatch, shape.model, none)
    with raises(PermanentError, "out-of-memory"):
        run_alone(shape.folder, lambda made: made.ask(request()))


def test_other_runtime_errors_are_passed_on(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: dict[str, Any]) -> None:
        raise RuntimeError("shapes cannot be multiplied")

    watch(monkeypatch, shape.model, broken)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        run_alone(shape.folder, lambda made: made.ask(request()))


def test_generation_does_not_block_the_event_loop_and_requests_run_one_by_one(
    shape: Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go = threading.Event(), threading.Event()
    waited: list[bool] = []
    order: list[int] = []

    def wait(given: dict[str, Any]) -> None:
        order.append(given["input_ids"].shape[0])
        started.set()
        waited.append(go.wait(60))

    watch(monkeypatch, shape.model, wait)

    async def two(made: Provider) -> list[Answer]:
        asked = [asyncio.create_task(made.ask(request(samples, tokens=4))) for samples in [(1, 2), (1, 2, 3)]]
        await until(started.is_set, asked[0])
        go.set()
        return await asyncio.gather(*asked)

    answers = run_alone(shape.folder, two)
    assert [len(answer.replies) for answer in answers] == [2, 3]
    assert all(waited)
    first, second = order[: order.index(3)], order[order.index(3) :]
    assert (first[0], first[-1], set(first[1:-1])) == (1, 1, {2})
    assert set(second) == {3}


def test_cancelled_request_stops_its_generation(shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = with_generation(shape.folder, tmp_path / "endless", eos_token_id=None)
    steps: list[int] = []
    watch(monkeypatch, shape.model, lambda _: steps.append(1))

    async def leave(made: Provider) -> None:
        asked = asyncio.create_task(made.ask(request(tokens=3000)))
        await until(lambda: len(steps) >= 3, asked)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert len((await made.ask(request((1,), tokens=2))).replies) == 1

    run_alone(folder, leave)
    assert len(steps) < 1000


def test_close_stops_the_running_request_with_permanent_error(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    started = threading.Event()
    watch(monkeypatch, shape.model, lambda _: started.set())

    async def close(made: Provider) -> None:
        asked = asyncio.create_task(made.ask(request(tokens=3000)))
        await until(started.is_set, asked)
        await made.close()
        with raises(PermanentError, "provider-failed"):
            await asked

    run_alone(shape.folder, close)


def test_longer_conversation_has_more_input_tokens(provider: Provider) -> None:
    turns = (*QUESTION, Message("assistant", "In D5."), Message("user", "Are you sure?"))
    longer = ask(provider, request((1,), messages=turns))
    assert (longer.input_tokens or 0) > (ask(provider, request((1,))).input_tokens or 0)


def test_request_without_an_image_message_needs_no_image(provider: Provider) -> None:
    # Judges get requests like this.
    nothing = Picture(b"", "", 0, 0)
    found = ask(provider, request((1, 2), messages=(Message("user", "A or B?"),), shown=nothing))
    assert len(found.replies) == 2


def test_messages_that_the_chat_template_rejects_raise_permanent_error(tmp_path: Path) -> None:
    messages = (Message("system", "Be brief."), *QUESTION)
    with raises(PermanentError, "unusable-model"):
        run_alone(save_llama(tmp_path), lambda made: made.ask(request(messages=messages)))


def test_messages_that_the_chat_template_omits_raise_permanent_error(tmp_path: Path) -> None:
    folder = save_qwen(tmp_path)
    template = folder / "chat_template.jinja"
    template.write_text("{% for message in messages if message['role'] == 'user' %}" + template.read_text()[29:])
    messages = (Message("system", "Be brief."), *QUESTION)
    with raises(PermanentError, "unusable-model"):
        run_alone(folder, lambda made: made.ask(request(messages=messages)))


def test_versions_contain_torch_transformers_and_the_device(provider: Provider) -> None:
    versions = provider.versions()
    assert versions["torch"] == torch.__version__
    assert versions["transformers"] == transformers.__version__
    assert versions["device"]
    provider.check(Settings(temperature=0.6, top_p=0.9, max_output_tokens=5, seed=0))
    assert provider.image_tokens(640, 360) is None


def test_run_with_a_local_model_is_reproducible_with_a_seed(shape: Shape, tmp_path: Path) -> None:
    from tests.adapters.run_process import dataset, expected, here, replies, rows, said

    data = dataset(tmp_path / "data", images=2)
    line = ["run", str(data), "--provider", "transformers", "--model", str(shape.folder), "--prompt", "base"]
    options = ["--samples", "3", "--temperature", "0.6", "--max-output-tokens", "6", "--seed", "1"]
    outs = [tmp_path / "first", tmp_path / "second"]
    for out in outs:
        done = here(*line, *options, "--respondent", "tiny", "--out", str(out))
        assert done.returncode == 0, said(done)
    assert set(replies(outs[0])) == expected(2, base=3)
    assert replies(outs[0]) == replies(outs[1])
    assert len(set(replies(outs[0]).values())) == 6
    assert {row["respondent"] for row in rows(outs[0])} == {"tiny"}


def refusal(model: Path) -> PermanentError:
    with pytest.raises(PermanentError) as caught:
        asyncio.run(Transformers(Access(str(model))).ask(request()))
    assert str(model) in str(caught.value)
    return caught.value


def test_missing_model_folder_raises_permanent_error(tmp_path: Path) -> None:
    error = refusal(tmp_path / "nowhere")
    assert (error.code, error.field) == ("missing-file", "--model")


def test_folder_without_a_model_raises_a_one_line_permanent_error(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert error.code == "unusable-model"
    assert "\n" not in str(error)


def test_text_only_model_raises_permanent_error(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config.save_pretrained(tmp_path)
    error = refusal(tmp_path)
    assert error.code == "unusable-model"
    assert "llama" in str(error)


def test_model_without_a_chat_template_raises_permanent_error(tmp_path: Path) -> None:
    folder = save_qwen(tmp_path)
    (folder / "chat_template.jinja").unlink()
    assert refusal(folder).code == "unusable-model"


def test_unavailable_model_raises_a_one_line_error_without_the_token() -> None:
    code = (
        "from spotball_adapters.providers.protocol import PermanentError\n"
        "from spotball_adapters.providers.local_model import loaded\n"
        "try:\n"
        "    loaded('nobody/has-this-model')\n"
        "except PermanentError as error:\n"
        "    print(error.with_codes())\n"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_TOKEN": "hf_thisIsSecret"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    assert codes(done.stdout) == ["unusable-model"]
    assert "nobody/has-this-model" in done.stdout
    assert done.stdout.count("\n") == 1
    assert "hf_thisIsSecret" not in done.stdout + done.stderr
