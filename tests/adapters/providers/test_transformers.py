"""Test the transformers provider with tiny models of two architectures on the CPU."""

import asyncio
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

from spotball_adapters.providers.protocol import Access, Answer, Message, PermanentError, Picture, Request, Settings
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
def provider(shape: Shape) -> Iterator[Transformers]:
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
    tokens: int = 12,
    messages: tuple[Message, ...] = QUESTION,
    shown: Picture | None = None,
    **settings: Any,
) -> Request:
    chosen = Settings(**{"temperature": 0.6, "seed": 3, **settings}, max_output_tokens=tokens)
    return Request(scene("1"), shown or picture(), messages, chosen, samples)


def ask(provider: Transformers, asked: Request) -> Answer:
    return asyncio.run(provider.ask(asked))


def run_alone(folder: Path, use: Callable[[Transformers], Awaitable[Any]]) -> Any:
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


Size = tuple[int, ...]


def watch(monkeypatch: pytest.MonkeyPatch, kind: type, before: Callable[[Size], object] = len) -> list[Size]:
    """Return a list to which each call of a module adds its input size, after calling `before` with the size."""
    sizes: list[Size] = []
    forward = kind.forward

    @functools.wraps(forward)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = kwargs["input_ids"] if "input_ids" in kwargs else args[0] if args else kwargs["pixel_values"]
        sizes.append(tuple(given.shape))
        before(sizes[-1])
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(kind, "forward", watched)
    return sizes


class Plain:
    """Reference: use the model as the documentation of the library does, with one prompt and one reply."""

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


def test_greedy_reply_equals_that_of_the_library_and_depends_on_the_image(shape: Shape, provider: Transformers) -> None:
    texts = set()
    for seed in range(6):
        asked = request((1,), temperature=0, shown=picture(seed), tokens=24)
        answer = ask(provider, asked)
        plain = Plain(shape, asked)
        assert answer.replies[0].text == plain.greedy(24), seed
        assert answer.input_tokens == plain.inputs["input_ids"].shape[1]
        texts.add(answer.replies[0].text)
    assert len(texts) > 1


