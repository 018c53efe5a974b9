"""Run evaluations with Inspect's mock model in a separate process, because Inspect's dependencies cause warnings.

Run as `python inspect_eval.py SPECS OUT`: SPECS is a JSON list of evaluations, and OUT is the output file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, eval as evaluate
from inspect_ai.model import ChatMessage, ContentImage, GenerateConfig, ModelOutput, ModelUsage, get_model

CELLS = [f"{row}{col}" for row in "ABCDEF" for col in range(1, 11)]


def run(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one evaluation and return its log and all requests to the model."""
    asked: list[dict[str, Any]] = []

    def reply(messages: list[ChatMessage], tools: object, choice: object, config: GenerateConfig) -> ModelOutput:
        number = len(asked)
        pictures = [p.image for m in messages for p in m.content if isinstance(p, ContentImage)]
        text = messages[-1].text
        said = f"Reasoning: reply {number}.\nCell: {CELLS[(7 * number) % 60]}" if number % 7 else f"reply {number}"
        roles = [message.role for message in messages]
        request = {"roles": roles, "text": text, "pictures": pictures, "temperature": config.temperature}
        asked.append({**request, "said": said})
        if spec.get("fails") is not None and number % spec["fails"] == 0:
            raise ValueError("planted fault")
        output = ModelOutput.from_content("mockllm/model", said, "max_tokens" if number % 14 == 0 else "stop")
        # Without usage, Inspect would download a tokenizer to count tokens.
        output.usage = ModelUsage()
        return output

    options = dict(spec.get("options", {}))
    if "epochs" in options:
        options["epochs"] = Epochs(*options["epochs"])
    (log,) = evaluate(
        "spotball_adapters/spot_the_ball",
        task_args=spec["args"],
        model=get_model("mockllm/model", custom_outputs=reply),
        log_dir=spec["logs"],
        display="none",
        **options,
    )
    return {"log": log.location, "status": log.status, "asked": asked}


if __name__ == "__main__":
    specs = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps([run(spec) for spec in specs]))
