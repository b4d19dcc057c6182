"""Views of a sample, and what left-out samples choose for each: rho, b and a temperature.

A view is a feature map before the same formula. A `Candidate` is a view with what judges it: its
frame of all samples, which the model is made of, and a judge that gives scores of left-out samples.
The judge is the frame itself where single samples are left out. Where groups are left out, or where
the map depends on labels, it consists of frames without some samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from tenfold.gaussian.formula import ClassSizes, Frame, Noise, class_means
from tenfold.gaussian.gathered import Gathered, Summary, first_of_each
from tenfold.gaussian.kronecker import means_factors, outer, whitening
from tenfold.gaussian.maps import (
    FeatureMap,
    LengthMap,
    LinearMap,
    RBFMap,
    Transformer,
    TransformerMap,
    checked_features,
    unit_scale,
)
from tenfold.gaussian.pool import TIE, Answers, best_temperature
from tenfold.gaussian.signals import FilterMap, GradientMap, has_image, has_series
from tenfold.gaussian.strangers import Strangers, without_classes
from tenfold.linalg.algebra import Array, project

RHOS = 10.0 ** np.arange(-5, 1.51, 0.5)  # of the mean eigenvalue of the noise
SPREADS = 10.0 ** np.arange(-4, 1.51, 0.5)  # of the mean eigenvalue of the class means
RATIOS = 10.0 ** np.arange(-1, 1.01, 0.5)  # b over rho, where both have structure
COARSE = [(i, j) for i in range(1, len(RHOS), 4) for j in (2, 6, 9)]  # places of a first search
AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1))  # steps to neighbors on the grid
ALONG_RHO = ((-1, 0), (1, 0))
ROUGH_TEMPERATURES = (1.0, 2.0, 5.0, 15.0, 60.0)
WIDTHS = {"rbf_wide": 1.0, "rbf_narrow": 0.3}  # of the median squared distance
NOISE_SHARES = (1.0, 0.1)  # of identity in the factors of structured noise
LOOK_SHARES = (0.25, 0.5, 0.75, 1.0)  # of another view beside the best plain one, in a first look
LOOK_SAMPLES = 400  # that a first look at a view takes
LOOK_FROM = 800  # samples: with fewer, views are tried at once
LARGEST_STRUCTURE = 1000  # rows of the eigenproblems of structured noise
THIRDS = 3
LARGEST_SCORES = 2_000_000  # numbers in a table of left-out scores,
LARGEST_SEARCH = 100_000  # and in those that a search over settings computes
FEWEST_ROWS = 200
MOST_BUNCHES = 10  # of groups, that are left out together
LINEAR = ("numbers", "units", "kronecker")
SIGNALS = {"filters": has_series, "gradients": has_image}  # and which shapes they suit
PRICES = {  # nats per unit of weight in the pool
    "numbers": 0.0,
    "units": 0.0,
    "length": 0.0,
    "rbf_wide": 2.0,
    "rbf_narrow": 2.0,
    "filters": 2.0,
    "gradients": 2.0,
    "kronecker": 1.0,
}
NAMES = tuple(PRICES)


# ── Who is left out ──────────────────────────────────────────────────────────────────────────────


class Judge(Protocol):
    """What gives scores of left-out samples: a `Frame`, a `GroupJudge` or a `PartsJudge`."""

    @property
    def sizes(self) -> ClassSizes:
        """The sizes of the classes."""

    @property
    def noise_unit(self) -> float:
        """The unit of rho."""

    @property
    def spread_unit(self) -> float:
        """The unit of b."""

    def left_out_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """Scores (n, C) of samples, each by a fit without it; of all samples or some rows."""

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,) of the ratio against a stranger, by the same fits."""


@dataclass(frozen=True, eq=False)
class Held:
    """A frame without some samples, and the samples that it lacks."""

    frame: Frame
    rows: Array  # (m,), where these samples are among all
    features: Array  # (m, p), of these samples


