"""Provider `baseline`: answers requests with the baselines of `spotball_core` instead of a model.

Its models are uniform, center, nearest-player, prior and oracle. With the same seed, the cells are those that
`spotball baselines` samples. The image is not used.
"""

from __future__ import annotations

from collections.abc import Mapping

from spotball_adapters.providers.drawn import DrawingProvider
from spotball_adapters.providers.protocol import Access, Answer, PermanentError, Provider, Reply, Request
from spotball_core.baselines import BASELINES, baseline_responses

MAX_SAMPLES = 1000
"""The maximum number of samples per request. It is large because baseline samples cost nothing."""

NO_ANSWER = "no answer"
"""Value of `Reply.finish_said` if the scene lacks data that the baseline needs."""

Key = tuple[str, str]


class BaselineProvider(DrawingProvider):
    """Answer requests with samples of one baseline. All scenes of the run are needed, because `prior` depends on them.

    Raises:
        OptionError: if the model is not a baseline, or if a base URL is given.
    """

    name = "baseline"
    models = tuple(BASELINES)

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self.max_samples = MAX_SAMPLES
        self._scenes = access.scenes
        self._drawn: dict[tuple[int, int], dict[Key, list[str | None]]] = {}

    async def ask(self, request: Request) -> Answer:
        """Return an answer with one reply per sample, in the format that the paper's prompts request."""
        seed = request.settings.seed or 0
        cells = self._cells(seed, max(request.samples)).get(request.scene.key)
        if cells is None:
            raise PermanentError(
                f"the run does not contain the scene {'/'.join(request.scene.key)}",
                code="unknown-image",
                field="baseline",
            )
        replies = tuple(self._reply(cells[sample - 1]) for sample in request.samples)
        return Answer(replies, model=None, input_tokens=0, output_tokens=0)

    def _cells(self, seed: int, samples: int) -> Mapping[Key, list[str | None]]:
        """Return at least `samples` sampled cells per scene, by the scene's key."""
        # The first cells do not depend on the number drawn, so rounding up to a power of two avoids repeated draws.
        enough = 1 << (samples - 1).bit_length()
        if (seed, enough) not in self._drawn:
            rows = baseline_responses(self._scenes, [self.model], samples=enough, seed=seed)
            cells = rows["cell"].to_list()
            self._drawn[seed, enough] = {
                scene.key: cells[i * enough : (i + 1) * enough] for i, scene in enumerate(self._scenes)
            }
        return self._drawn[seed, enough]

    def _reply(self, cell: str | None) -> Reply:
        if cell is None:
            return Reply("", "refused", NO_ANSWER)
        return Reply(f"Reasoning: {BASELINES[self.model].description}\nCell: {cell}", "stop", "stop")


def provider(access: Access) -> Provider:
    """Create the provider. The entry point `baseline` refers to this function."""
    return BaselineProvider(access)