def test_image_and_prompt_are_read_once_per_request_for_all_samples(
    shape: Shape, provider: Transformers, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded, read = watch(monkeypatch, shape.tower), watch(monkeypatch, shape.model)
    ask(provider, request((1,)))
    read.clear()
    answer = ask(provider, request(tuple(range(1, provider.max_samples + 1))))
    assert (len(answer.replies), answer.model) == (50, provider.model)
    of_one, of_fifty = encoded
    assert of_one == of_fifty
    assert read[0] == (1, answer.input_tokens)
    assert set(read[1:]) == {(50, 1)}


def test_seeded_reply_does_not_depend_on_the_other_samples_of_the_request(provider: Transformers) -> None:
    together = ask(provider, request())
    alone = [ask(provider, request((sample,))) for sample in TENS]
    assert together.replies == tuple(one.replies[0] for one in alone)
    assert together.output_tokens == sum(one.output_tokens or 0 for one in alone)
    assert ask(provider, request((7, 2))).replies == (together.replies[6], together.replies[1])


def test_reply_differs_by_sample_image_question_and_seed_and_between_requests_without_a_seed(
    provider: Transformers,
) -> None:
    texts = [reply.text for reply in ask(provider, request()).replies]
    # Some samples of this random model end after a token or two, so two of them may be equal.
    assert len(set(texts)) >= len(texts) - 2
    changes = {"seed": 4}, {"shown": picture(1)}, {"messages": (Message("user", "Where?", picture=True),)}
    assert all(ask(provider, request((1,), **change)).replies[0].text != texts[0] for change in changes)
    assert ask(provider, request(seed=None)).replies != ask(provider, request(seed=None)).replies


def test_first_tokens_follow_the_distribution_of_the_model_and_top_p_limits_them_to_its_nucleus(
    shape: Shape, provider: Transformers
) -> None:
    def said(first: int, **settings: float) -> list[str]:
        """Return the text and finish of 50 replies of one token."""
        asked = request(tuple(range(first, first + 50)), temperature=1.3, tokens=1, **settings)
        return [reply.text + reply.finish for reply in ask(provider, asked).replies]

    tokenizer = transformers.AutoTokenizer.from_pretrained(shape.folder)
    ends = np.ravel(json.loads((shape.folder / "generation_config.json").read_text())["eos_token_id"])
    names = [
        tokenizer.decode([token], skip_special_tokens=True) + ("stop" if token in ends else "length")
        for token in range(len(tokenizer))
    ]
    # The library keeps only the 50 most likely tokens by default (top-k).
    likely = Plain(shape, request()).first_token(1.3)
    likely = np.where(likely >= np.sort(likely)[-50], likely, 0)
    likely /= likely.sum()
    counts = Counter(name for first in range(1, 1001, 50) for name in said(first))
    # Different tokens that are incomplete byte sequences decode to the same text.
    shared = {name: sum(likely[at] for at, other in enumerate(names) if other == name) * 1000 for name in names}
    observed = np.array([counts[name] for name in shared])
    wanted = np.array(list(shared.values()))
    assert observed.sum() == 1000
    rare = wanted < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    wanted = np.append(wanted[~rare], wanted[rare].sum())
    assert len(wanted) > 3
    assert stats.chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > 0.001
    order = np.argsort(-likely)
    nucleus = {names[token] for token in order[: int((np.cumsum(likely[order]) < 0.2).sum()) + 1]}
    in_nucleus = set(said(1, top_p=0.2))
    assert in_nucleus <= nucleus
    assert not set(said(1, top_p=1.0)) <= in_nucleus


def test_temperature_0_generates_one_reply_for_all_samples(
    shape: Shape, provider: Transformers, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = watch(monkeypatch, shape.model)
    answer = ask(provider, request(temperature=0, top_p=0.5))
    assert len(answer.replies) == 10
    assert len(set(answer.replies)) == 1
    assert {rows for rows, _ in read} == {1}
    assert answer.output_tokens == 10 * len(read)


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


def test_decoded_text_omits_special_tokens_and_is_otherwise_unchanged(shape: Shape) -> None:
    from spotball_adapters.providers.local_model import loaded

    local = loaded(str(shape.folder))
    said = "  D5 : ⚽ é 漢字 .\n"
    tokens = local.processor.tokenizer(said, add_special_tokens=False).input_ids
    assert local.text([*tokens, local.processor.tokenizer.eos_token_id]) == said


def test_request_without_settings_uses_the_generation_config_of_the_model(
    shape: Shape, provider: Transformers, tmp_path: Path
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
    shape: Shape, provider: Transformers, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = ask(provider, request())

    def little(size: Size) -> None:
        if size[0] > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    encoded, read = watch(monkeypatch, shape.tower), watch(monkeypatch, shape.model, little)

    async def twice(made: Transformers) -> tuple[Answer, Answer]:
        return await made.ask(request()), await made.ask(request())

    first, second = run_alone(shape.folder, twice)
    assert first == second == full
    assert len(encoded) == 2
    assert Counter(width for width, _ in read if width > 3) == {10: 1, 5: 1}


def test_out_of_memory_for_one_sample_raises_permanent_error_and_other_errors_are_passed_on(
    shape: Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Size) -> None:
        raise error

    watch(monkeypatch, shape.model, fail)
    error: RuntimeError = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    with raises(PermanentError, "out-of-memory"):
        run_alone(shape.folder, lambda made: made.ask(request()))
    error = RuntimeError("shapes cannot be multiplied")
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        run_alone(shape.folder, lambda made: made.ask(request()))


def test_generation_does_not_block_the_event_loop_and_requests_run_one_by_one(
    shape: Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go = threading.Event(), threading.Event()
    waited: list[bool] = []

    def wait(_: Size) -> None:
        started.set()
        waited.append(go.wait(60))

    read = watch(monkeypatch, shape.model, wait)

    async def two(made: Transformers) -> list[Answer]:
        asked = [asyncio.create_task(made.ask(request(samples, tokens=4))) for samples in [(1, 2), (1, 2, 3)]]
        await until(started.is_set, asked[0])
        go.set()
        return await asyncio.gather(*asked)

    answers = run_alone(shape.folder, two)
    assert [len(answer.replies) for answer in answers] == [2, 3]
    assert all(waited)
    order = [width for width, _ in read]
    first, second = order[: order.index(3)], order[order.index(3) :]
    assert (first[0], first[-1], set(first[1:-1])) == (1, 1, {2})
    assert set(second) == {3}


def test_cancelled_request_stops_its_generation_and_close_stops_the_running_request(
    shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = with_generation(shape.folder, tmp_path / "endless", eos_token_id=None)
    steps = watch(monkeypatch, shape.model)

    async def leave_and_close(made: Transformers) -> None:
        async def started() -> asyncio.Task[Answer]:
            before = len(steps)
            asked = asyncio.create_task(made.ask(request(tokens=3000)))
            await until(lambda: len(steps) >= before + 3, asked)
            return asked

        left = await started()
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        assert len((await made.ask(request((1,), tokens=2))).replies) == 1
        closed = await started()
        await made.close()
        with raises(PermanentError, "provider-failed"):
            await closed

    run_alone(folder, leave_and_close)
    assert len(steps) < 1000


def test_longer_conversation_has_more_input_tokens_and_request_with_only_text_messages_needs_no_image(
    provider: Transformers,
) -> None:
    turns = (*QUESTION, Message("assistant", "In D5."), Message("user", "Are you sure?"))
    longer = ask(provider, request((1,), messages=turns))
    assert (longer.input_tokens or 0) > (ask(provider, request((1,))).input_tokens or 0)
    # Judge models get requests like this.
    found = ask(provider, request((1, 2), messages=(Message("user", "A or B?"),), shown=Picture(b"", "", 0, 0)))
    assert len(found.replies) == 2


def test_versions_contain_torch_transformers_and_the_device(provider: Transformers) -> None:
    versions = provider.versions()
    assert (versions["torch"], versions["transformers"]) == (torch.__version__, transformers.__version__)
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


def save_text_only(folder: Path) -> Path:
    config = transformers.LlamaConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config.save_pretrained(folder)
    return folder


def save_with_template(folder: Path, start: str | None) -> Path:
    """Save a model whose chat template begins with `start`, or that has no chat template if `start` is None."""
    template = save_qwen(folder) / "chat_template.jinja"
    if start is None:
        template.unlink()
    else:
        template.write_text(start + template.read_text()[29:])
    return folder


OF_USERS = "{% for message in messages if message['role'] == 'user' %}"


@pytest.mark.parametrize(
    ("save", "where", "found"),
    [
        pytest.param(lambda folder: folder / "nowhere", "missing-file:--model", "", id="missing folder"),
        pytest.param(lambda folder: folder, "unusable-model", "", id="empty folder"),
        pytest.param(save_text_only, "unusable-model", "llama", id="text only"),
        pytest.param(lambda folder: save_with_template(folder, None), "unusable-model", "", id="no template"),
        pytest.param(save_llama, "unusable-model", "", id="template rejects a message"),
        pytest.param(lambda folder: save_with_template(folder, OF_USERS), "unusable-model", "", id="omits a message"),
    ],
)
def test_unusable_model_raises_permanent_error(
    tmp_path: Path, save: Callable[[Path], Path], where: str, found: str
) -> None:
    model = save(tmp_path)
    messages = (Message("system", "Be brief."), *QUESTION)
    with raises(PermanentError, where) as caught:
        run_alone(model, lambda made: made.ask(request(messages=messages)))
    assert str(model) in str(caught.value)
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


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
