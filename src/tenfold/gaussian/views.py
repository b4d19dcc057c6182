"""Views of a sample, and what left-out samples choose for each: rho, b and a temperature.

A view is a feature map before the same formula. `Candidate` is a view that is ready to be judged:
its frame of all samples, which the model is made of, and what gives scores of left-out samples.
Where groups are left out, and for maps that look at labels, these are frames without some samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tenfold.gaussian.formula import ClassSizes, Frame, Noise, class_means
from tenfold.gaussian.gathered import Gathered
from tenfold.gaussian.kronecker import means_factors, outer, whitening
from tenfold.gaussian.maps import (
    FeatureMap,
    LengthMap,
    LinearMap,
    RBFMap,
    TransformerMap,
    checked_features,
    unit_scale,
)
from tenfold.gaussian.pool import TIE, Answers, best_temperature, rough_loss
from tenfold.gaussian.signals import FilterMap, GradientMap, has_image, has_series
from tenfold.gaussian.strangers import Strangers, without_classes
from tenfold.linalg.algebra import Array, project

RHOS = 10.0 ** np.arange(-5, 1.51, 0.5)  # of the mean eigenvalue of the noise
SPREADS = 10.0 ** np.arange(-4, 1.51, 0.5)  # of the mean eigenvalue of the class means
RATIOS = 10.0 ** np.arange(-1, 1.01, 0.5)  # b over rho, where both have structure
WIDTHS = {"rbf_wide": 1.0, "rbf_narrow": 0.3}  # of the median squared distance
NOISE_SHARES = (1.0, 0.1)  # of identity in the factors of structured noise
LOOK_SHARES = (0.25, 0.5, 0.75, 1.0)  # of another view beside the best plain one, in a first look
LOOK_SAMPLES = 400  # that a first look at a view takes
LOOK_FROM = 800  # samples: with fewer, views are tried at once
STRUCTURE_PRICE = 1.0  # nats
KERNEL_PRICE = 2.0
SIGNAL_PRICE = 2.0
LARGEST_STRUCTURE = 1000  # rows of the eigenproblems of structured noise
THIRDS = 3
LARGEST_SCORES = 2_000_000  # numbers in a table of left-out scores
FEWEST_ROWS = 200
MOST_BUNCHES = 10  # of groups, that are left out together
LINEAR = ("numbers", "units", "kronecker")
SIGNALS = {"filters": has_series, "gradients": has_image}  # and which shapes they suit
NAMES = ("numbers", "units", "length", "rbf_wide", "rbf_narrow", *SIGNALS, "kronecker")


# ── Who is left out ──────────────────────────────────────────────────────────────────────────────


class Judge(Protocol):
    """What gives scores of left-out samples."""

    @property
    def sizes(self) -> ClassSizes:
        """The classes."""

    @property
    def noise_unit(self) -> float:
        """The unit of rho."""

    @property
    def spread_unit(self) -> float:
        """The unit of b."""

    def left_out_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """Scores (n, C)."""

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,) of the ratio against a stranger."""


@dataclass(frozen=True, eq=False)
class Held:
    """A frame without some samples, and these."""

    frame: Frame
    rows: Array  # (m,), their numbers
    features: Array  # (m, p)


