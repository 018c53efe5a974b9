"""Sample many replies from one encoding of the prompt.

The method `generate` of transformers copies the prompt and its image once per reply before the model reads them. In
this module the model reads them once. Its attention cache (keys and values) is then copied for each reply.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spotball_adapters.providers.protocol import PermanentError, Settings

# Large inputs that only the encoding of the prompt needs.
_READ = ("pixel_values", "mm_encoder_outputs")
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


class NoMemoryError(Exception):
    """The device has too little memory even for one reply at a time."""


@dataclass(frozen=True, slots=True)
class SampledReply:
    """One sampled reply.

    Attributes:
        tokens: token ids, including the end token.
        ended: whether the model ended the reply, or False if the reply reached the maximum length.
    """

    tokens: list[int]
    ended: bool


def is_no_memory(error: RuntimeError) -> bool:
    """Return whether the error's message says that a device ran out of memory. Only CUDA has its own error class."""
    return any(words in str(error).lower() for words in _NO_MEMORY)


def how_to_sample(model_config: Any, settings: Settings, most: int) -> Any:
    """Return the settings as a generation config. A setting of None keeps the model's own value.

    Args:
        model_config: the model's generation config.
        settings: the requested settings.
        most: the maximum number of tokens per reply if the settings do not set it.

    Raises:
        PermanentError: if `temperature` or `top_p` is set, but `top_k` is 1 in the model's config, so that they have no
            effect.
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
                "the model's generation_config.json sets `top_k` to 1, so --temperature and --top-p have no effect. "
                "Remove them",
                code="unsupported-option",
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
    """Sample one reply per seed. The model reads the prompt only once.

    Args:
        model: a model of the transformers library.
        inputs: one prompt, as model inputs.
        config: the generation config.
        seeds: one seed per reply, each below 2**64, or None for a random seed.
        width: number of replies to generate at a time.
        stopped: called for each token. Once it returns True, generation stops and the replies stay incomplete.

    Returns:
        The replies in the order of the seeds, and the number of replies that were generated at a time: `width`, or less
            if memory was too small.

    Raises:
        NoMemoryError: if memory is too small even for one reply at a time.
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
    """Custom generation loop that `generate` calls after it has prepared one prompt."""

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
    """Generate `rows` replies in parallel from the encoded prompt, with transformers' own sampling loop."""
    import torch

    # transformers 5.24 renamed the output.
    name = "cache" if "cache" in read else "past_key_values"
    cache = copy.deepcopy(read[name])
    cache.reorder_cache(torch.zeros(rows, dtype=torch.long, device=input_ids.device))
    prefilled = type(read)(**{**read, "logits": read.logits.expand(rows, -1, -1), name: cache})
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
            **wide | {name: cache},
        )
    finally:
        del model._prefill
    tokens: list[list[int]] = sequences[:, input_ids.shape[1] :].tolist()
    return tokens


class _Choice:
    """Logits processor that samples one token per row with the row's own seed, and excludes all other tokens."""

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

        # MPS does not support 64-bit numbers.
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
