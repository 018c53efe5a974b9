"""Check whether the stored data agree with the current study.toml and dataset."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import StudyReader
from spotball_core.text.words import plural


def disagreements(reader: StudyReader, design: StudyDesign) -> Iterator[str]:
    """Yield a description of each disagreement between the stored data and the current study.toml and dataset.

    The fixed parts of the study (see `StudyDesign.parts`) must be unchanged since the first participant began. The list
    of every participant must exist in study.toml. A participant's images, their order and the images to explain must
    follow from the recorded seed.
    """
    if changed := reader.changed(design.parts):
        parts = ", ".join(changed)
        yield f"these parts of the study changed after the first participant began: {parts}. Undo the changes"
    names = {study_list.name for study_list in design.config.lists}
    missing_lists: list[str] = []
    differing = 0
    for person in reader.participants():
        if person.list not in names:
            missing_lists.append(person.list)
        elif person.trials != design.trials(person.list, person.seed):
            differing += 1
    if missing_lists:
        yield (
            f"{plural(len(missing_lists), 'participant')} saw lists that study.toml no longer contains: "
            f"{', '.join(dict.fromkeys(missing_lists))}. Restore these lists"
        )
    if differing:
        yield (
            f"{plural(differing, 'participant')} saw other images, another order, or other images to explain than "
            "study.toml and the stored seed give. Undo the changes to study.toml"
        )