@dataclass(frozen=True, eq=False)
class GroupJudge:
    """Frames without each bunch of groups."""

    sizes: ClassSizes
    rows: Array  # that are judged
    held: list[Held]

    @classmethod
    def of_samples(
        cls,
        features: Array,
        sizes: ClassSizes,
        bunches: Array,
        spread: Array | None = None,
        rows: Array | None = None,
    ) -> GroupJudge:
        """Of the features of all samples, and the bunch of each; whole bunches may be judged."""
        rows = np.arange(len(features)) if rows is None else rows
        held = []
        for bunch in np.unique(bunches[rows]):
            out, kept = np.flatnonzero(bunches == bunch), np.flatnonzero(bunches != bunch)
            codes, weights = sizes.codes[kept], sizes.weights[kept]
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
        """Scores (n, C) of every sample that is judged, without its bunch."""
        scores = np.empty((len(self.sizes.codes), len(self.sizes.counts)))
        for one in self.held:
            scores[one.rows] = one.frame.scores(one.features, rho, b)
        scores = scores[self.rows]
        return scores if rows is None else scores[rows]

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,), without its bunch."""
        found = np.empty(len(self.sizes.codes))
        for one in self.held:
            found[one.rows] = one.frame.stranger_term(n, rho, b).of(one.features, 0.0)
        return found[self.rows]


@dataclass(frozen=True, eq=False)
class PartsJudge:
    """Judges of some samples each, whose factors know nothing of these."""

    sizes: ClassSizes
    parts: list[tuple[Judge, Array]]  # and the rows that they judge

    @property
    def noise_unit(self) -> float:
        """That of the first."""
        return self.parts[0][0].noise_unit

    @property
    def spread_unit(self) -> float:
        """That of the first."""
        return self.parts[0][0].spread_unit

    def left_out_scores(self, rho: float, b: float, rows: Array | None = None) -> Array:
        """Scores (n, C); rho and b are in the units of the first judge."""
        scores = np.empty((len(self.sizes.codes), len(self.sizes.counts)))
        for judge, own in self.parts:
            unit = judge.noise_unit / self.noise_unit
            scores[own] = judge.left_out_scores(rho * unit, b * unit)
        return scores if rows is None else scores[rows]

    def left_out_stranger(self, n: float, rho: float, b: float) -> Array:
        """The quadratic term (n,)."""
        found = np.empty(len(self.sizes.codes))
        for judge, own in self.parts:
            unit = judge.noise_unit / self.noise_unit
            found[own] = judge.left_out_stranger(n, rho * unit, b * unit)
        return found


# ── Candidates ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Candidate:
    """A view that is ready to be judged."""

    name: str
    price: float
    map: FeatureMap
    frame: Frame
    judge: Judge


@dataclass(frozen=True, eq=False)
class Setting:
    """What left-out samples chose for a view, in units of the noise and of the class means."""

    rho: float
    b: float
    temperature: float
    loss: float
    scores: Array  # (n, C), of left-out samples, over the temperature
    stranger: Array  # (n,), their quadratic term against a stranger, over the temperature
    strangers: Strangers | None = None  # all samples without their classes, where asked for

    def stranger_ratios(self) -> Array:
        """The ratios (n, c) of all samples without their classes; NaN where there is none."""
        assert self.strangers is not None
        found = self.strangers.scores - self.strangers.term[:, None]
        return np.asarray(found / self.temperature)


@dataclass(frozen=True, eq=False)
class Data:
    """What views are made of: what was gathered, which samples to leave out, and their labels.

    Parameters
    ----------
    gathered : Gathered
        Of all samples.
    bunches : ndarray of shape (n,) or None
        The bunch of groups of each sample of the sketch; None leaves out single samples.
    log_priors : ndarray of shape (C,)
        Logarithms of the probabilities of the classes.
    stranger_columns : ndarray of shape (c,) or None
        The classes for which samples are scored without their own class; None scores none.
    """

    gathered: Gathered
    bunches: Array | None
    log_priors: Array
    stranger_columns: Array | None = None

    @cached_property
    def is_linear_only(self) -> bool:
        """Whether most classes have one sample in the sketch, which is not all that there is.

        Then views that learn from the sketch cannot be judged.
        """
        return bool(self.gathered.sketch_sizes.scored.mean() < 0.5) and not (
            self.gathered.sketch.is_complete
        )

    @cached_property
    def rows(self) -> Array:
        """The samples that are left out, of possible classes; fewer where classes are many."""
        sketch = self.gathered.sketch
        possible = np.isfinite(self.log_priors)[sketch.codes]
        if self.bunches is None:
            scored = self.gathered.sizes.scored
            if not self.is_linear_only:
                scored = scored & self.gathered.sketch_sizes.scored
        else:
            pairs = np.unique(np.stack([sketch.codes, self.bunches]), axis=1)[0]
            several = np.bincount(pairs, minlength=len(self.log_priors)) > 1  # bunches of a class
            scored = several[sketch.codes]
        rows = np.flatnonzero(scored & possible)
        most = max(LARGEST_SCORES // len(self.log_priors), FEWEST_ROWS)
        if len(rows) <= most:
            return rows
        return rows[sketch.rows(rows).first(most)]

    def answers(self, rows: Array) -> Answers:
        """The labels of some samples, each standing for its share of its class."""
        gathered = self.gathered
        share = gathered.counts / np.maximum(gathered.sketch_sizes.counts, 1e-300)
        codes = gathered.sketch.codes[rows]
        weights = gathered.sketch.weights[rows] * share[codes]
        return Answers(codes, weights, self.log_priors)

    def thinned(self, most: int) -> Data:
        """The same of at most so many samples."""
        gathered = self.gathered
        rows = gathered.sketch.first(most)
        fewer = Gathered(gathered.classes, gathered.shape, gathered.sketch.rows(rows))
        bunches = (
            None if self.bunches is None else np.unique(self.bunches[rows], return_inverse=True)[1]
        )
        return Data(fewer, bunches, self.log_priors)

    def thirds(self) -> Array:
        """A part (n,) of the samples of the sketch, by group, else by their order in each class.

        It does not depend on the order of the samples, on units or on an offset. Parts of whole
        classes would be told: one that the factors do not know differs from those they know.
        """
        if self.bunches is not None:
            return self.bunches % THIRDS
        sketch = self.gathered.sketch
        contrast = np.asarray(np.random.Philox(11).random_raw(sketch.X.shape[1]), dtype=float)
        contrast = contrast - contrast.mean()
        along = (sketch.X - self.gathered.mean) @ (contrast if contrast.any() else contrast + 1)
        parts = np.empty(len(sketch.codes), dtype=np.intp)
        for code in range(len(self.log_priors)):
            own = np.flatnonzero(sketch.codes == code)
            ordered = own[np.argsort(along[own], kind="stable")]
            parts[ordered] = (code + np.arange(len(own))) % THIRDS
        return parts


def linear_candidate(data: Data, in_units: bool) -> Candidate:
    """Numbers as they are, or each divided by its spread."""
    gathered = data.gathered
    noise, means, mean = gathered.noise(), gathered.means, gathered.mean
    scale = None
    if in_units:
        between = gathered.counts @ (means - mean) ** 2
        scale = unit_scale((noise.diagonal + between) / gathered.counts.sum())
    feature_map = LinearMap(mean, scale)
    frame = _mapped_frame(gathered, feature_map, noise, means)
    name = "units" if in_units else "numbers"
    return Candidate(name, 0.0, feature_map, frame, _judge(data, feature_map, frame))


def _mapped_frame(
    gathered: Gathered,
    feature_map: LinearMap,
    noise: Noise,
    means: Array,
    spread: Array | None = None,
    scored: Array | None = None,
) -> Frame:
    """What was gathered, in the features of a linear map; all samples are scored, or some."""
    turned = feature_map.turned
    rows = None if noise.rows is None else turned(noise.rows)
    matrix = None if noise.matrix is None else turned(turned(noise.matrix).T)
    if rows is not None:
        turned_noise = Noise.of_rows(rows)
    else:
        assert matrix is not None
        turned_noise = Noise(None, matrix, np.diagonal(matrix))
    sizes, sketch = gathered.sizes, gathered.sketch
    scored = np.arange(len(sketch.codes)) if scored is None else scored
    samples = feature_map.features(sketch.X[scored])
    own = ClassSizes.of(sizes.codes[scored], sizes.weights[scored], sizes.counts)
    noise_rows = None if rows is None else scored
    return Frame(samples, feature_map.features(means), own, turned_noise, spread, noise_rows)


def _judge(data: Data, feature_map: FeatureMap, frame: Frame) -> Judge:
    """The frame itself, in closed form, or frames without each bunch of groups."""
    if data.bunches is None:
        return frame
    sizes = data.gathered.sketch_sizes
    return GroupJudge.of_samples(frame.samples, sizes, data.bunches, frame.spread)


def sketch_candidate(data: Data, name: str, price: float, feature_map: FeatureMap) -> Candidate:
    """A view that is not linear: it learns from the samples of the sketch."""
    if isinstance(feature_map, RBFMap):
        features = feature_map.root - feature_map.centre  # of the landmarks, which these are
    else:
        features = feature_map.features(data.gathered.sketch.X)
    frame = Frame.of_samples(features, data.gathered.sketch_sizes)
    frame.is_level = isinstance(feature_map, RBFMap)
    return Candidate(name, price, feature_map, frame, _judge(data, feature_map, frame))


def length_candidate(data: Data) -> Candidate:
    """Samples about the mean, brought to unit length."""
    sketch = data.gathered.sketch
    feature_map = LengthMap.of_samples(sketch.X, sketch.weights, data.gathered.mean)
    return sketch_candidate(data, "length", 0.0, feature_map)


def rbf_candidate(data: Data, name: str, scale: Array | None) -> Candidate:
    """The space of a Gaussian kernel, over numbers as they are or in units of their spread."""
    sketch, mean = data.gathered.sketch, data.gathered.mean
    scale = np.ones_like(mean) if scale is None else scale
    feature_map = RBFMap.of_samples(sketch.X, sketch.weights, mean, scale, WIDTHS[name])
    return sketch_candidate(data, name, KERNEL_PRICE, feature_map)


def signal_candidate(data: Data, name: str) -> Candidate:
    """A view of curves or images."""
    sketch, shape = data.gathered.sketch, data.gathered.shape
    kind: Any = {"filters": FilterMap, "gradients": GradientMap}[name]
    plain = kind.of_samples(sketch.X, sketch.weights, shape)
    raw = plain.raw(sketch.X)
    feature_map = replace(plain, mean=sketch.weights @ raw / sketch.weights.sum())
    frame = Frame.of_samples(raw - feature_map.mean, data.gathered.sketch_sizes)
    return Candidate(name, SIGNAL_PRICE, feature_map, frame, _judge(data, feature_map, frame))


def transformer_candidates(data: Data, name: str, transformer: Any) -> Iterator[Candidate]:
    """The features of a fitted transformer as they are, and in units of their spread."""
    sketch, shape = data.gathered.sketch, data.gathered.shape
    shares = sketch.weights / sketch.weights.sum()
    rows = sketch.X.reshape(-1, *shape)
    raw = checked_features(name, transformer.transform(rows), len(rows))
    mean = shares @ raw
    centred = raw - mean
    for scale in (np.ones(len(mean)), unit_scale(shares @ centred**2)):
        feature_map = TransformerMap(mean, scale, name, transformer, shape)
        frame = Frame.of_samples(centred * scale, data.gathered.sketch_sizes)
        yield Candidate(name, 0.0, feature_map, frame, _judge(data, feature_map, frame))


# ── Structure of noise and class means ───────────────────────────────────────────────────────────


def structured_map(gathered: Gathered, kept: Array, share: float) -> tuple[LinearMap, Array]:
    """A map in which both Kronecker products are diagonal, and the spread (p,) of class means.

    Parameters
    ----------
    gathered : Gathered
        Of all samples.
    kept : ndarray
        The samples of the sketch that the factors are learned from.
    share : float
        Of identity in the factors of the noise.
    """
    shape, mean, sketch = gathered.shape, gathered.mean, gathered.sketch
    codes, weights = sketch.codes[kept], sketch.weights[kept]
    counts = np.bincount(codes, weights, minlength=len(gathered.classes))
    X = sketch.X[kept] - mean
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
    return LinearMap(mean, None, shape, matrices), spread


def structured_frame(
    gathered: Gathered, kept: Array, share: float, scored: Array | None = None
) -> tuple[LinearMap, Frame]:
    """The map that some samples give, and the frame of all samples in it; some may be scored."""
    feature_map, spread = structured_map(gathered, kept, share)
    noise, means = gathered.noise(), gathered.means
    return feature_map, _mapped_frame(gathered, feature_map, noise, means, spread, scored)


def has_structure(data: Data) -> bool:
    """Whether samples have two modes or more, and the eigenproblems are not too large."""
    gathered = data.gathered
    several = sum(size > 1 for size in gathered.shape) > 1
    noise = gathered.noise()
    n_rows = len(noise.diagonal) if noise.rows is None else len(noise.rows)
    learnable = (gathered.sketch_sizes.counts > 0).sum() > 2 or gathered.sketch_sizes.freedom > 4
    return bool(several and n_rows <= LARGEST_STRUCTURE and learnable)


def structured_choice(data: Data, plain: Setting | None) -> tuple[Candidate, Setting] | None:
    """The view with structure at its best setting; None where a first look gains nothing.

    The factors look at labels, so samples are judged by frames that are learned without a third
    of the samples. Shares, ratios and rho are chosen on the first third; the others
    are asked at this setting only.

    Parameters
    ----------
    data : Data
        What it is made of.
    plain : Setting or None
        That of the best plain view, which some share of this one must improve.
    """
    thirds, rows = data.thirds(), data.rows
    own = np.flatnonzero(thirds == 0)
    first = np.intersect1d(own, rows)
    if not len(first) or len(np.unique(thirds)) < THIRDS:
        return None
    codes = data.gathered.sketch.codes
    for third in range(THIRDS):
        if len(np.unique(codes[thirds != third])) < 2:  # class means of one class show no spread
            return None
    answers = data.answers(first)
    judged = np.searchsorted(own, first)
    best: tuple[float, float, float, float, Judge] | None = None
    for share in NOISE_SHARES:
        judge = _without_third(data, thirds, 0, share)
        found = _search_structure(judge, judged, answers)
        if best is None or found[0] < best[0] - TIE:
            best = (*found, share, judge)
    assert best is not None
    _, rho, ratio, share, judge = best
    if plain is not None:
        scores = judge.left_out_scores(rho, ratio * rho, judged)
        before = replace(plain, scores=plain.scores[np.searchsorted(rows, first)])
        if not improves(before, scores, answers, STRUCTURE_PRICE):
            return None
    parts = [(judge, own)]
    for third in range(1, THIRDS):
        judge = _without_third(data, thirds, third, share)
        parts.append((judge, np.flatnonzero(thirds == third)))
    whole = PartsJudge(data.gathered.sketch_sizes, parts)
    everyone = np.arange(len(thirds))
    feature_map, frame = structured_frame(data.gathered, everyone, share)
    candidate = Candidate("kronecker", STRUCTURE_PRICE, feature_map, frame, whole)
    return candidate, _settled(data, candidate, rho, ratio * rho)


def _without_third(data: Data, thirds: Array, third: int, share: float) -> Judge:
    """What judges the samples of a third, which its factors know nothing of."""
    kept, own = np.flatnonzero(thirds != third), np.flatnonzero(thirds == third)
    if data.bunches is None:
        return structured_frame(data.gathered, kept, share, own)[1]
    _, frame = structured_frame(data.gathered, kept, share)
    sizes, spread = data.gathered.sketch_sizes, frame.spread
    return GroupJudge.of_samples(frame.samples, sizes, data.bunches, spread, own)


def _search_structure(judge: Judge, rows: Array, answers: Answers) -> tuple[float, float, float]:
    """The least loss over ratios b / rho and rho, and both; one ratio at a time is kept."""
    best = (np.inf, 0.0, 0.0)
    at = len(RHOS) - 4  # where the search for rho begins
    for ratio in RATIOS:

        def loss(place: int, ratio: float = float(ratio)) -> float:
            rho = RHOS[place] * judge.noise_unit
            return rough_loss(judge.left_out_scores(rho, ratio * rho, rows), answers)

        at, found = _downhill(loss, at, len(RHOS), step=2)
        if found < best[0] - TIE:
            best = (found, float(RHOS[at] * judge.noise_unit), float(ratio))
        elif found > best[0] + 2 / answers.count:
            break
    return best


def _downhill(loss: Callable[[int], float], at: int, n: int, step: int) -> tuple[int, float]:
    """A place from which no step of one lowers the loss, and the loss there."""
    seen: dict[int, float] = {}

    def of(place: int) -> float:
        if place not in seen:
            seen[place] = loss(place)
        return seen[place]

    while step:
        for to in (at - step, at + step):
            while 0 <= to < n and of(to) < of(at) - TIE:
                at, to = to, to + (to - at)
        step //= 2
    return at, of(at)


def improves(plain: Setting, scores: Array, answers: Answers, price: float) -> bool:
    """Whether some share of other scores lowers the loss of a plain view by its price in nats."""
    temperature, _ = best_temperature(scores, answers)
    before = plain.scores
    after = [
        answers.loss((1 - share) * before + share * scores / temperature) for share in LOOK_SHARES
    ]
    return min(after) < answers.loss(before) - price / answers.count


@dataclass(frozen=True, eq=False)
class FirstLook:
    """Some of many samples, which say what is worth computing for all."""

    data: Data
    plain: Setting  # of the best plain view

    @classmethod
    def of(cls, data: Data, plain_name: str) -> FirstLook | None:
        """At `LOOK_SAMPLES` samples; None where there are too many classes for that."""
        few = data.thinned(LOOK_SAMPLES)
        if len(few.rows) < LOOK_SAMPLES / 2:
            return None
        if plain_name == "length":
            plain = length_candidate(few)
        else:
            plain = linear_candidate(few, plain_name == "units")
        return cls(few, choose_setting(few, plain, None)[0])

    def speaks_for(self, candidates: Iterable[Candidate]) -> bool:
        """Whether some candidate, made of these samples, improves on the plain view."""
        answers = self.data.answers(self.data.rows)
        near: tuple[int, int] | None = None
        for candidate in candidates:
            found, near = choose_setting(self.data, candidate, near)
            if improves(self.plain, found.scores, answers, candidate.price):
                return True
        return False


# ── Choice ───────────────────────────────────────────────────────────────────────────────────────


def choose_setting(
    data: Data, candidate: Candidate, near: tuple[int, int] | None
) -> tuple[Setting, tuple[int, int]]:
    """The best rho and b, from coarse to fine; or downhill from what suited a similar view."""
    judge = candidate.judge
    rows = data.rows
    answers = data.answers(rows)
    some = None if len(rows) == len(judge.sizes.codes) else rows
    noise, spread = judge.noise_unit or 1.0, judge.spread_unit or 1.0
    losses: dict[tuple[int, int], float] = {}

    def loss(place: tuple[int, int]) -> float:
        if place not in losses:
            rho, b = RHOS[place[0]] * noise, SPREADS[place[1]] * spread
            losses[place] = rough_loss(judge.left_out_scores(rho, b, some), answers)
        return losses[place]

    if near is None:
        coarse = [(i, j) for i in range(1, len(RHOS), 4) for j in (2, 6, 9)]
        best = _first_least(coarse, loss)
    else:
        best = near
    for step in (2, 1):
        while True:
            around = list(_neighbours(best, step))
            new = _first_least([best, *around], loss)
            if new == best:
                break
            best = new
    rho, b = float(RHOS[best[0]] * noise), float(SPREADS[best[1]] * spread)
    return _settled(data, candidate, rho, b), best


def _first_least(
    places: Sequence[tuple[int, int]], loss: Callable[[tuple[int, int]], float]
) -> tuple[int, int]:
    """The first place whose loss no other beats."""
    best = places[0]
    for place in places[1:]:
        if loss(place) < loss(best) - TIE:
            best = place
    return best


def _neighbours(place: tuple[int, int], step: int) -> Iterator[tuple[int, int]]:
    i, j = place
    for down, right in ((-step, 0), (step, 0), (0, -step), (0, step), (-step, -step), (step, step)):
        if 0 <= i + down < len(RHOS) and 0 <= j + right < len(SPREADS):
            yield i + down, j + right


def _settled(data: Data, candidate: Candidate, rho: float, b: float) -> Setting:
    """A setting with its temperature."""
    rows, judge = data.rows, candidate.judge
    scores = judge.left_out_scores(rho, b, rows)
    temperature, loss = best_temperature(scores, data.answers(rows))
    n = typical_count(data.gathered.counts)
    stranger = judge.left_out_stranger(n, rho, b)[rows]
    strangers = None if data.stranger_columns is None else _strangers(data, candidate, rho, b)
    found = scores / temperature
    return Setting(rho, b, temperature, loss, found, stranger / temperature, strangers)


def _strangers(data: Data, candidate: Candidate, rho: float, b: float) -> Strangers:
    """Scores of all samples without their classes, at a setting of the judge of a view.

    A frame whose noise is that of more samples than it has cannot give them back: there, the sketch
    stands for all.
    """
    judge, columns, frame = candidate.judge, data.stranger_columns, candidate.frame
    sketch, n = data.gathered.sketch, typical_count(data.gathered.counts)
    assert columns is not None
    spread = frame.spread
    if not sketch.is_complete:
        features = candidate.map.features(sketch.X)
        frame = Frame.of_samples(features, data.gathered.sketch_sizes, spread)
    unit = frame.noise_unit / judge.noise_unit if judge.noise_unit > 0 else 1.0
    freedom = frame.sizes.freedom / max(judge.sizes.freedom, 1.0)
    factor = freedom if spread is None else unit
    return without_classes(frame, n, rho * unit, b * factor, columns)


def typical_count(counts: Array) -> float:
    """The number of samples that the ratio against a stranger takes a class to have."""
    known = counts[counts > 0]
    return float(len(known) / (1 / known).sum())
