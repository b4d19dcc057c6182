"""What is learned of Gaussian classes: views with their weights, and how a sample is scored.

`learn` goes through these steps:

1. `choose_views` makes each view, computes the scores of left-out samples in closed form, and
   chooses rho, b and a temperature by their log loss.
2. `Pooling.of` finds the weights of the views, by the same loss, and calibrates the ratio against
   a stranger.
3. Views with a weight are kept as `LearnedView`: class means and noise in their features, so that
   classes can be added later.

A `Scorer` is all that scoring needs: one matrix for all linear views, and one for each other view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from tenfold.gaussian.formula import (
    ClassSizes,
    Frame,
    LinearScores,
    Noise,
    NoiseAxes,
    StrangerTerm,
    class_means,
)
from tenfold.gaussian.gathered import Summary
from tenfold.gaussian.maps import (
    MOST_LANDMARKS,
    CentredMap,
    FeatureMap,
    LengthMap,
    LinearMap,
    RBFMap,
    Transformer,
    TransformerMap,
    jitter_of,
    kernel_root,
    squared_distances,
)
from tenfold.gaussian.pool import (
    Answers,
    Trials,
    best_temperature,
    calibrated_ratio,
    floor_of,
    pool_weights,
    probabilities,
    ratio_weights,
)
from tenfold.gaussian.signals import FilterMap, GradientMap
from tenfold.gaussian.views import (
    LARGEST_STRUCTURE,
    LINEAR,
    LOOK_FROM,
    RHOS,
    SIGNALS,
    WIDTHS,
    Candidate,
    Data,
    FirstLook,
    Setting,
    choose_setting,
    has_structure,
    make_candidate,
    structured_candidate,
    transformer_candidates,
)
from tenfold.linalg.algebra import Array

BINS = 10  # of the calibration of left-out samples
PARTS = 5  # of the classes, each left out once where there are no samples
USUAL_RIDGE = 0.3
EVIDENCE = 3.0  # nats: what a view says against a class grows with the logarithm beyond
MANY_CLASSES = 20  # from here on, the pool hardly changes without a few classes
MOST_TRIALS = 20_000  # pairs of a stranger and a class that choose the weights of the ratio
NOISE_SHARE = 0.75  # of the excess variance of a session; the rest is taken as between classes
Packed = dict[str, Any]  # values by name, as files and attributes have them
MAPS: dict[str, type[LinearMap | LengthMap | RBFMap | CentredMap]] = {
    "linear": LinearMap,
    "length": LengthMap,
    "rbf": RBFMap,
    "filters": FilterMap,
    "gradients": GradientMap,
    "transformer": TransformerMap,
}


# ── A view that was learned ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class LearnedView:
    """Class means and noise in the features of a view, and its part in the pool.

    Parameters
    ----------
    name : str
        The name of the view.
    weight, ratio_weight : float
        Its weights in the pool of scores, and in the ratio against a stranger.
    temperature, log_loss : float
        The temperature that its scores are divided by, and the left-out loss of the view alone.
    rho, b, freedom : float
        See `tenfold.gaussian.formula`.
    map : FeatureMap
        The features of the view.
    means : ndarray of shape (C, q)
        The class means.
    axes, values : ndarrays of shape (q, d) and (d,)
        The eigenvectors and eigenvalues of the scatter of the noise.
    spread : ndarray of shape (q,) or None
        The diagonal of the covariance of the class means, where it has structure.
    """

    name: str
    weight: float
    ratio_weight: float
    temperature: float
    log_loss: float
    rho: float
    b: float
    freedom: float
    map: FeatureMap
    means: Array
    axes: Array
    values: Array
    spread: Array | None = None

    @classmethod
    def of(cls, candidate: Candidate, setting: Setting) -> LearnedView:
        """A view at the setting that left-out samples chose, with a weight of 1."""
        frame = candidate.frame
        judge = candidate.judge
        # rho and b are in units of the judge; the model has them in units of the frame.
        rho_ratio = frame.noise_unit / judge.noise_unit if judge.noise_unit > 0 else 1.0
        b_ratio = rho_ratio
        if frame.spread is None and judge.spread_unit > 0:
            b_ratio = frame.spread_unit / judge.spread_unit
        along, _ = frame.axes(0.0, 1.0, 1.0)
        return cls(
            name=candidate.name,
            weight=1.0,
            ratio_weight=1.0,
            temperature=setting.temperature,
            log_loss=setting.loss,
            rho=setting.rho * rho_ratio,
            b=setting.b * b_ratio,
            freedom=frame.sizes.freedom,
            map=candidate.map,
            means=frame.means,
            axes=along.turn if along.rows is None else along.rows.T @ along.turn,
            values=along.values,
            spread=frame.spread,
        )

    def frame(self, counts: Array) -> Frame:
        """Its class means and noise, without samples, for classes with these counts."""
        nobody = np.empty((0, self.means.shape[1]))
        sizes = ClassSizes.of(np.empty(0, dtype=np.intp), np.empty(0), counts)
        sizes = sizes._replace(freedom=self.freedom)
        if self.spread is not None:
            noise = Noise.of_rows(self.axes.T * np.sqrt(self.values)[:, None])
            return Frame(nobody, self.means, sizes, noise, self.spread)
        noise = Noise(None, None, (self.axes**2) @ self.values)  # of which the axes are known
        known = NoiseAxes(1.0, None, self.axes, self.values)
        return Frame(nobody, self.means, sizes, noise, axes_of_noise=known)

    @property
    def is_linear(self) -> bool:
        """Whether its scores are linear in the numbers of a sample."""
        return isinstance(self.map, LinearMap)

    def enrolled(
        self, X: Array, codes: Array, weights: Array, counts: Array, at: Array
    ) -> LearnedView:
        """The same with more samples (n, p) of some of all classes, by number.

        Parameters
        ----------
        X, codes, weights : ndarrays
            The samples, their classes among all, and their weights.
        counts : ndarray of shape (C,)
            What all classes weighed before.
        at : ndarray
            The places of our classes among all.
        """
        view = self
        if isinstance(self.map, RBFMap):  # new samples lie outside of the span of the others
            more = self.map.extended(X)
            grown = len(more.landmarks) - len(self.map.landmarks)
            means = np.pad(self.means, ((0, 0), (0, grown)))
            axes = np.pad(self.axes, ((0, grown), (0, 0)))
            view = replace(self, map=more, means=means, axes=axes)
        means = np.zeros((len(counts), view.means.shape[1]))
        means[at] = view.means
        features = view.map.features(X)
        new = class_means(features, codes, weights, len(counts))
        added = np.bincount(codes, weights, minlength=len(counts))
        total = np.where(counts + added > 0, counts + added, 1.0)[:, None]
        return replace(view, means=(counts[:, None] * means + added[:, None] * new) / total)

    def adapted(self, X: Array, counts: Array, step: Array) -> LearnedView:
        """The same for another session, of which samples (n, p) of many classes are at hand.

        The centre becomes that of the session. In a linear view noise grows where the session
        varies more than the training samples did, by `NOISE_SHARE` of the excess.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Samples of the session.
        counts : ndarray of shape (C,)
            The weights of the classes.
        step : ndarray of shape (p,)
            The mean of the session minus that of the samples before.
        """
        moved = self.map.moved(X, step)
        if not isinstance(moved, LinearMap):
            return replace(self, map=moved)
        own = self.axes.T * np.sqrt(self.values)[:, None]
        between = self.means * np.sqrt(counts)[:, None]
        before = np.concatenate([own, between]) / np.sqrt(counts.sum())
        expected = NoiseAxes.of(Noise.of_rows(before))
        ridge = self.rho / max(self.freedom, 1.0)
        rows = moved.features(X) / np.sqrt(len(X))
        whitened = expected.solved(rows, ridge) @ rows.T
        values, turn = np.linalg.eigh((whitened + whitened.T) / 2)
        # Few samples show large variances by chance: up to the edge of Marchenko and Pastur.
        usual = (1 + np.sqrt(values.clip(0).sum() / len(X))) ** 2
        larger = values > usual
        factors = np.sqrt(self.freedom * NOISE_SHARE * (1 - usual / values[larger]))
        more = (turn[:, larger] * factors).T @ rows
        found = NoiseAxes.of(Noise.of_rows(np.concatenate([own, more])))
        axes = found.turn if found.rows is None else found.rows.T @ found.turn
        return replace(self, map=moved, axes=axes, values=found.values)

    def check_fits(self, n_classes: int, size: int) -> None:
        """Refuse values from a file that do not fit together."""
        q, d = self.axes.shape if self.axes.ndim == 2 else (0, 0)
        shapes = (self.means.shape, self.values.shape)
        if shapes != ((n_classes, q), (d,)) or d > q or not q:
            raise ValueError(f"view {self.name!r:.40} has means and axes of shapes {shapes}")
        spread = np.ones(q) if self.spread is None else self.spread
        too_large = self.spread is not None and d > 2 * LARGEST_STRUCTURE
        if spread.shape != (q,) or not (spread > 0).all() or too_large:
            raise ValueError(f"view {self.name!r:.40} has a spread that no class means have")
        if not self.map.fits(size):
            raise ValueError(f"the map of view {self.name!r:.40} is not for {size} numbers")
        positive = (self.temperature, self.rho, self.b, self.freedom)
        if not all(number > 0 for number in positive) or not (self.values >= 0).all():
            raise ValueError(f"view {self.name!r:.40} has numbers that are not above 0")
        weights = (self.weight, self.ratio_weight)
        if min(weights) < 0 or max(weights) <= 0:
            raise ValueError(f"view {self.name!r:.40} has the weights {weights}")
        features = self.map.features(np.zeros((1, size)))
        if features.shape != (1, q) or not np.isfinite(features).all():
            raise ValueError(f"the features of view {self.name!r:.40} do not fit its means")

    # -- files ------------------------------------------------------------------------------------

    def packed(self) -> Packed:
        """Its values by name, for a file."""
        kind = next(kind for kind, of in MAPS.items() if type(self.map) is of)
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        inside_names = [field.name for field in fields(MAPS[kind])]
        inside = {name: getattr(self.map, name) for name in inside_names}
        if kind == "rbf":
            inside.pop("root")  # follows from the landmarks
        return own | {"map": {"kind": kind, **inside}}

    @classmethod
    def unpacked(cls, packed: Packed) -> LearnedView:
        """From its values by name; a ValueError where a file says what no view has."""
        own = _checked_values("view", packed, cls)
        inside = dict(own["map"])
        kind = inside.pop("kind", None)
        if not isinstance(kind, str) or kind not in MAPS:
            raise ValueError(f"its view is of kind {kind!r:.40}; expected {', '.join(MAPS)}")
        if kind != "rbf":
            made = MAPS[kind](**_checked_values(kind, inside, MAPS[kind]))
            return cls(**own | {"map": made})
        inside = _checked_values(kind, inside, RBFMap, without="root")
        landmarks = inside["landmarks"]
        centre = inside["centre"]
        n = len(landmarks) if landmarks.ndim == 2 else 0
        if not 0 < n <= MOST_LANDMARKS or centre.shape != (n,) or own["axes"].shape[:1] != (n,):
            raise ValueError(f"its view has landmarks of shape {landmarks.shape}")
        if not inside["width"] > 0:
            raise ValueError(f"its view has the width {inside['width']!r:.40}")
        width = inside["width"]
        D2 = squared_distances(landmarks, landmarks)
        root = kernel_root(D2, width, jitter_of(landmarks, width))
        return cls(**own | {"map": RBFMap(root=root, **inside)})


def _checked_values(what: str, packed: object, of: type, without: str = "") -> Packed:
    """The values of the fields of a class, if they are of the kinds that it declares."""
    kinds = {field.name: str(field.type) for field in fields(of) if field.name != without}
    if not isinstance(packed, Mapping) or packed.keys() != kinds.keys():
        raise ValueError(f"its {what} has not the values {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not _is_of_kind(packed[name], kind):
            raise ValueError(f"its {what} has {name}={packed[name]!r:.80}; expected {kind}")
    return dict(packed)


def _is_of_kind(value: object, kind: str) -> bool:
    if kind == "Array":
        return isinstance(value, np.ndarray) and value.dtype.kind == "f" and _all_finite(value)
    if kind == "Array | None":
        return value is None or _is_of_kind(value, "Array")
    if kind == "list[Array]":
        return isinstance(value, list) and all(_is_of_kind(part, "Array") for part in value)
    if kind == "tuple[int, ...]":
        return isinstance(value, tuple) and all(type(v) is int and v > 0 for v in value)
    if kind == "float":
        return isinstance(value, int | float) and type(value) is not bool and _all_finite(value)
    if kind == "str":
        return isinstance(value, str)
    return isinstance(value, Mapping) if kind == "FeatureMap" else True


def _all_finite(value: Array | float) -> bool:
    return bool(np.isfinite(value).all())


# ── Learning ─────────────────────────────────────────────────────────────────────────────────────


class LeftOut(NamedTuple):
    """Calibrated log likelihood ratios of samples that have no part in the classes.

    The ratio of a sample for its own class is without the sample. Its ratios for other classes are
    as a stranger has them: without its whole class. NaN stands for classes that were not asked for,
    and for the own class of a sample that cannot be left out.
    """

    codes: Array  # (n,), the class of each sample
    weights: Array  # (n,), how many samples each stands for
    ratios: Array  # (n, C)
    n_left: float  # how many classes the models had that scored strangers
    seen_ratios: Array | None = None  # (n, C), all without the sample alone; NaN where it must stay
    scores: Array | None = None  # (n, C), likewise, of the pool

    def own(self) -> tuple[Array, Array, Array]:
        """The rows of samples that can be left out, their ratios for their classes, and weights."""
        found = self.ratios[np.arange(len(self.codes)), self.codes]
        rows = np.flatnonzero(~np.isnan(found))
        return rows, found[rows], self.weights[rows]

    def of_strangers(self) -> Array:
        """The ratios (n, C) for other classes; minus infinity for the others."""
        found = np.where(np.isnan(self.ratios), -np.inf, self.ratios)
        found[np.arange(len(self.codes)), self.codes] = -np.inf
        return found

    def without_own_class(self) -> Array:
        """The ratios (n, C) for other classes, for all of them; minus infinity for the own class.

        A class that no stranger was scored for has the ratio without the sample alone.
        """
        assert self.seen_ratios is not None
        found = np.where(np.isnan(self.ratios), self.seen_ratios, self.ratios)
        found[np.isnan(found)] = -np.inf
        found[np.arange(len(self.codes)), self.codes] = -np.inf
        return found


class LearnedPool(NamedTuple):
    """What `learn` returns: the views that left-out samples chose, and how good they are."""

    names: list[str]  # of all views that were tried
    weights: Array  # (V,), of these
    log_losses: Array  # (V,), of each alone
    views: list[LearnedView]  # those with a weight
    log_loss: float  # of the pool, on left-out samples
    ratio_scale: float  # of the ratio against a stranger, and its offset
    ratio_offset: float
    calibration: Array  # (3, bins): mean probability, accuracy, number of samples
    left_out: LeftOut | None = None  # where it was asked for


class Chosen(NamedTuple):
    """A view at its best setting; the frames that found it are gone."""

    view: LearnedView
    price: float
    setting: Setting


def learn(
    summary: Summary,
    log_priors: Array,
    names: Sequence[str],
    transformers: Mapping[str, Transformer],
    bunches: Array | None = None,
    tell: Callable[[str], None] = lambda _: None,
    class_groups: Array | None = None,
    stranger_columns: Array | None = None,
) -> LearnedPool:
    """The pool of views that left-out samples choose.

    Parameters
    ----------
    summary : Summary
        Of all samples.
    log_priors : ndarray of shape (C,)
        Logarithms of the probabilities of the classes.
    names : sequence of str
        Which of `NAMES` to try.
    transformers : mapping of str to fitted transformers
        More views.
    bunches : ndarray of shape (n,) or None
        Which samples of the sketch to leave out together.
    tell : callable
        Is called with the name of each view before it is tried.
    class_groups : ndarray of shape (C,) or None
        Classes without which a pool of few classes is weighted, to learn the ratios of strangers;
        None learns none.
    stranger_columns : ndarray of shape (c,) or None
        The classes for which strangers are scored; None stands for all.
    """
    if class_groups is not None and stranger_columns is None:
        stranger_columns = np.arange(len(class_groups))
    data = Data(summary, bunches, log_priors, stranger_columns)
    n_judged = len(np.unique(data.answers.codes))
    if not n_judged or (n_judged == 1 and class_groups is None):
        return _without_left_out(data, names)  # samples of one class would always be named right
    if data.is_linear_only:
        names = [name for name in names if name in LINEAR] or ["numbers"]
        transformers = {}
    chosen = choose_views(data, names, transformers, tell)
    pooling = Pooling.of(chosen, data.answers, strangers_by_view(data, chosen))
    views = []
    for one, weight, ratio_weight in zip(
        chosen, pooling.weights, pooling.ratio_weights, strict=True
    ):
        if weight > 0 or ratio_weight > 0:
            view = replace(one.view, weight=float(weight), ratio_weight=float(ratio_weight))
            views.append(view)
    log_loss, calibration = _calibration(data.answers, pooling.scores)
    return LearnedPool(
        names=[one.view.name for one in chosen],
        weights=pooling.weights,
        log_losses=np.array([one.setting.loss for one in chosen]),
        views=views,
        log_loss=log_loss,
        ratio_scale=pooling.scale,
        ratio_offset=pooling.offset,
        calibration=calibration,
        left_out=None if class_groups is None else _left_out(data, pooling, class_groups),
    )


def choose_views(
    data: Data,
    names: Sequence[str],
    transformers: Mapping[str, Transformer],
    tell: Callable[[str], None],
) -> list[Chosen]:
    """All views that are tried, each at the rho and b with the least loss of left-out samples.

    The order is: plain views ("numbers", "units", "length"), the structured view ("kronecker"),
    kernels, features of signals ("filters", "gradients"), transformers. A view starts its search
    at the setting of the view before it, where these are alike. Of more than `LOOK_FROM` samples, a
    first look at `LOOK_SAMPLES` of them says whether kernels and signals are tried at all.
    """
    chosen: list[Chosen] = []
    place = None
    for name in ("numbers", "units", "length"):
        if name in names:
            tell(name)
            chosen.append(choose(data, make_candidate(data, name), place))
            place = chosen[-1].setting.place
    plain = min(chosen, key=lambda one: one.setting.loss, default=None)
    scale = _better_scale(chosen)
    if "kronecker" in names and has_structure(data.summary):
        tell("kronecker")
        found = structured_candidate(data, None if plain is None else plain.setting)
        if found is not None:
            candidate, setting = found
            chosen.append(Chosen(LearnedView.of(candidate, setting), candidate.price, setting))
            del candidate
        del found  # its frames take memory
    look = None
    if plain is not None and len(data.summary.sketch.codes) > LOOK_FROM:
        tell("a first look at other views")
        look = FirstLook.of(data, plain.view.name)
    kernels = [name for name in WIDTHS if name in names]
    place = None
    if look is None or look.speaks_for(kernels, scale):
        for name in kernels:
            tell(name)
            chosen.append(choose(data, make_candidate(data, name, scale), place))
            place = chosen[-1].setting.place
    for name, suits in SIGNALS.items():
        if name in names and suits(data.summary.shape):
            tell(name)
            if look is None or look.speaks_for([name]):
                chosen.append(choose(data, make_candidate(data, name)))
    for name, transformer in transformers.items():
        tell(name)
        place = None
        in_units = []
        for candidate in transformer_candidates(data, name, transformer):
            in_units.append(choose(data, candidate, place))
            place = in_units[-1].setting.place
        chosen.append(min(in_units, key=lambda one: one.setting.loss))
    if not chosen:  # "kronecker" alone, of samples without modes
        chosen.append(choose(data, make_candidate(data, "numbers")))
    return chosen


def choose(data: Data, candidate: Candidate, near: tuple[int, int] | None = None) -> Chosen:
    """A view at its best setting; the search starts `near` a place on the grid, if given."""
    setting = choose_setting(data, candidate, near)
    return Chosen(LearnedView.of(candidate, setting), candidate.price, setting)


def _without_left_out(data: Data, names: Sequence[str]) -> LearnedPool:
    """Linear views at a usual setting, where left-out samples cannot choose one."""
    used = [name for name in ("numbers", "units") if name in names] or ["numbers"]
    nobody = np.empty((0, len(data.log_priors)))
    views = []
    for name in used:
        candidate = make_candidate(data, name)
        frame = candidate.frame
        unit = frame.noise_unit or frame.spread_unit
        b = frame.spread_unit or unit
        setting = Setting(USUAL_RIDGE * unit, b, 1.0, 0.0, nobody, np.empty(0))
        view = LearnedView.of(candidate._replace(judge=frame), setting)
        views.append(replace(view, weight=1 / len(used)))
    chance = float(entr(np.exp(data.log_priors)).sum())
    weights = np.array([view.weight for view in views])
    losses = np.zeros(len(used))
    empty = np.zeros((3, BINS))
    return LearnedPool(used, weights, losses, views, chance, 1.0, 0.0, empty)


def _better_scale(chosen: Sequence[Chosen]) -> Array | None:
    """What numbers are multiplied by before distances: their units, if these serve better."""
    by_name = {one.view.name: one for one in chosen}
    if "units" not in by_name:
        return None
    units = by_name["units"]
    if "numbers" in by_name and by_name["numbers"].setting.loss <= units.setting.loss:
        return None
    assert isinstance(units.view.map, LinearMap)
    return units.view.map.scale


class Pooling(NamedTuple):
    """Weights of views, and what they say of left-out samples together."""

    chosen: list[Chosen]  # all views
    weights: Array  # (V,)
    ratio_weights: Array  # (V,)
    scores: Array  # (n, C), of left-out samples
    ratios: Array  # (n, C), against a stranger, calibrated
    scale: float  # of the calibration
    offset: float

    @classmethod
    def of(cls, chosen: list[Chosen], answers: Answers, strangers: Array | None = None) -> Pooling:
        """The pool of views at their settings, by the samples that were left out.

        Where no strangers are given, left-out samples are trials for other classes: a left-out
        sample is nearly a stranger to these, since its class has no part in their scores but for
        the noise.

        Parameters
        ----------
        chosen : list of V Chosen
            The views.
        answers : Answers
            Of the samples that were left out.
        strangers : ndarray of shape (m, V) or None
            What the views say of strangers. These choose the weights of the ratio, which are
            those of the scores where none are given.
        """
        tables = np.stack([one.setting.scores for one in chosen])
        prices = np.array([one.price for one in chosen])
        weights = pool_weights(list(tables), prices, answers)
        terms = np.stack([one.setting.stranger_term for one in chosen])
        seen = bounded(tables - terms[:, :, None])  # (V, n, C)
        rows = np.arange(len(answers.codes))
        own = seen[:, rows, answers.codes].T
        shares = answers.weights / answers.total
        if strangers is None:
            is_other = np.ones(seen[0].shape, dtype=bool)
            is_other[rows, answers.codes] = False
            n_others = seen.shape[2] - 1
            of_ratio = weights
            others = np.tensordot(weights, seen, 1)[is_other]
            of_others = np.repeat(shares, n_others) / max(n_others, 1)
        else:
            of_others = np.full(len(strangers), 1 / len(strangers))
            of_ratio = ratio_weights(Trials(own, shares, strangers, of_others, answers.total))
            others = strangers @ of_ratio
        targets = own @ of_ratio
        trials = Trials(targets[:, None], shares, others[:, None], of_others, answers.total)
        scale, offset = calibrated_ratio(trials)
        ratios = scale * np.tensordot(of_ratio, seen, 1) + offset
        scores = np.tensordot(weights, tables, 1)
        return cls(chosen, weights, of_ratio, scores, ratios, scale, offset)


def _calibration(answers: Answers, scores: Array) -> tuple[float, Array]:
    """The log loss of left-out samples, and their mean probability and accuracy in bins.

    The bins are (3, BINS): mean probability, accuracy, number of samples.
    """
    P = probabilities(scores, answers.log_priors, floor_of(answers.total))
    own = P[np.arange(len(P)), answers.codes]
    log_loss = float(-(answers.weights @ np.log(own)) / answers.total)
    sure = P.max(axis=1)
    right = P.argmax(axis=1) == answers.codes
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, answers.weights, minlength=BINS)
    safe = np.where(counts > 0, counts, 1.0)
    mean_sure = np.bincount(bins, answers.weights * sure, minlength=BINS) / safe
    mean_right = np.bincount(bins, answers.weights * right, minlength=BINS) / safe
    return log_loss, np.stack([mean_sure, mean_right, counts])


# ── Strangers ────────────────────────────────────────────────────────────────────────────────────


def bounded(ratios: Array) -> Array:
    """Ratios whose negative values grow with the logarithm, as those of a heavy tail do.

    A single number that no training sample had may be worth a million nats to one view. Other
    views matter only if that is bounded.
    """
    against = np.maximum(-ratios, 0.0)
    return np.where(ratios < 0, -EVIDENCE * np.log1p(against / EVIDENCE), ratios)


def _left_out(data: Data, pooling: Pooling, class_groups: Array) -> LeftOut:
    """Ratios of left-out samples for their own classes, and of strangers for all others.

    Of two classes none can be left out: a left-out sample is then a stranger to the other class.
    """
    rows = data.rows
    codes = data.summary.sketch.codes
    columns = data.stranger_columns
    assert columns is not None
    n_classes = len(class_groups)
    ratios = np.full((len(codes), n_classes), np.nan)
    if n_classes == 2:
        ratios[rows] = pooling.ratios
    else:
        for group in range(int(class_groups.max()) + 1):
            is_out = class_groups == group
            held = np.flatnonzero(is_out[codes])
            found = _ratios_of_strangers(data, pooling, is_out)
            ratios[np.ix_(held, columns)] = found[held]
        ratios[rows, codes[rows]] = pooling.ratios[np.arange(len(rows)), codes[rows]]
    seen_ratios = np.full(ratios.shape, np.nan)
    seen_ratios[rows] = pooling.ratios
    scores = np.full(ratios.shape, np.nan)
    scores[rows] = pooling.scores
    return LeftOut(codes, data.weights, ratios, n_classes - 1.0, seen_ratios, scores)


def _ratios_of_strangers(data: Data, pooling: Pooling, is_out: Array) -> Array:
    """Calibrated ratios (n, c) of samples without their classes, by a pool without some classes.

    Class means and noise are those of all other classes. With fewer than `MANY_CLASSES` classes,
    temperatures, weights and calibration are learned without the classes that are out. The maps of
    the views, rho and b stay as they are.
    """
    at = np.flatnonzero(~is_out[data.answers.codes])
    if len(at) and len(is_out) < MANY_CLASSES:
        pooling = _pooling_of_others(data, pooling.chosen, at, is_out)
    ratios: Array | float = 0.0
    for one, weight in zip(pooling.chosen, pooling.ratio_weights, strict=True):
        if weight > 0:
            ratios = ratios + weight * bounded(one.setting.stranger_ratios())
    return np.asarray(pooling.scale * ratios + pooling.offset)


def strangers_by_view(
    data: Data, chosen: Sequence[Chosen], is_out: Array | None = None
) -> Array | None:
    """What each view says of strangers, (m, V), in pairs with classes that are not out.

    None where strangers were not asked for, or there are none.
    """
    columns = data.stranger_columns
    if columns is None or len(data.log_priors) <= 2:
        return None
    is_known = np.ones(len(data.log_priors), dtype=bool) if is_out is None else ~is_out
    rows = np.flatnonzero(is_known[data.summary.sketch.codes])
    pairs = np.ix_(rows, np.flatnonzero(is_known[columns]))
    found = np.stack([one.setting.stranger_ratios()[pairs].ravel() for one in chosen], axis=1)
    found = found[np.isfinite(found).all(axis=1)]
    if len(found) > MOST_TRIALS:
        found = found[np.random.default_rng(0).permutation(len(found))[:MOST_TRIALS]]
    return bounded(found) if len(found) else None


def _pooling_of_others(data: Data, chosen: list[Chosen], at: Array, is_out: Array) -> Pooling:
    """The pool that some left-out samples choose, of the classes that are not out."""
    columns = np.flatnonzero(~is_out)
    log_priors = data.log_priors[columns]
    if not np.isfinite(log_priors).any():
        log_priors = np.zeros(len(columns))
    log_priors = log_priors - np.logaddexp.reduce(log_priors)
    codes = np.searchsorted(columns, data.answers.codes[at])
    answers = Answers(codes, data.answers.weights[at], log_priors)
    others = []
    for one in chosen:
        before = one.setting.temperature
        scores = one.setting.scores[np.ix_(at, columns)] * before
        temperature, loss = best_temperature(scores, answers)
        setting = one.setting._replace(
            temperature=temperature,
            loss=loss,
            scores=scores / temperature,
            stranger_term=one.setting.stranger_term[at] * (before / temperature),
        )
        others.append(one._replace(setting=setting))
    return Pooling.of(others, answers, strangers_by_view(data, others, is_out))


# ── Without samples ──────────────────────────────────────────────────────────────────────────────


def learn_from_moments(counts: Array, means: Array, scatters: Array, priors: Array) -> LearnedPool:
    """The view of numbers as they are, without samples to leave out.

    Its regularization makes classes most likely that are left out of the covariance.

    Parameters
    ----------
    counts, means, scatters : ndarrays of shape (C,), (C, p) and (C, p, p)
        Of the classes.
    priors : ndarray of shape (C,)
        The probabilities of the classes: without left-out samples the loss is that of chance.
    """
    mean = counts @ means / counts.sum()
    sizes = ClassSizes.of(np.empty(0, dtype=np.intp), np.empty(0), counts)
    scatter = scatters.sum(axis=0)
    noise = Noise(None, scatter, np.diagonal(scatter))
    frame = Frame(np.empty((0, len(mean))), means - mean, sizes, noise)
    unit = frame.noise_unit or frame.spread_unit
    rho = _likeliest_ridge(counts, scatters) * unit
    candidate = Candidate("numbers", 0.0, LinearMap(mean), frame, frame)
    nobody = np.empty((0, len(counts)))
    setting = Setting(rho, frame.spread_unit or unit, 1.0, 0.0, nobody, np.empty(0))
    view = LearnedView.of(candidate, setting)
    empty = np.zeros((3, BINS))
    chance = float(entr(priors).sum())
    return LearnedPool(["numbers"], np.ones(1), np.zeros(1), [view], chance, 1.0, 0.0, empty)


def _likeliest_ridge(counts: Array, scatters: Array) -> float:
    """The rho, in units of the noise, under which left-out classes are most likely."""
    freedom = np.maximum(counts - 1, 0.0)
    n_parts = min(PARTS, int((counts > 0).sum()))
    likelihoods = np.zeros(len(RHOS))
    for part in range(n_parts):
        out = np.arange(len(counts)) % n_parts == part
        if freedom[~out].sum() <= 0 or freedom[out].sum() <= 0:
            continue
        training = scatters[~out].sum(axis=0)
        values, axes = np.linalg.eigh(training)
        unit = np.trace(training) / min(len(training), freedom[~out].sum())
        seen = np.einsum("ik,ij,jk->k", axes, scatters[out].sum(axis=0), axes, optimize=True)
        for place, rho in enumerate(RHOS):
            v = (values.clip(0) + rho * unit) / (freedom[~out].sum() * (1 + rho))
            if (v > 0).all():
                likelihoods[place] -= 0.5 * (
                    freedom[out].sum() * np.log(v).sum() + (seen / v).sum()
                )
    return float(RHOS[int(np.argmax(likelihoods))]) if likelihoods.any() else USUAL_RIDGE


def pattern_of(view: LearnedView, counts: Array) -> Array:
    """The covariance of the samples times the weights of each class, (C, p), of a linear view."""
    assert isinstance(view.map, LinearMap)
    found = view.frame(counts).class_scores(view.rho, view.b)
    share = view.weight / view.temperature
    weights = share * (found.weights - found.weights.mean(axis=1, keepdims=True))
    noise = view.axes @ (view.values[:, None] * (view.axes.T @ weights))
    between = (view.means * counts[:, None]).T @ (view.means @ weights)
    return view.map.restored((noise + between).T / counts.sum())


# ── Scoring ──────────────────────────────────────────────────────────────────────────────────────


class Part(NamedTuple):
    """What one map adds to the scores."""

    map: FeatureMap
    weights: Array  # (r, C), of what the map computes first


class RatioPart(NamedTuple):
    """What one view says about a class against a stranger."""

    weight: float
    temperature: float
    map: FeatureMap
    scores: LinearScores  # of the features
    term: StrangerTerm

    def ratios(self, X: Array) -> Array:
        """Log likelihood ratios (n, C) of samples (n, p)."""
        with np.errstate(over="ignore", invalid="ignore"):
            features = self.map.features(X)
            scores = features @ self.scores.weights + self.scores.constants
            term = self.term.of(features, self.map.residual(X))
            found = (scores - term[:, None]) / self.temperature
        found[np.isnan(found)] = -np.inf  # squares that are too large: far from every class
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores of a pool: ``X @ weights + constants``, and parts that are not linear.

    Parameters
    ----------
    weights : ndarray of shape (p, C) or None
        Of the samples themselves, for all views that are linear in them.
    constants : ndarray of shape (C,)
        What is added.
    parts : list of Part
        Of other views.
    centre : ndarray of shape (p,)
        What is subtracted from samples first, so that a large common offset costs no digits.
    ratio_parts : list of RatioPart
        Of all views, for the ratio against a stranger.
    """

    weights: Array | None
    constants: Array
    parts: list[Part]
    centre: Array
    ratio_parts: list[RatioPart]

    @classmethod
    def of(cls, views: Sequence[LearnedView], counts: Array, centre: Array, n: float) -> Scorer:
        """Of the views of a pool, for classes with these counts.

        The ratio against a stranger takes classes to have n samples. It is that of the training
        samples, so that a class which is enrolled changes no ratio of others.
        """
        constants = np.zeros(len(counts))
        linear: Array | None = None
        parts = []
        ratio_parts = []
        for view in views:
            frame = view.frame(counts)
            found = frame.class_scores(view.rho, view.b)
            share = view.weight / view.temperature
            weights, more = view.map.folded(share * found.weights)
            constants += share * found.constants + more
            if isinstance(view.map, LinearMap):
                linear = weights if linear is None else linear + weights
            elif view.weight > 0:
                parts.append(Part(view.map, weights))
            if view.ratio_weight > 0:
                term = frame.stranger_term(n, view.rho, view.b)
                part = RatioPart(view.ratio_weight, view.temperature, view.map, found, term)
                ratio_parts.append(part)
        if linear is not None:
            constants = constants + centre @ linear
        return cls(linear, constants, parts, centre, ratio_parts)

    def scores(self, X: Array) -> Array:
        """Scores (n, C) of samples (n, p)."""
        found = np.tile(self.constants, (len(X), 1))
        if self.weights is not None:
            found += (X - self.centre) @ self.weights
        for part in self.parts:
            found += part.map.raw(X) @ part.weights
        return found

    def ratios(self, X: Array) -> Array:
        """Ratios (n, C) against a stranger, not calibrated, of samples (n, p)."""
        found = np.zeros((len(X), len(self.constants)))
        for part in self.ratio_parts:
            found += part.weight * bounded(part.ratios(X))
        return found