@dataclass(frozen=True, eq=False)
class GroupJudge:
    """Left-out scores by refitting: one frame without each bunch of groups."""

    sizes: ClassSizes
    rows: Array  # the samples that are scored
    held: list[Held]  # one for each bunch

    @classmethod
    def of_samples(
        cls,
        features: Array,
        sizes: ClassSizes,
        bunches: Array,
        spread: Array | None = None,
        rows: Array | None = None,
    ) -> GroupJudge:
        """Of the features of all samples and the bunch of each; whole bunches may be scored."""
        rows = np.arange(len(features)) if rows is None else rows
        held = []
        for bunch in np.unique(bunches[rows]):
            out = np.flatnonzero(bunches == bunch)
            kept = np.flatnonzero(bunches != bunch)
            codes = sizes.codes[kept]
            weights = sizes.weights[kept]
            counts = np.bincount(codes, weights, minlength=len(sizes.counts))
            part = ClassSizes.of(codes, weights, counts)
            centre = weights @ features[kept] / weights.sum()
            frame = Frame.of_samples(features[kept] - centre, part, spread)
            held.append(Held(frame, out, features[out] - centre))
        return cls(sizes, rows, held)

    @property
    def noise_unit(self) -> float:
        """The mean unit of the frames."""
        return float(np.mean([one.frame.noise_unit for one in self.held]))

    @property
    def spread_unit(self) -> float:
        """The mean unit of the frames."""
        return float(np.mean([one.frame.spread_unit for one in self.held]))

    def left_out_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """Scores (n, C) of every sample that is scored, by the frame without its bunch."""
        scores = np.empty((len(self.sizes.codes), len(self.sizes.counts)))
        for one in self.held:
            scores[one.rows] = one.frame.scores(one.features, rho, b)
        scores = scores[self.rows]
        return scores if rows is None else scores[rows]

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,) of these samples, by the frame without their bunch."""
        found = np.empty(len(self.sizes.codes))
        for one in self.held:
            found[one.rows] = one.frame.stranger_term(n, rho, b).of(one.features, 0.0)
        return found[self.rows]


@dataclass(frozen=True, eq=False)
class PartsJudge:
    """Several judges, each of some samples that its map was not learned from."""

    sizes: ClassSizes
    parts: list[tuple[Judge, Array]]  # each judge, and the rows that it scores

    @property
    def noise_unit(self) -> float:
        """The unit of the first judge."""
        return self.parts[0][0].noise_unit

    @property
    def spread_unit(self) -> float:
        """The unit of the first judge."""
        return self.parts[0][0].spread_unit

    def left_out_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """Scores (n, C); rho and b are in the units of the first judge."""
        scores = np.empty((len(self.sizes.codes), len(self.sizes.counts)))
        for judge, own in self.parts:
            unit = judge.noise_unit / self.noise_unit
            scores[own] = judge.left_out_scores(rho * unit, b * unit)
        return scores if rows is None else scores[rows]

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,); rho and b are in the units of the first judge."""
        found = np.empty(len(self.sizes.codes))
        for judge, own in self.parts:
            unit = judge.noise_unit / self.noise_unit
            found[own] = judge.left_out_stranger(n, rho * unit, b * unit)
        return found


# ── Candidates ───────────────────────────────────────────────────────────────────────────────────


class Candidate(NamedTuple):
    """A view that is ready to be judged."""

    name: str
    price: float
    map: FeatureMap
    frame: Frame
    judge: Judge


class Setting(NamedTuple):
    """What left-out samples chose for a view, in the units of its judge."""

    rho: float
    b: float
    temperature: float
    loss: float
    scores: Array  # (n, C), of left-out samples, over the temperature
    stranger_term: Array  # (n,), their quadratic term against a stranger, over the temperature
    strangers: Strangers | None = None  # scores of all samples as strangers, where asked for
    place: tuple[int, int] | None = None  # on the grid of `RHOS` and `SPREADS`

    def stranger_ratios(self) -> Array:
        """The ratios (n, c) of all samples without their classes; NaN where there is none."""
        assert self.strangers is not None
        found = self.strangers.scores - self.strangers.term[:, None]
        return np.asarray(found / self.temperature)


