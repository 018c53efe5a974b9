"""Score several samples per image, as a list of lists of different lengths."""

import math

from spotball_core import accuracy, image_entropy, normalized_entropy

samples: list[list[str | None]] = [["A1", "A1", "B2", "C3"], ["D4"], ["E5", None, "E5"]]
truth = ["A1", "D5", "E5"]
values, entropies = accuracy(samples, truth), normalized_entropy(samples)

expected: list[float] = []
for cells, true, value in zip(samples, truth, values, strict=True):
    assert value == cells.count(true) / len(cells)
    parsed = [cell for cell in cells if cell]
    shares = [parsed.count(cell) / len(parsed) for cell in set(parsed)]
    expected.append(-sum(share * math.log(share) for share in shares) / math.log(60))
assert all(map(math.isclose, entropies, expected))
assert math.isclose(image_entropy(samples), sum(expected) / 3)
