"""Read responses, in the format of this package or in other formats, and count them.

Polars reads and groups the rows lazily in one pass, which also shows whether samples are numbered consecutively.
Points, distributions, and samples that are not numbered consecutively are read a second time. Python code handles only
the few distinct spellings of the answers. If there is an error, the rows are read again to find its location.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from spotball_core.counting import samples, signs
from spotball_core.counting.counts import Counts
from spotball_core.counting.distributions import spread
from spotball_core.counting.one_pass import in_parts, is_point
from spotball_core.counting.pooling import check_independent, given_by, nameless
from spotball_core.error_codes import Code
from spotball_core.errors import NO_ROWS, InputError, OptionError, Problem, plain
from spotball_core.grid import Grid
from spotball_core.io.answer_options import AnswerOptions
from spotball_core.io.cells import cell_at, in_pixels, located, not_finite, not_whole
from spotball_core.io.frames import KEYS
from spotball_core.io.image_ids import known_as
from spotball_core.io.sources import Source, not_a_name, problems_of, unreadable
from spotball_core.schema.checks import scene_records
from spotball_core.schema.record import NAME_RULE, UNNAMED
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl

KINDS = ("human", "model", "baseline")

GROUPS_AT_ONCE = 250_000
"""Number of groups of equal rows whose keys are filled in at a time, which limits the memory."""


def read_part(
    sources: Sequence[Source], scenes: Sequence[Scene], *, participants: bool, **options: Unpack[AnswerOptions]
) -> tuple[Counts, pl.DataFrame, pl.DataFrame]:
    """Count a part of the sources, and return what is needed for checks over all parts.

    Returns:
        Three results. The first is the counts. The second is a table with one row per combination of `samples.GIVEN`
        (and the participant, if requested): the number `n` of answers, the columns of `samples.sums`, whether any
        answers had neither a respondent nor a sample (`nameless`), and whether any are people's (`people`). The third
        is the table of sums that `signs` needs.

    Raises:
        InputError: if this part has a problem for which `read_counts` raises an error.
        OptionError: if the scenes' grids differ in rows or columns.
    """
    reader = Reader(sources, scenes, participants, **options)
    return reader.counts(), reader.across(), reader.sums


def common_grid(scenes: Sequence[Scene]) -> Grid:
    """Return a grid with the rows and columns that all scenes share.

    Raises:
        OptionError: if the scenes' grids differ in rows or columns, there are no scenes, an image occurs twice, or
            `scenes` contains anything other than Scene records.
    """
    scenes = scene_records(scenes)
    keys = [scene.key for scene in scenes]
    if len(set(keys)) < len(keys):
        (sport, image), _ = Counter(keys).most_common(1)[0]
        raise OptionError(f"scene {sport}/{image} occurs more than once. Pass each scene once", code="duplicate")
    shapes = sorted({(scene.grid.rows, scene.grid.cols) for scene in scenes})
    if not shapes:
        raise OptionError("found none. Pass at least one scene", code="no-data", field="scenes")
    if len(shapes) != 1:
        listed = ", ".join(f"{rows} x {cols}" for rows, cols in shapes)
        raise OptionError(
            f"the scenes have grids of different sizes ({listed}). Split them by grid size",
            code="different-grids",
        )
    return next(scene.layout for scene in scenes)


class Reader:
    """Read and count sources; `counts` raises InputError with the problems of all sources.

    Attributes:
        given: one row for each source, respondent, prompt and image (see `pooling.given_by`); available after counting.
        sums: the sums of `signs` that show whether sources were misread; available after counting.
    """

    given: pl.DataFrame
    sums: pl.DataFrame

    def __init__(
        self,
        sources: Sequence[Source],
        scenes: Sequence[Scene],
        participants: bool,
        **options: Unpack[AnswerOptions],
    ) -> None:
        import polars as pl

        self.options = options
        self.sources, self.known, self.grid = sources, scenes, common_grid(scenes)
        self.images = pl.Series([scene.image for scene in scenes], dtype=pl.String).unique()
        self.aliases: dict[str, tuple[str | None, str]] = {}
        self.rows = self.rows_of(range(len(sources)))
        self.columns = self.rows.collect_schema().names()
        self.keys = [*KEYS, *(["participant"] if participants else [])]
        self.scenes = pl.LazyFrame(
            {
                "sport": [scene.sport for scene in scenes],
                "image": [scene.image for scene in scenes],
                "_width": [float(scene.width) for scene in scenes],
                "_height": [float(scene.height) for scene in scenes],
                "_cell_width": [scene.width / self.grid.cols for scene in scenes],
                "_cell_height": [scene.height / self.grid.rows for scene in scenes],
            }
        )
        sports = self.scenes.group_by("image").agg(sport=pl.col("sport").sort()).collect()
        several = pl.col("sport").list.len() > 1
        self.sport_of = sports.filter(~several).with_columns(pl.col("sport").list.first())
        self.sports_of = sports.filter(several).with_columns(pl.col("sport").list.join(", "))

    def counts(self) -> Counts:
        """Return how often each respondent named each cell of each image."""
        import polars as pl

        # Read one source after the other, because parts of all sources together would fill the memory.
        grouped = [in_parts(source, self.keys, self._collected) for source in self.sources]
        of = [frame.with_columns(_source=pl.lit(index, pl.UInt32)) for index, frame in enumerate(grouped)]
        spelt = pl.concat(of, how="diagonal_relaxed")
        del grouped, of
        ids = spelt["image"].unique().cast(pl.String).str.strip_chars().drop_nulls().unique()
        unknown = ids.filter(~ids.is_in(self.images.implode()))
        self.aliases = known_as(unknown, self.known) if len(unknown) else {}
        # In this order, each part of `groups` has few images, so that tables with one row per image stay small.
        self._spelt = spelt.sort(pl.col("image").to_physical())
        del spelt
        parts: list[pl.DataFrame] = []
        faults: list[pl.DataFrame] = []
        given, sums, wrong = [], [], False
        for groups in self.groups():
            given.append(given_by(groups, *self._given_keys))
            sums.append(self._sums_of(groups))
            cells = groups.lazy().with_columns(pl.col("n") - pl.col("apart")).filter(pl.col("n") > 0)
            counted = cells.with_columns(_problem=self._problem(cells)).collect()
            wrong = wrong or counted["_problem"].is_not_null().any()
            parts.append(self._to_count(counted.with_columns(cell="_index")))
        self.given = given_by(pl.concat(given), *self._given_keys)
        with_points, with_spread = (self._spelt.filter(form)["_source"].unique().sort() for form in ("point", "spread"))
        if len(with_points):
            points = self.identified(self.rows_of(with_points).filter(is_point(self.columns)))
            points = points.with_columns(cell=cell_at(self.grid), _problem=self._problem(points))
            points = points.group_by("_source", *self.keys, "cell", "_problem").agg(n=pl.len(), **signs.point_sums())
            counted = self._collected(points)
            wrong = wrong or counted["_problem"].is_not_null().any()
            sums.append(signs.of_points(counted.rename({"cell": "_index"}), self.grid))
            parts.append(self._to_count(counted))
        for index in with_spread:
            spread_rows = self.sources[index].frame.filter(pl.col("probabilities").is_not_null())
            spread_rows = spread_rows.with_columns(_source=pl.lit(index, pl.UInt32), _spread=pl.lit(True))
            rows = self._collected(self.identified(spread_rows)).lazy()
            good, bad = spread(rows.with_columns(_problem=self._problem(rows)).collect(), self.grid)
            wrong = wrong or good["_problem"].is_not_null().any() or len(bad) > 0
            parts.append(self._to_count(good))
            faults.append(bad.select("_source", "_record", "code", "field", "found", "expected"))
        if wrong or ("sample" in self.columns and self._repeats()):
            raise self._explained(faults)
        table = pl.concat(parts)
        del parts
        answered = set(table["_source"].unique())
        if silent := [source.name for index, source in enumerate(self.sources) if index not in answered]:
            raise InputError(
                [Problem("no-data", name, None, "file", "no responses", "at least one", fix=NO_ROWS) for name in silent]
            )
        if len(table.select("respondent", "kind").unique()) > table["respondent"].n_unique():
            raise self._explained([])
        self.sums = signs.added(sums)
        return Counts.of(table.drop("_source"), rows=self.grid.rows, cols=self.grid.cols)

    def groups(self) -> Iterator[pl.DataFrame]:
        """Yield the groups of equal rows (see `one_pass.grouped`) in parts of limited size; call it after counting.

        All keys are filled in. The position of each cell is added, see `spotball_core.io.cells.located`.
        """
        import polars as pl

        for start in range(0, max(len(self._spelt), 1), GROUPS_AT_ONCE):
            part = self._spelt.slice(start, GROUPS_AT_ONCE).lazy().with_columns(pl.col(pl.Categorical).cast(pl.String))
            part = part.with_columns(nameless=nameless(self._spelt.columns))
            yield located(self.identified(part).collect(), self.grid, self.options.get("first_index"))

    @cached_property
    def _balls(self) -> pl.DataFrame:
        return signs.balls_of(self.known, self.grid)

    def _sums_of(self, groups: pl.DataFrame) -> pl.DataFrame:
        """Return the sums of `signs` over the answers that name cells."""
        import polars as pl

        renamed = pl.when(pl.col("image") != pl.col("_given")).then("n") if self.aliases else pl.lit(0)
        cells = groups.with_columns(renamed=renamed, n=pl.col("n") - pl.col("apart"))
        return signs.of_cells(cells, self._balls, self.grid)

    def _to_count(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return only the columns that are counted. Categories need much less memory than text."""
        import polars as pl

        categories = (pl.col(key).cast(pl.Categorical) for key in self.keys)
        return rows.select("_source", *categories, pl.col("cell").cast(pl.Int64), pl.col("n").cast(pl.Float64))

    @property
    def _given_keys(self) -> tuple[str, ...]:
        return ("_source", *samples.GIVEN, *self.keys[len(KEYS) :])

    def check_independent(self) -> None:
        """Raise InputError if a respondent's answers come from independent sources; call it after counting."""
        if len(self.sources) > 1:
            check_independent(self.given, self.sources, lambda some: self._named(samples.numbered(self.rows_of(some))))

    def across(self) -> pl.DataFrame:
        """Return the second result of `read_part`."""
        return given_by(self.given, *self._given_keys[1:])

    def rows_of(self, indices: Iterable[int]) -> pl.LazyFrame:
        """Return the rows of the sources with the given indices.

        The column `_source` is the source's index. The column `_spread` is true if the row's answer is a distribution.
        """
        import polars as pl

        frames = []
        for index in indices:
            frame = self.sources[index].frame
            spreads = "probabilities" in frame.collect_schema()
            spread = pl.col("probabilities").is_not_null() if spreads else pl.lit(False)
            frame = frame.with_columns(_source=pl.lit(index, pl.UInt32), _spread=spread)
            frames.append(frame.drop("probabilities", strict=False))
        return pl.concat(frames, how="diagonal_relaxed")

    def _collected(self, plan: pl.LazyFrame) -> pl.DataFrame:
        import polars as pl

        try:
            return plan.collect(engine="streaming")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            # For some damaged Parquet files, Polars raises a panic, which is not an Exception.
            raise self._unreadable(error) from error

    # Meaning of rows -----------------------------------------------------------------------------------------

    def identified(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return rows with all keys filled in, and the sizes of their image and its cells (null if unknown).

        Points have their position in pixels in `_x` and `_y`.
        """
        rows = self._named(rows).join(self.scenes, on=["sport", "image"], how="left", maintain_order="left")
        has_points = "x" in rows.collect_schema()
        return rows.with_columns(**in_pixels(self.options.get("point_scale"))) if has_points else rows

    def _named(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return rows with all keys filled in."""
        import polars as pl

        columns = rows.collect_schema().names()

        def key(name: str) -> pl.Expr:
            if name not in columns:
                return pl.lit(None, pl.String)
            stripped = pl.col(name).str.strip_chars()
            return pl.when(stripped != "").then(stripped)

        stems = {index: source.path.stem if source.path else source.name for index, source in enumerate(self.sources)}
        stem = pl.col("_source").replace_strict(stems, return_dtype=pl.String)
        respondent = pl.coalesce("respondent", stem)
        names = [*self.keys, *(["participant"] if "participant" in columns and "participant" not in self.keys else [])]
        rows = rows.with_columns(key(name).alias(name) for name in names)
        if self.aliases:
            sports = {given: sport for given, (sport, _) in self.aliases.items() if sport is not None}
            images = {given: image for given, (_, image) in self.aliases.items()}
            sport = pl.coalesce("sport", pl.col("image").replace_strict(sports, default=None, return_dtype=pl.String))
            rows = rows.with_columns(_given="image", image=pl.col("image").replace(images), sport=sport)
        return rows.with_columns(
            sport=pl.coalesce("sport", _of_image(self.sport_of)),
            respondent=respondent,
            prompt=pl.coalesce("prompt", pl.lit("base")),
            kind=pl.coalesce("kind", pl.when(respondent == "human").then(pl.lit("human")), pl.lit("model")),
        )

    def _problem(self, rows: pl.LazyFrame) -> pl.Expr:
        """Return an expression: the row's first problem (code, field, found and expected, as one text), or null."""
        import polars as pl

        columns = rows.collect_schema().names()
        checks: list[pl.Expr] = []

        def check(
            wrong: pl.Expr,
            field: str,
            found: pl.Expr | str,
            expected: pl.Expr | str,
            code: Code = "invalid-value",
        ) -> None:
            texts = [part if isinstance(part, pl.Expr) else pl.lit(part) for part in (code, field, found, expected)]
            checks.append(pl.when(wrong).then(pl.concat_str(*texts, separator="\x1f")))

        image, sport, unknown = pl.col("image"), pl.col("sport"), pl.col("_width").is_null()
        quoted = pl.format("'{}'", image)
        check(image.is_null(), "image", "nothing", "an image's id", "missing-value")
        several = _of_image(self.sports_of)
        sports = pl.format("one of {}, which all have an image {}", several, quoted)
        check(unknown & sport.is_null() & several.is_not_null(), "sport", "nothing", sports, "missing-value")
        check(unknown & sport.is_null(), "image", quoted, self._known_images(), "unknown-image")
        check(unknown, "image", pl.format("{} of {}", quoted, sport), self._known_images(), "unknown-image")
        for name in ("respondent", "prompt", *(["participant"] if "participant" in columns else [])):
            check(not_a_name(pl.col(name)), name, pl.format("'{}'", pl.col(name)), NAME_RULE)
        check(~pl.col("kind").is_in(KINDS), "kind", pl.format("'{}'", pl.col("kind")), " or ".join(KINDS))
        if "sample" in columns:
            check(
                not_whole("sample", least=1),
                "sample",
                pl.format("'{}'", pl.col("sample")),
                "a whole number from 1. Number the samples of each image 1, 2, 3, ...",
            )
        forms = {"cell": ["cell"], "x and y": ["x", "y"], "row and col": ["row", "col"], "probabilities": ["_spread"]}
        given = {name: [c for c in parts if c in columns] for name, parts in forms.items()}
        says = [
            pl.any_horizontal(pl.col(c) if c == "_spread" else pl.col(c).is_not_null() for c in parts)
            for parts in given.values()
            if parts
        ]
        if len(says) > 1:
            kinds = [name for name, parts in given.items() if parts]
            texts = [pl.when(one).then(pl.lit(name)) for one, name in zip(says, kinds, strict=True)]
            found = pl.format("values for {}", pl.concat_str(texts, separator=", ", ignore_nulls=True))
            check(
                pl.sum_horizontal(one.cast(pl.Int8) for one in says) > 1,
                "cell",
                found,
                "only one form of answer. Leave the other columns empty",
            )
        for one, other in (("row", "col"), ("col", "row"), ("x", "y"), ("y", "x")):
            if one in columns and other in columns:
                check(
                    pl.col(one).is_null() & pl.col(other).is_not_null(),
                    one,
                    f"no value, but a value in {other}",
                    "values in both columns",
                    "missing-value",
                )
                wrong = not_whole(one) if one in ("row", "col") else not_finite(one)
                kind = "a whole number" if one in ("row", "col") else "a number. Remove units, such as px"
                check(wrong, one, pl.format("'{}'", pl.col(one)), kind)
        return pl.coalesce(checks)

    def _known_images(self) -> str:
        import polars as pl

        sports = self.scenes.group_by("sport").agg(pl.len(), pl.col("image").first()).sort("sport").collect()
        if sports["sport"].to_list() == [UNNAMED]:
            ((_, n, first),) = sports.rows()
            return (
                f"one of the {n} images of the truth, such as '{first}'. Their sport is not named. Use the ids of the "
                "truth, and remove the column `sport` or add it to the truth"
            )
        known = "; ".join(
            f"{sport} has {n} image{'' if n == 1 else 's'}, such as '{first}'" for sport, n, first in sports.iter_rows()
        )
        return f"an image of the scenes file: {known}. Use the ids of the scenes file, or use another one with --scenes"

    # Problems ------------------------------------------------------------------------------------------------

    def _repeats(self) -> bool:
        """Return whether a sample occurs twice, or has a number that is not an integer of at least 1."""
        keys = [key for key in samples.identity(self.columns) if key in self.given.columns]
        unsure = samples.out_of_order(self.given, keys)
        if unsure.is_empty():
            return False
        rows = self.given.join(unsure, on=keys, how="semi", nulls_equal=True)
        sources = rows["_source"].unique(maintain_order=True)
        return not samples.repeated(self._named(samples.numbered(self.rows_of(sources)))).is_empty()

    def _explained(self, faults: list[pl.DataFrame]) -> InputError:
        """Check all rows again, and return an error with the location of each problem."""
        import polars as pl

        rows = self.identified(self.rows)
        told = rows.with_columns(_problem=self._problem(rows)).filter(pl.col("_problem").is_not_null())
        said = pl.col("_problem").str.split("\x1f")
        texts = {name: said.list.get(i) for i, name in enumerate(("code", "field", "found", "expected"))}
        tables = [told.select("_source", "_record", **texts).collect(), *faults]
        ordered = rows.sort("_source", "_record")
        if "sample" in self.columns:
            by = samples.identity(self.columns)
            again = samples.numbered(ordered).with_columns(_before=pl.int_range(pl.len()).over(by))
            name = pl.format("a second sample {} of {} for image {}/{}", "sample", "respondent", "sport", "image")
            keys = ", ".join(by).replace(samples.NUMBER, "sample")
            what = {
                "code": pl.lit("duplicate"),
                "field": pl.lit("sample"),
                "found": name,
                "expected": pl.lit(
                    f"each combination of ({keys}) once. Number repeated answers 1, 2, 3, ... in a column `sample`, "
                    "or remove them"
                ),
            }
            tables.append(again.filter(pl.col("_before") > 0).select("_source", "_record", **what).collect())
        kinds = ordered.filter(pl.col("kind").is_in(KINDS)).with_columns(
            _first=pl.col("kind").first().over("respondent")
        )
        name = pl.format("'{}' for {}, which has the kind '{}' in an earlier row", "kind", "respondent", "_first")
        what = {
            "code": pl.lit("incompatible-data"),
            "field": pl.lit("kind"),
            "found": name,
            "expected": pl.lit("one kind per respondent. Use the same value in all rows of the respondent"),
        }
        tables.append(kinds.filter(pl.col("kind") != pl.col("_first")).select("_source", "_record", **what).collect())
        every = pl.concat(tables).unique(["_source", "_record"], keep="first", maintain_order=True)
        problems = [
            problem
            for (index,), faulty in every.sort("_source").group_by("_source", maintain_order=True)
            for problem in problems_of(self.sources[index].name, self.sources[index].path, faulty)
        ]
        return InputError(problems)

    def _unreadable(self, error: BaseException) -> InputError:
        import polars as pl

        for source in self.sources:
            if source.path is None:
                continue
            try:
                source.frame.collect(engine="streaming")
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as its_own:
                return unreadable(source.path, its_own)
        said = next(iter(str(error).splitlines()), type(error).__name__)
        return InputError(
            [Problem("unreadable-file", self.sources[0].name, None, "file", plain(said, 200), "readable responses")]
        )


def _of_image(table: pl.DataFrame) -> pl.Expr:
    """Return an expression that looks up `image` in a table's first column: the value in the second column, or null."""
    import polars as pl

    return pl.col("image").replace_strict(table[:, 0], table[:, 1], default=None, return_dtype=pl.String)