class Data:
    """What views are made of and judged by: a summary, and which of its samples are left out.

    Parameters
    ----------
    summary : Summary
        Of all samples.
    bunches : ndarray of shape (n,) or None
        The bunch of groups of each sample of the sketch; None leaves out single samples.
    log_priors : ndarray of shape (C,)
        Logarithms of the probabilities of the classes.
    stranger_columns : ndarray of shape (c,) or None
        The classes for which samples are scored without their own class; None scores none.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        How many of all samples each sample of the sketch stands for.
    rows : ndarray of shape (m,)
        The samples that are left out, of possible classes; fewer where classes are many.
    answers : Answers
        Of these samples.
    search_rows : ndarray of shape (k,)
        The samples of these that choose rho and b: fewer where classes are many.
    is_linear_only : bool
        Whether only linear views can be judged; see the function of this name.
    """

    def __init__(
        self,
        summary: Summary,
        bunches: Array | None,
        log_priors: Array,
        stranger_columns: Array | None = None,
    ) -> None:
        self.summary = summary
        self.bunches = bunches
        self.log_priors = log_priors
        self.stranger_columns = stranger_columns
        sketch = summary.sketch
        shares = summary.counts / np.maximum(summary.sketch_sizes.counts, 1e-300)
        self.weights = sketch.weights * shares[sketch.codes]
        self.is_linear_only = is_linear_only(summary)
        if bunches is not None:
            pairs = np.unique(np.stack([sketch.codes, bunches]), axis=1)[0]
            several = np.bincount(pairs, minlength=len(log_priors)) > 1  # bunches of a class
            scored = several[sketch.codes] & leaves_noise(sketch.codes, bunches)
        elif self.is_linear_only:
            scored = summary.sizes.scored
        else:
            scored = summary.sizes.scored & summary.sketch_sizes.scored
        possible = np.flatnonzero(scored & np.isfinite(log_priors)[sketch.codes])
        self.rows = self._some_of(possible, LARGEST_SCORES)
        self.search_rows = self._some_of(self.rows, LARGEST_SEARCH)
        self.answers = self.answers_of(self.rows)

    def _some_of(self, rows: Array, most_numbers: int) -> Array:
        """As many of these samples as a table of their scores for all classes may have.

        Each class gives the same number. A hash of the samples would draw others in other units.
        """
        most = max(most_numbers // len(self.log_priors), FEWEST_ROWS)
        if len(rows) <= most:
            return rows
        by_class = sorted_in_classes(self.summary)
        order = np.empty(len(by_class), dtype=np.uint64)
        order[by_class] = np.random.Philox(12).random_raw(len(by_class))
        sketch = self.summary.sketch
        return rows[first_of_each(order[rows], sketch.weights[rows], sketch.codes[rows], most)]

    def answers_of(self, rows: Array) -> Answers:
        """The labels of these samples, and how many samples each stands for."""
        return Answers(self.summary.sketch.codes[rows], self.weights[rows], self.log_priors)


def sorted_in_classes(summary: Summary) -> Array:
    """The samples of the sketch, class after class, those of a class along a fixed direction.

    So it does not depend on the order in which they came, on units or on an offset.
    """
    sketch = summary.sketch
    numbers = np.asarray(np.random.Philox(11).random_raw(sketch.X.shape[1]), dtype=float)
    contrast = numbers - numbers.mean()
    if not contrast.any():  # of one number
        contrast = np.ones(1)
    along = (sketch.X - summary.mean) @ contrast
    return np.lexsort((along, sketch.codes))


def leaves_noise(codes: Array, bunches: Array) -> Array:
    """Whether some class has two samples or more without the bunch of each sample, (n,).

    Else the frame without the bunch has no noise, which rho could be in units of.
    """
    table = np.zeros((int(bunches.max()) + 1, int(codes.max()) + 1))
    np.add.at(table, (bunches, codes), 1.0)
    left = table.sum(axis=0) - table
    return np.asarray((left > 1).any(axis=1)[bunches])


def make_candidate(data: Data, name: str, scale: Array | None = None) -> Candidate:
    """One of the views that come with tenfold; "kronecker" is made by `structured_candidate`.

    Parameters
    ----------
    data : Data
        What it is made of.
    name : str
        One of `NAMES`.
    scale : ndarray of shape (p,) or None
        What numbers are multiplied by before the distances of a kernel view.
    """
    summary = data.summary
    sketch = summary.sketch
    feature_map: FeatureMap
    if name in LINEAR:
        scale = None
        if name == "units":
            between = summary.sizes.counts @ (summary.means - summary.mean) ** 2
            scale = unit_scale((summary.noise.diagonal + between) / summary.sizes.counts.sum())
        feature_map = LinearMap(summary.mean, scale)
        frame = mapped_frame(summary, feature_map)
    elif name in WIDTHS:
        scale = np.ones_like(summary.mean) if scale is None else scale
        kernel = RBFMap.of_samples(sketch.X, sketch.weights, summary.mean, scale, WIDTHS[name])
        features = kernel.root - kernel.centre  # of the landmarks, which are the samples
        feature_map = kernel
        frame = Frame.of_samples(features, summary.sketch_sizes, is_level=True)
    else:
        uncentred: LengthMap | FilterMap | GradientMap
        if name == "length":
            uncentred = LengthMap(summary.mean, np.zeros_like(summary.mean))
        elif name == "filters":
            uncentred = FilterMap.of_samples(sketch.X, sketch.weights, summary.shape)
        else:
            uncentred = GradientMap.of_samples(sketch.X, sketch.weights, summary.shape)
        raw = uncentred.raw(sketch.X)
        mean_feature = sketch.weights @ raw / sketch.weights.sum()
        if isinstance(uncentred, LengthMap):
            feature_map = replace(uncentred, direction=mean_feature)
        else:
            feature_map = replace(uncentred, mean=mean_feature)
        frame = Frame.of_samples(raw - mean_feature, summary.sketch_sizes)
    return Candidate(name, PRICES[name], feature_map, frame, judge_of(data, frame))


def transformer_candidates(data: Data, name: str, transformer: Transformer) -> Iterator[Candidate]:
    """The features of a fitted transformer as they are, and in units of their spread."""
    sketch = data.summary.sketch
    shares = sketch.weights / sketch.weights.sum()
    rows = sketch.X.reshape(-1, *data.summary.shape).copy()  # a transformer may work in place
    raw = checked_features(name, transformer.transform(rows), len(rows))
    mean = shares @ raw
    centred = raw - mean
    for scale in (np.ones(len(mean)), unit_scale(shares @ centred**2)):
        feature_map = TransformerMap(mean, scale, name, transformer, data.summary.shape)
        frame = Frame.of_samples(centred * scale, data.summary.sketch_sizes)
        yield Candidate(name, 0.0, feature_map, frame, judge_of(data, frame))


def judge_of(data: Data, frame: Frame) -> Judge:
    """The frame itself, in closed form, or frames without each bunch of groups."""
    if data.bunches is None:
        return frame
    sizes = data.summary.sketch_sizes
    return GroupJudge.of_samples(frame.samples, sizes, data.bunches, frame.spread)


def mapped_frame(
    summary: Summary,
    feature_map: LinearMap,
    spread: Array | None = None,
    scored: Array | None = None,
) -> Frame:
    """The frame of all samples in the features of a linear map.

    Class means and noise are those of all samples. The samples that are scored are those of the
    sketch, or some of them (`scored`, their rows).
    """
    if summary.noise.rows is not None:
        noise = Noise.of_rows(feature_map.turned(summary.noise.rows))
    else:
        assert summary.noise.matrix is not None
        half = feature_map.turned(summary.noise.matrix)
        matrix = feature_map.turned(half.T)
        noise = Noise(None, matrix, np.diagonal(matrix))
    sizes = summary.sizes
    scored = np.arange(len(sizes.codes)) if scored is None else scored
    scored_sizes = ClassSizes.of(sizes.codes[scored], sizes.weights[scored], sizes.counts)
    samples = feature_map.features(summary.sketch.X[scored])
    means = feature_map.features(summary.means)
    noise_rows = None if summary.noise.rows is None else scored
    return Frame(samples, means, scored_sizes, noise, spread, noise_rows)


# ── The choice of rho and b ──────────────────────────────────────────────────────────────────────


class SettingSearch:
    """Losses of left-out samples on a grid of rho and b, each computed at most once.

    Parameters
    ----------
    judge : Judge
        It gives scores of left-out samples.
    rows : ndarray
        The samples that are left out, among those of the judge.
    answers : Answers
        Of these samples.
    rhos, bs : ndarrays of shapes (I,) and (I, J)
        The settings.
    """

    def __init__(self, judge: Judge, rows: Array, answers: Answers, rhos: Array, bs: Array) -> None:
        self.judge = judge
        self.rows = None if len(rows) == len(judge.sizes.codes) else rows
        self.answers = answers
        self.rhos = rhos
        self.bs = bs
        self.losses: dict[tuple[int, int], float] = {}

    def loss(self, place: tuple[int, int]) -> float:
        """The least loss over a few temperatures."""
        if place not in self.losses:
            rho = float(self.rhos[place[0]])
            scores = self.judge.left_out_scores(rho, float(self.bs[place]), self.rows)
            self.losses[place] = min(self.answers.loss(scores / T) for T in ROUGH_TEMPERATURES)
        return self.losses[place]

    def least(self, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The first place whose loss no other beats."""
        best = places[0]
        for place in places[1:]:
            if self.loss(place) < self.loss(best) - TIE:
                best = place
        return best

    def downhill(
        self, place: tuple[int, int], directions: Sequence[tuple[int, int]]
    ) -> tuple[int, int]:
        """Where no step of two, and then of one, in any of the directions lowers the loss."""
        n_rhos, n_bs = self.bs.shape
        for step in (2, 1):
            while True:
                around = [place]
                for down, right in directions:
                    to = (place[0] + step * down, place[1] + step * right)
                    if 0 <= to[0] < n_rhos and 0 <= to[1] < n_bs:
                        around.append(to)
                best = self.least(around)
                if best == place:
                    break
                place = best
        return place


def choose_setting(
    data: Data, candidate: Candidate, near: tuple[int, int] | None = None
) -> Setting:
    """The setting with the least log loss of left-out samples.

    The search goes from a coarse grid to a fine one. With `near`, the place of a similar view, it
    goes downhill from there. Where some of the samples search, all of them choose one of the two
    best settings that were found.
    """
    judge = candidate.judge
    rhos = RHOS * (judge.noise_unit or 1.0)
    bs = np.tile(SPREADS * (judge.spread_unit or 1.0), (len(rhos), 1))
    answers = data.answers_of(data.search_rows)
    search = SettingSearch(judge, data.search_rows, answers, rhos, bs)
    start = search.least(COARSE) if near is None else near
    place = search.downhill(start, AROUND)
    if len(data.search_rows) < len(data.rows):
        others = [other for other in search.losses if other != place]
        runner_up = search.least(others)  # of equal losses the first, whatever the last bit says
        place = SettingSearch(judge, data.rows, data.answers, rhos, bs).least([place, runner_up])
    setting = setting_at(data, candidate, float(rhos[place[0]]), float(bs[place]))
    return setting._replace(place=place)


def setting_at(data: Data, candidate: Candidate, rho: float, b: float) -> Setting:
    """The setting at this rho and b: temperature, loss, and scores of left-out samples.

    Where strangers are asked for, all samples are also scored without their whole class. A frame
    whose noise is that of more samples than it has cannot leave out whole classes. There, the
    samples of the sketch stand for all.
    """
    judge = candidate.judge
    frame = candidate.frame
    sketch_sizes = data.summary.sketch_sizes
    n = typical_count(data.summary.sizes.counts)
    scores = judge.left_out_scores(rho, b, data.rows)
    temperature, loss = best_temperature(scores, data.answers)
    stranger_term = judge.left_out_stranger(n, rho, b)[data.rows]
    strangers = None
    if data.stranger_columns is not None:
        if frame.sizes.counts is not sketch_sizes.counts:
            frame.forget_samples()  # they take as much memory as those of the sketch will
            features = candidate.map.features(data.summary.sketch.X)
            frame = Frame.of_samples(features, sketch_sizes, frame.spread)
        unit = frame.noise_unit / judge.noise_unit if judge.noise_unit > 0 else 1.0
        freedom = frame.sizes.freedom / max(judge.sizes.freedom, 1.0)
        b_unit = freedom if frame.spread is None else unit
        strangers = without_classes(frame, n, rho * unit, b * b_unit, data.stranger_columns)
    return Setting(
        rho, b, temperature, loss, scores / temperature, stranger_term / temperature, strangers
    )


def typical_count(counts: Array) -> float:
    """The number of samples that the ratio against a stranger takes a class to have."""
    known = counts[counts > 0]
    return float(len(known) / (1 / known).sum())


# ── A first look ─────────────────────────────────────────────────────────────────────────────────


def improves(plain: Array, other: Array, answers: Answers, price: float) -> bool:
    """Whether mixing other scores into plain ones lowers the loss by the price in nats.

    Mixtures with each of `LOOK_SHARES` are tried.
    """
    temperature, _ = best_temperature(other, answers)
    before = answers.loss(plain)
    for share in LOOK_SHARES:
        after = answers.loss((1 - share) * plain + share * other / temperature)
        if after < before - price / answers.total:
            return True
    return False


class FirstLook(NamedTuple):
    """A trial with few samples, which decides what is computed with all of them."""

    data: Data
    plain: Array  # (n, C), left-out scores of the best plain view

    @classmethod
    def of(cls, data: Data, plain_name: str) -> FirstLook | None:
        """At `LOOK_SAMPLES` samples; None where there are too many classes for that."""
        sketch = data.summary.sketch
        rows = first_of_each(sketch.order, sketch.weights, sketch.codes, LOOK_SAMPLES)
        classes = np.arange(len(data.log_priors))
        some = sketch.rows(rows)
        counts = np.bincount(some.codes, some.weights, minlength=len(classes))
        summary = Gathered(classes, data.summary.shape, some, counts).summary()
        bunches = None
        if data.bunches is not None:
            bunches = np.unique(data.bunches[rows], return_inverse=True)[1]
        few = Data(summary, bunches, data.log_priors)
        if len(few.rows) < LOOK_SAMPLES / 2:
            return None
        return cls(few, choose_setting(few, make_candidate(few, plain_name)).scores)

    def speaks_for(self, names: Sequence[str], scale: Array | None = None) -> bool:
        """Whether one of these views, made of the few samples, improves on the plain one."""
        place = None
        for name in names:
            candidate = make_candidate(self.data, name, scale)
            setting = choose_setting(self.data, candidate, place)
            place = setting.place
            if improves(self.plain, setting.scores, self.data.answers, candidate.price):
                return True
        return False


# ── Structure of noise and class means ───────────────────────────────────────────────────────────


def structured_map(summary: Summary, kept: Array, share: float) -> tuple[LinearMap, Array]:
    """A map in which both Kronecker products are diagonal, and the spread (p,) of class means.

    Parameters
    ----------
    summary : Summary
        Of all samples.
    kept : ndarray
        The samples of the sketch that the factors are learned from.
    share : float
        Of identity in the factors of the noise.
    """
    shape = summary.shape
    codes = summary.sketch.codes[kept]
    weights = summary.sketch.weights[kept]
    counts = np.bincount(codes, weights, minlength=len(summary.means))
    X = summary.sketch.X[kept] - summary.mean
    own = class_means(X, codes, weights, len(counts))
    deviations = (X - own[codes]) * np.sqrt(weights)[:, None]
    roots = whitening(deviations.reshape(-1, *shape), share)
    white = project(deviations.reshape(-1, *shape), roots)
    known = counts > 0
    freedom = max(float((counts[known] - 1).clip(0).sum()), 1e-9)
    noise = float((white**2).sum()) / freedom / X.shape[1]
    n = known.sum() / float((1 / counts[known]).sum())
    steps = own[known] - counts[known] @ own[known] / counts[known].sum()
    steps = project(steps.reshape(-1, *shape), roots)
    scale, factors = means_factors(steps, max(known.sum() - 1.0, 1.0), noise / n)
    parts = [np.linalg.eigh(B) for B in factors]
    spread = scale * outer([part.eigenvalues.clip(1e-9) for part in parts]).ravel()
    matrices = [root @ part.eigenvectors for root, part in zip(roots, parts, strict=True)]
    spread = spread / noise if noise > 0 else np.ones_like(spread)
    return LinearMap(summary.mean, None, shape, matrices), spread


def thirds_of(data: Data) -> Array:
    """Which third (0, 1 or 2) each sample of the sketch is in, (n,).

    Samples of a bunch of groups are in the same third. Without groups, the samples of each class
    are sorted and dealt out in turn. Whole classes are not put into one third: a class that the
    factors were not learned from would be recognized, since it differs from the others.
    """
    if data.bunches is not None:
        return data.bunches % THIRDS
    by_class = sorted_in_classes(data.summary)
    codes = data.summary.sketch.codes[by_class]
    place = np.arange(len(codes)) - np.searchsorted(codes, codes)  # in its class
    thirds = np.empty(len(codes), dtype=np.intp)
    thirds[by_class] = (codes + place) % THIRDS
    return thirds


def structured_candidate(data: Data, plain: Setting | None) -> tuple[Candidate, Setting] | None:
    """The view with structure at its best setting; None where a first look gains nothing.

    The factors look at labels, so samples are judged by frames that are learned without a third of
    the samples. Shares, ratios and rho are chosen on the first third; the others are scored at this
    setting only.

    Parameters
    ----------
    data : Data
        What it is made of.
    plain : Setting or None
        That of the best plain view, which some share of this one must improve.
    """
    summary = data.summary
    thirds = thirds_of(data)
    own = np.flatnonzero(thirds == 0)
    first = np.intersect1d(own, data.rows)
    if not len(first) or len(np.unique(thirds)) < THIRDS:
        return None
    centred = summary.sketch.X - summary.mean
    for third in range(THIRDS):
        others = thirds != third
        codes = summary.sketch.codes[others]
        known, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
        if len(known) < 2:  # class means of one class show no spread
            return None
        kept = centred[others]
        if (kept == kept[firsts[places]]).all():  # nor do equal samples show noise
            return None
    answers = data.answers_of(first)
    judged = np.searchsorted(own, first)
    best = None
    for share in NOISE_SHARES:
        judge = _judge_of_third(data, thirds, 0, share)
        found = _search_structure(judge, judged, answers)
        if best is None or found.loss < best.loss - TIE:
            best = found
            best_share = share
    assert best is not None
    if plain is not None:
        scores = best.judge.left_out_scores(best.rho, best.b, judged)
        before = plain.scores[np.searchsorted(data.rows, first)]
        if not improves(before, scores, answers, PRICES["kronecker"]):
            return None
    parts = [(best.judge, own)]
    for third in range(1, THIRDS):
        judge = _judge_of_third(data, thirds, third, best_share)
        parts.append((judge, np.flatnonzero(thirds == third)))
    feature_map, spread = structured_map(summary, np.arange(len(thirds)), best_share)
    frame = mapped_frame(summary, feature_map, spread)
    whole = PartsJudge(summary.sketch_sizes, parts)
    candidate = Candidate("kronecker", PRICES["kronecker"], feature_map, frame, whole)
    return candidate, setting_at(data, candidate, best.rho, best.b)


def _judge_of_third(data: Data, thirds: Array, third: int, share: float) -> Judge:
    """What judges the samples of a third, with factors that are learned without them."""
    own = np.flatnonzero(thirds == third)
    feature_map, spread = structured_map(data.summary, np.flatnonzero(thirds != third), share)
    if data.bunches is None:
        return mapped_frame(data.summary, feature_map, spread, own)
    features = feature_map.features(data.summary.sketch.X)
    return GroupJudge.of_samples(features, data.summary.sketch_sizes, data.bunches, spread, own)


class _Structure(NamedTuple):
    """The best setting of a judge of structure."""

    judge: Judge
    rho: float
    b: float
    loss: float


def _search_structure(judge: Judge, rows: Array, answers: Answers) -> _Structure:
    """The least loss over ratios b / rho and rho; a frame keeps the axes of one ratio at a time."""
    rhos = RHOS * judge.noise_unit
    search = SettingSearch(judge, rows, answers, rhos, np.multiply.outer(rhos, RATIOS))
    best = _Structure(judge, 0.0, 0.0, np.inf)
    start = len(RHOS) - 4
    for j in range(len(RATIOS)):
        place = search.downhill((start, j), ALONG_RHO)
        start = place[0]
        loss = search.loss(place)
        if loss < best.loss - TIE:
            best = _Structure(judge, float(rhos[start]), float(search.bs[place]), loss)
        elif loss > best.loss + 2 / answers.total:
            break
    return best


def suits(name: str, summary: Summary) -> bool:
    """Whether one of our views can be tried on samples like these."""
    if name not in LINEAR and is_linear_only(summary):
        return False
    if name in SIGNALS:
        return SIGNALS[name](summary.shape)
    return name != "kronecker" or has_structure(summary)


def is_linear_only(summary: Summary) -> bool:
    """Whether most classes have one sample in the sketch, which does not hold all samples.

    Then views that learn from the sketch cannot be judged.
    """
    share = summary.sketch_sizes.scored.mean()
    return bool(share < 0.5) and not summary.sketch.is_complete


def has_structure(summary: Summary) -> bool:
    """Whether samples have two modes or more, and the eigenproblems are not too large."""
    several = sum(size > 1 for size in summary.shape) > 1
    noise = summary.noise
    n_rows = len(noise.diagonal) if noise.rows is None else len(noise.rows)
    sizes = summary.sketch_sizes
    learnable = (sizes.counts > 0).sum() > 2 or sizes.freedom > 4
    return bool(several and n_rows <= LARGEST_STRUCTURE and learnable)
