"""Test whether one model is better than another, with pandas data frames."""

import numpy as np
import pandas as pd

from spotball_core import load

rng = np.random.default_rng(0)
truth = pd.DataFrame({"image": range(50), "cell": rng.choice(["A1", "B2", "C3", "D4"], 50)})
models = {name: truth.assign(respondent=name, cell=rng.choice(["A1", "B2"], 50)) for name in ("old", "new")}
models["new"].loc[:24, "cell"] = truth["cell"]
print(comparison := load(pd.concat(models.values()), truth=truth).compare("new", "old", permutations=199))

old, new = (sum(table["cell"] == truth["cell"]) / 50 for table in models.values())
difference = comparison.contrasts[0].metrics["accuracy"].difference
assert difference is not None
assert np.isclose(difference, new - old)
