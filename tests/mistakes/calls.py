"""List mistakes in Python calls.

Expressions may use spotball, np, grid (6 x 10), guesses (60 shares), scene, and row.
"""

from __future__ import annotations

from tests.mistakes.mistake import read

MISTAKES = read(r"""
a misspelled function | spotball.acuracy
    - | has no attribute 'acuracy' | module 'spotball_core' | Did you mean 'accuracy'?
rows and columns instead of cells | spotball.accuracy(guesses.reshape(6, 10), 'C2', grid=grid)
    wrong-shape | guesses: found 10 values on the last axis | the grid 6x10@640x360 has 60 cells | use .reshape(60)
a cell too few | spotball.accuracy(guesses[1:], 'C2', grid=grid)
    wrong-shape | guesses: found 59 values on the last axis | the grid 6x10@640x360 has 60 cells
    Pass one value per cell, row by row
log probabilities as mass | spotball.accuracy(np.log(guesses), 'C2')
    invalid-distribution | found -4.09434 | guesses | Convert log probabilities with numpy.exp
NaN in mass | spotball.accuracy(guesses * np.nan, 'C2')
    invalid-distribution | found NaN or infinity | guesses | Use 0 for cells without answers
words instead of numbers | spotball.accuracy({'D5': 'high'}, 'C2')
    invalid-distribution | found ['high'] | guesses | expected labels or an array of numbers
truth that is not a mask | spotball.accuracy(guesses, guesses)
    invalid-distribution | found values other than 0 and 1 | truth | Pass 1 for cells with the ball
distributions on two grids | spotball.normalized_entropy(guesses[:50], grid=grid)
    wrong-shape | guesses: found 50 values | the grid 6x10@640x360 has 60 cells | or another grid
numbers of images that differ | spotball.wasserstein(np.ones((2, 60)), np.ones((3, 60)))
    wrong-shape | do not broadcast | shapes (2, 60) and (3, 60) | Pass the same number of images to both
an unknown unit | spotball.wasserstein(guesses, guesses, unit='cels')
    unknown-name | unknown unit 'cels' | unit | Did you mean 'cell'?
boxes of three numbers | spotball.near_player_rate(guesses, [[1, 2, 3]])
    invalid-boxes | boxes have shape (1, 3) | players | x1, y1, x2, y2 per box
boxes with width and height | spotball.near_player_rate(guesses, [[300, 100, 40, 80]])
    invalid-boxes | x2 < x1 or y2 < y1 | boxes | Give corners as x1, y1, x2, y2, not x, y, width, height
a radius in percent | spotball.near_player_rate(guesses, [[1, 2, 3, 4]], tau=8)
    invalid-option | found 8 | tau | expected more than 0 and at most 1
no cells of the top | spotball.top_k_accuracy(guesses, 'C2', k=0)
    invalid-option | found 0 | k | expected at least 1
a cell outside the grid in Python | grid.index('Z9')
    outside-grid | outside the grid | 'Z9' | cells run from A1 to F10
a label that is not a cell | grid.index('d5x')
    invalid-cell | is not a cell label | 'd5x' | Write a row letter and a column number, such as D5
an index that counts from 1 | grid.index(60)
    outside-grid | outside the grid | index 60 | have the indices 0 to 59
a point outside the image | grid.cell_at(700, 10)
    outside-grid | outside the image of 640 x 360 pixels | point (700, 10) | Give pixels
a grid without rows | spotball.Grid(0, 10, 640, 360)
    invalid-grid | found 0 | rows | expected a whole number of at least 1
a negative height | spotball.Grid(6, 10, 640, -1)
    invalid-grid | found -1 | height | expected a positive number of pixels
a reference without responses | spotball.score([row], [scene], reference='record')
    unknown-name | unknown respondent 'record' | reference | Did you mean 'records'?
no responses | spotball.score([], [scene])
    no-data | found none | responses | Pass at least one path, record or row
a number as responses | spotball.score(3, [scene])
    wrong-type | found int | responses
    expected paths, a data frame, a list of records, or a mapping from image id to answer
no scenes in Python | spotball.score([row], [])
    no-data | found nothing | truth | Pass at least one image
a scene twice | spotball.score([row], [scene, scene])
    duplicate | a second row of soccer/1 | truth:2: image | Pass each scene once
an unknown policy | spotball.score([row], [scene], policy='papers')
    unknown-name | unknown policy 'papers' | policy | Did you mean 'paper'?
an unknown choice of images | spotball.score([row], [scene], images='some')
    invalid-option | found 'some' | images | expected 'shared' or 'all'
a negative seed | spotball.score([row], [scene], seed=-1)
    invalid-option | found -1 | seed | expected greater than or equal to 0
an unknown part of a group in Python | spotball.score([row], [scene], by='respondant')
    unknown-name | unknown part 'respondant' | by | Did you mean 'respondent'?
an index in a record | spotball.score([{'image': '1', 'cell': 34}], [scene])
    misread-answers | found whole numbers in 1 of 1 cells | records:1: cell | in Python: first_index=0
a misspelled key in a record | spotball.score([{'image': '1', 'cel': 'D5'}], [scene])
    unknown-column | found an unknown column | records: cel | Rename the unknown column to cell
an unknown baseline in Python | spotball.baseline_distributions('unifrom', [scene])
    unknown-name | unknown baseline 'unifrom' | Available: | Did you mean 'uniform'?
an unknown cue in Python | spotball.cue_scores([scene], ['hed'])
    unknown-name | unknown cue 'hed' | Available: | Did you mean 'head'?
""")
