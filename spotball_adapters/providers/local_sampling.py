"""Many replies from one reading of the prompt.

The library's `generate` repeats the prompt and its image for each reply before the model reads them. Here the model
reads them once; what it then holds, the keys and values of its attention, is repeated, and all replies start there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spotball_adapters.providers.protocol import PermanentError, Settings

# What only the reading of the prompt needs, and is large.
_READ = ("pixel_values", "mm_encoder_outputs")
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


class NoMemoryError(Exception):
    """The device has not enough memory even for one reply at a time."""


@dataclass(frozen=True, slots=True)
class SampledReply:
    """One reply.

    Attributes:
        tokens: their numbers, the one that ended it included.
        ended: whether the model ended it; else it reached the greatest length.
    """

    tokens: list[int]
    ended: bool


def is_no_memory(error: RuntimeError) -> bool:
    """Whether a device ran out of memory. CUDA has an error of its own for that, other devices say it in words."""
    return any(words in str(error).lower() for words in _NO_MEMORY)


def how_to_sample(model_config: Any, settings: Settings, most: int) -> Any:
    """The settings as a generation config; what they leave out is the model's own.

    Args:
        model_config: the model's generation config.
        settings: what was asked for.
        most: the greatest number of tokens of a reply, where the settings do not say.

    Raises:
        PermanentError: if the model's own config makes a temperature meaningless.
    """
    config = copy.deepcopy(model_config)
    config.num_beams = config.num_return_sequences = 1
    config.use_cache = True
    config.max_length = None
    config.max_new_tokens = most if settings.max_output_tokens is None else settings.max_output_tokens
    if settings.temperature == 0:
        config.do_sample, config.temperature, config.top_p, config.top_k = False, 1.0, 1.0, 50
    elif settings.temperature is not None or settings.top_p is not None:
        if config.top_k == 1:
            raise PermanentError(
                "the model's generation_config.json has top_k 1, with which temperature and top_p have no effect"
            )
        config.do_sample = True
        for name in ("temperature", "top_p"):
            if (value := getattr(settings, name)) is not None:
                setattr(config, name, value)
    return config


def drawn(
    model: Any,
    inputs: Any,
    config: Any,
    *,
    seeds: Sequence[int | None],
    width: int,
    stopped: Callable[[], bool],
) -> tuple[list[SampledReply], int]:
    """Draw a reply for each seed; the prompt is read once.

    Args:
        model: of the transformers library.
        inputs: one prompt, as the model takes it.
        config: how to sample.
        seeds: of the replies, each below 2**64; None for no matter which.
        width: how many replies to make at a time.
        stopped: asked before each token; once true, what is under way ends as it is.

    Returns:
        The replies in the order of the seeds, and the width that memory was enough for: halved until it was.

    Raises:
        NoMemoryError: if it was not enough for one.
    """
    try:
        sampled: tuple[list[SampledReply], int] = model.generate(
            **inputs, generation_config=config, custom_generate=_Rows(seeds, width, stopped).all_of
        )
    except RuntimeError as error:
        if not is_no_memory(error):
            raise
        raise NoMemoryError from error
    return sampled


class _Rows:
    """What `generate` calls in place of its own loop once it has prepared one prompt."""

    def __init__(self, seeds: Sequence[int | None], width: int, stopped: Callable[[], bool]) -> None:
        self._seeds = seeds
        self._width = width
        self._stopped = stopped

    def all_of(
        self,
        model: Any,
        input_ids: Any,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        synced_gpus: bool = False,
        streamer: Any = None,
        **state: Any,
    ) -> tuple[list[SampledReply], int]:
        import torch

        read = model._prefill(input_ids, generation_config, state)
        state = {name: value for name, value in state.items() if not name.startswith(_READ)}
        stopping_criteria.append(self._stop)
        replies: list[SampledReply] = []
        while len(replies) < len(self._seeds):
            seeds = self._seeds[len(replies) : len(replies) + self._width]
            processors = copy.copy(logits_processor)
            if generation_config.do_sample:
                processors.append(_Choice(seeds, input_ids.shape[1], generation_config.max_new_tokens))
            try:
                tokens = _sampled(
                    model, read, input_ids, state, len(seeds), processors, stopping_criteria, generation_config
                )
            except RuntimeError as error:
                if not is_no_memory(error) or len(seeds) == 1:
                    raise
                self._width = len(seeds) // 2
                tokens = None
            if tokens is None:
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
                continue
            replies += [_reply(row, generation_config.eos_token_id) for row in tokens]
        return replies, self._width

    def _stop(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        import torch

        return torch.full((input_ids.shape[0],), self._stopped(), dtype=torch.bool, device=input_ids.device)


def _sampled(
    model: Any,
    read: Any,
    input_ids: Any,
    state: dict[str, Any],
    rows: int,
    processors: Any,
    criteria: Any,
    config: Any,
) -> list[list[int]]:
    """Go on from what was read, `rows` times at once: the library's own loop, with its first step done already."""
    import torch

    cache = copy.deepcopy(read.past_key_values)
    cache.reorder_cache(torch.zeros(rows, dtype=torch.long, device=input_ids.device))
    prefilled = type(read)(**{**read, "logits": read.logits.expand(rows, -1, -1), "past_key_values": cache})
    wide_ids, wide = model._expand_inputs_for_generation(
        expand_size=rows, is_encoder_decoder=False, input_ids=input_ids, **state
    )
    model._prefill = lambda *_, **__: prefilled
    try:
        sequences = type(model)._sample(
            model,
            wide_ids,
            logits_processor=processors,
            stopping_criteria=criteria,
            generation_config=config,
            **wide | {"past_key_values": cache},
        )
    finally:
        del model._prefill
    tokens: list[list[int]] = sequences[:, input_ids.shape[1] :].tolist()
    return tokens


class _Choice:
    """Leaves one token to each row, drawn by the row's own seed; what other rows there are does not matter."""

    def __init__(self, seeds: Sequence[int | None], start: int, steps: int) -> None:
        import torch

        generators = [torch.Generator() for _ in seeds]
        for generator, seed in zip(generators, seeds, strict=True):
            generator.seed() if seed is None else generator.manual_seed(seed)
        self._start = start
        self._points = torch.stack(
            [torch.rand(steps, generator=generator, dtype=torch.float64) for generator in generators]
        )

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        # MPS has no 64-bit numbers.
        place = "cpu" if scores.device.type == "mps" else scores.device
        mass = scores.to(place).to(torch.float64).softmax(-1).cumsum(-1)
        point = self._points[:, input_ids.shape[1] - self._start, None].to(place) * mass[:, -1:]
        token = torch.searchsorted(mass, point, right=True).to(scores.device)
        return torch.full_like(scores, float("-inf")).scatter(1, token, 0.0)


def _reply(row: list[int], end: int | list[int] | None) -> SampledReply:
    ends = {end} if isinstance(end, int) else set(end or ())
    for place, token in enumerate(row):
        if token in ends:
            return SampledReply(row[: place + 1], ended=True)
    return SampledReply(row, ended=False)
