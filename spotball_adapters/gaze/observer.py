"""Provider `observer`: simulated observers. Its models are eye, head, compromise, coin, shift and guess.

They are the observers of `spotball_core.gaze.power.observers`, with the same weights and noise. Photos are not used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from spotball_adapters.providers.drawn import DrawingProvider
from spotball_adapters.providers.protocol import Access, Answer, PermanentError, Provider, Reply, Request
from spotball_core.errors import OptionError
from spotball_core.gaze.power.observers import CUES, Observer, simulate

DRAWS = 256
"""Number of simulated choices per photo. A hash of the prompt's text and the sample's number selects the choice of a
trial.
"""

_OPTION = re.compile(r"^([A-Z])\. (.+)$", re.M)


class ObserverProvider(DrawingProvider):
    """Answer each request with the letter of the object that a simulated observer chooses.

    Raises:
        OptionError: if the model is not an observer's name, if a base URL is given, or if the run has no stimuli.
    """

    name = "observer"
    models = tuple(CUES)

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        if not access.stimuli:
            raise OptionError(
                "the provider observer works only with `spotball gaze ask`. Use that command", code="unsupported-option"
            )
        self._observer = Observer(next(cue for cue in CUES if cue == access.model))
        self.max_samples = 1
        # For a respondent, attention checks are ordinary photos.
        self._stimuli = [stimulus.model_copy(update={"attention_check": False}) for stimulus in access.stimuli]
        self._drawn: dict[int, dict[str, list[str]]] = {}

    async def ask(self, request: Request) -> Answer:
        """Return an answer with the letter of the chosen object for each sample."""
        stimulus_id = request.scene.key[1]
        choices = self._choices(request.settings.seed or 0).get(stimulus_id)
        question = request.messages[-1].text
        letters = {name: letter for letter, name in _OPTION.findall(question)}
        if choices is None:
            raise PermanentError(
                f"the run does not contain the stimulus {stimulus_id}", code="unknown-image", field="observer"
            )
        replies = []
        for sample in request.samples:
            draw = int.from_bytes(hashlib.sha256(f"{sample} {question}".encode()).digest()[:8], "big")
            choice = choices[draw % DRAWS]
            if choice not in letters:
                raise PermanentError(
                    f"the prompt does not list the option {choice!r} in a line such as 'A. {choice}'. Add "
                    "such lines to the prompt",
                    code="invalid-value",
                    field="observer",
                )
            replies.append(Reply(letters[choice], "stop", "stop"))
        return Answer(tuple(replies), model=None, input_tokens=0, output_tokens=0)

    def _choices(self, seed: int) -> Mapping[str, list[str]]:
        """Return the simulated choices (names of objects) by stimulus ID."""
        if seed not in self._drawn:
            frame = simulate(self._observer, self._stimuli, prompts=DRAWS, seed=seed).frame
            places = frame["choice"].to_numpy().reshape(-1, DRAWS)
            self._drawn[seed] = {
                stimulus.stimulus_id: [stimulus.objects[place] for place in row]
                for stimulus, row in zip(self._stimuli, places.tolist(), strict=True)
            }
        return self._drawn[seed]


def provider(access: Access) -> Provider:
    """Create the provider `observer`. The entry point `observer` refers to this function."""
    return ObserverProvider(access)
