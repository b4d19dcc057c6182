"""ONNX graphs of fitted models, to serve them where there is no Python.

A graph takes float32 samples of shape (n, I_1, ..., I_K) with any n, and gives float32 numbers.
Its nodes are of the plainest kind, so that any runtime knows them.
"""

from __future__ import annotations

import json
import os
from functools import singledispatch
from importlib.metadata import version
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from sklearn.utils.validation import check_is_fitted

from tenfold.classifiers.classifier import ClassSpecificClassifier
from tenfold.classifiers.members import known_classes
from tenfold.classifiers.probabilistic import ProbabilisticLDA, scorer_of
from tenfold.classifiers.verifier import ClassSpecificVerifier
from tenfold.extras import require_extra
from tenfold.gaussian.formula import StrangerTerm
from tenfold.gaussian.maps import LengthMap, LinearMap, RBFMap, TransformerMap
from tenfold.gaussian.model import EVIDENCE, RatioPart
from tenfold.gaussian.signals import (
    COMPASS,
    KERNELS,
    ROOT_FROM,
    FilterMap,
    GradientMap,
    Side,
    filters_of,
    gap_sizes,
    image_modes,
    long_mode,
    seen_places,
)
from tenfold.linalg.algebra import Array
from tenfold.methods.base import TensorProjector
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.methods.kernelcsda import KernelCSDA
from tenfold.methods.saving import sample_shape_of, steps_of
from tenfold.preprocessing import CovariateRemover, ModeScaler
from tenfold.preprocessing.step import Step
from tenfold.serialization.atomic_write import write_whole
from tenfold.statistics.mode_scaling import Scaling

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

OPSET, IR_VERSION = 18, 8  # of 2022: new enough for all we need, old enough for most runtimes


class Value:
    """What a node of a graph gives, with operators as NumPy has them."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def to(self, kind: str, *others: Operand, **attributes: Attribute) -> Value:
        """What a node of some kind makes of it."""
        return self.graph.node(kind, self, *others, **attributes)

    def __add__(self, other: Operand) -> Value:
        return self.to("Add", other)

    def __sub__(self, other: Operand) -> Value:
        return self.to("Sub", other)

    def __mul__(self, other: Operand) -> Value:
        return self.to("Mul", other)

    def __truediv__(self, other: Operand) -> Value:
        return self.to("Div", other)

    def __matmul__(self, other: Operand) -> Value:
        return self.to("MatMul", other)

    def __neg__(self) -> Value:
        return self.to("Neg")

    def flat(self) -> Value:
        """Samples as vectors."""
        return self.to("Flatten", axis=1)

    def square_lengths(self) -> Value:
        """Sums of squares of vectors, as (n, 1)."""
        return self.to("ReduceSumSquare", [1], keepdims=1)

    def times(self, matrices: list[Array]) -> Value:
        """Tensors multiplied by one matrix per mode."""
        found = self
        turn = [0, *range(2, len(matrices) + 1), 1]  # first mode to the end
        for W in matrices:
            found = (found.to("Transpose", perm=turn) if len(matrices) > 1 else found) @ W
        return found


Operand = Value | npt.ArrayLike  # of a node: what another one gives, or numbers
Attribute = int | list[int]  # of a node, such as an axis


class Graph:
    """Nodes, constants and outputs, by the names they get."""

    def __init__(self, onnx: ModuleType) -> None:
        self.onnx = onnx
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.outputs: list[ValueInfoProto] = []
        self.kernels: dict[int, Value] = {}
        self.beside: list[ValueInfoProto] = []  # inputs besides the samples
        self.samples = self.cast(Value(self, "X"), np.float64)
        self.shape: tuple[int, ...] = ()

    def fold(self, shape: tuple[int, ...]) -> None:
        """Give the samples a shape; the runtime sees that it is the one they have."""
        if self.shape not in ((), shape):
            self.samples = self.samples.to("Reshape", [-1, *shape])
        self.shape = shape

    def node(self, kind: str, *inputs: Operand, **attributes: Attribute) -> Value:
        """Add a node with one output, which is returned; arrays and numbers become constants."""
        names = [one.name if isinstance(one, Value) else self._constant(one) for one in inputs]
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, names, [name], name, **attributes))
        return Value(self, name)

    def _constant(self, value: npt.ArrayLike) -> str:
        """Add an array or a number, floats in double precision; return its name."""
        array = np.asarray(value)
        return self._kept(array.astype(float) if array.dtype.kind == "f" else array)

    def _kept(self, array: Array) -> str:
        """Add an array as it is; return its name."""
        name = f"constant_{len(self.constants)}"
        array = array.astype(object) if array.dtype.kind == "U" else array
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, source: Value, dtype: npt.DTypeLike) -> Value:
        """Add a cast, which does nothing where the dtype is the same."""
        return source.to("Cast", to=self._kind(dtype))

    def output(
        self,
        name: str,
        source: Value,
        shape: tuple[int, ...] = (),
        dtype: npt.DTypeLike = np.float32,
    ) -> None:
        """Let what a node gives leave the graph as (n, *shape)."""
        source = self.cast(source, dtype) if dtype is np.float32 else source
        helper = self.onnx.helper
        self.nodes.append(helper.make_node("Identity", [source.name], [name], name))
        kind = self._kind(dtype)
        self.outputs.append(helper.make_tensor_value_info(name, kind, ["n", *shape]))

    def input(self, name: str, size: int) -> Value:
        """Let float32 numbers (n, size) come in beside the samples."""
        info = self.onnx.helper.make_tensor_value_info(name, self._kind(np.float32), ["n", size])
        self.beside.append(info)
        return self.cast(Value(self, name), np.float64)

    def _kind(self, dtype: npt.DTypeLike) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def label(self, classes: Array, place: Value) -> None:
        """Let the labels with these places leave the graph; of equals the first was taken."""
        kind = object if classes.dtype.kind == "U" else classes.dtype
        labels = Value(self, self._kept(classes))
        self.output("label", self.node("Gather", labels, place), dtype=kind)

    def finished(self, name: str, shape: tuple[int, ...], told: dict[str, object]) -> ModelProto:
        """The model with its input and metadata."""
        helper = self.onnx.helper
        sample = helper.make_tensor_value_info("X", self.onnx.TensorProto.FLOAT, ["n", *shape])
        graph = helper.make_graph(
            self.nodes, name, [sample, *self.beside], self.outputs, self.constants
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        model.producer_name, model.producer_version = "tenfold", told["tenfold"]
        told = {"method": name, "sample_shape": list(shape), **told}
        helper.set_model_props(model, {key: json.dumps(value) for key, value in told.items()})
        return model


OUTPUTS = {ModeScaler: "scaled", CovariateRemover: "corrected"}


def to_onnx(estimator: object, path: str | os.PathLike[str]) -> None:
    """Write a fitted model as an ONNX graph.

    The input is ``X``, float32 samples of shape (n, I_1, ..., I_K). The outputs are

    - of a projector ``projected``, what `transform` gives, and of a class-specific one also
      ``scores`` of shape (n,), what `decision_function` gives;
    - of a `ClassSpecificVerifier` ``scores``, as it compares them with its threshold, and
      ``accepted``, booleans that say which reach it, of shape (n,);
    - of a `ClassSpecificClassifier` ``distances`` of shape (n, C) and ``label`` of shape (n,);
    - of a `ProbabilisticLDA` ``log_likelihood_ratio``, ``scores`` (what `decision_function` gives,
      but with a column per class for two classes, too) and ``probabilities``, each of shape (n, C),
      and ``label``. A view that is a transformer of another library has no graph;
    - of `ModeScaler` ``scaled``, `CovariateRemover` ``corrected``;
    - of a scikit-learn pipeline of these steps and one of the others, those of its last step.

    Covariates that come beside the samples are a second input, ``covariates``, of shape (n, q).
    The metadata of the graph say method, classes and sample shape, as JSON. In between the graph
    computes in double precision: it gives what NumPy gives, to the rounding of the outputs.

    Parameters
    ----------
    estimator : projector, verifier, bank, ProbabilisticLDA, step or pipeline of these
        The fitted model. It is not changed. In a pipeline all steps but the last are steps of
        `tenfold.preprocessing`; a `GaussianImputer` has no graph.
    path : path-like
        Where to, such as "s7.onnx"; written whole or not at all.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import onnxruntime
    >>> from sklearn.datasets import load_digits
    >>> from tenfold import MCSDA, ClassSpecificClassifier
    >>> from tenfold.files.onnx_export import to_onnx
    >>> X, y = load_digits().images.astype(np.float32), load_digits().target
    >>> bank = ClassSpecificClassifier(MCSDA(ranks=(5, 5))).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.onnx")
    ...     to_onnx(bank, path)
    ...     session = onnxruntime.InferenceSession(path)
    >>> distances, label = session.run(None, {"X": X})
    >>> bool((label == bank.predict(X)).all())
    True
    """
    with require_extra("ONNX export needs onnx", "onnx"):
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    graph = Graph(onnx)
    steps = steps_of(estimator)
    *before, last = steps
    for step in before:
        change(step, graph)
    draw(last, graph)
    model = graph.finished(type(last).__name__, sample_shape_of(steps[0]), _told(last))
    onnx.checker.check_model(model, full_check=True)
    write_whole(path, model.SerializeToString())


def _told(estimator: object) -> dict[str, object]:
    """What the metadata say, beside the shape."""
    told: dict[str, object] = {"tenfold": version("tenfold")}
    if isinstance(estimator, Step):
        return told
    told["classes"] = known_classes(estimator).tolist()
    if isinstance(estimator, ClassSpecificProjector | ClassSpecificVerifier):
        told["positive"] = np.asarray(estimator.positive_label_).tolist()
    if isinstance(estimator, ClassSpecificVerifier):
        told["threshold"] = estimator.threshold_
    return told


# ── What a step makes of samples ────────────────────────────────────────────────────────────────


@singledispatch
def change(step: object, graph: Graph) -> None:
    """Replace the samples of a graph by what a step makes of them."""
    raise ValueError(
        f"{type(step).__name__} has no ONNX form here; of a pipeline export what is behind it, as "
        "with pipeline[1:], and feed that with what this step gives; the steps of "
        "tenfold.preprocessing have one, but for GaussianImputer"
    )


@change.register
def _(scaler: ModeScaler, graph: Graph) -> None:
    scaling = scaler.scaling()
    graph.fold(scaler.sample_shape_)
    if scaling.per_sample:
        graph.samples = _scaled_by_itself(graph, scaling)
    else:
        graph.samples = (graph.samples - scaling.mean) / scaling.total_spread
    graph.shape = scaling.shape_after(scaler.sample_shape_)
    if scaler.output == "flat":
        graph.fold((prod(graph.shape),))


@change.register
def _(remover: CovariateRemover, graph: Graph) -> None:
    """Covariates are the last numbers of rows, or a second input."""
    check_is_fitted(remover, "slopes_")
    graph.fold(remover.sample_shape_)
    q = len(remover.slopes_)
    if not q:
        return
    size = remover.slopes_[0].size
    flat = graph.samples.flat()
    if remover.last is None:
        X = flat
        Z = graph.input("covariates", q)
        shape = remover.sample_shape_
    else:
        X = flat.to("Slice", [0], [size], [1])
        Z = flat.to("Slice", [size], [size + q], [1])
        shape = (size,)
    added = (Z - remover.covariate_means_) @ remover.slopes_.reshape(q, -1)
    graph.samples = X - added
    graph.shape = (size,)
    graph.fold(shape)


def _scaled_by_itself(graph: Graph, scaling: Scaling) -> Value:
    X = graph.samples
    axes = list(scaling.axes)
    size = prod(graph.shape[axis - 1] for axis in axes)
    mean = X.to("ReduceMean", axes, keepdims=1)
    deviations = X - mean
    variance = (deviations * deviations).to("ReduceMean", axes, keepdims=1)
    rounding = size * np.finfo(float).eps if size > 1 else np.inf
    varies = variance.to("Sqrt").to("Greater", (mean * rounding).to("Abs"))
    deviations = varies.to("Where", deviations, 0.0)
    variance = varies.to("Where", variance, 0.0)
    typical = scaling.pseudocount * np.square(scaling.spread) / (size + scaling.pseudocount)
    square = variance * (size / (size + scaling.pseudocount)) + typical
    scale = square.to("Greater", 0.0).to("Where", square.to("Sqrt"), 1.0)
    parts = [deviations / scale]
    if scaling.keep in ("mean", "both"):
        unit = np.where(scaling.mean_spread > 0, scaling.mean_spread, 1.0)
        parts.append((mean - scaling.mean) / unit)
    if scaling.keep in ("spread", "both"):
        unit = np.where(scaling.spread > 0, scaling.spread, 1.0)
        parts.append((scale / unit).to("Log"))
    return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=axes[0])


# ── What a model says of samples ────────────────────────────────────────────────────────────────


@singledispatch
def draw(estimator: object, graph: Graph) -> None:
    """Let what a model says of samples leave the graph."""
    raise ValueError(
        f"{type(estimator).__name__} has no ONNX form; expected a projector, "
        "ClassSpecificVerifier, ClassSpecificClassifier, ProbabilisticLDA, a step or a "
        "pipeline of these (of a search its best_estimator_)"
    )


@draw.register
def _(step: Step, graph: Graph) -> None:
    change(step, graph)
    graph.output(OUTPUTS[type(step)], graph.samples, graph.shape)


@draw.register
def _(projector: TensorProjector, graph: Graph) -> None:
    check_is_fitted(projector, "projections_")
    graph.fold(projector.sample_shape_)
    Y = projected(graph, projector, projector._centre())
    shape = projector.ranks_
    if projector.output == "flat":
        Y = Y.flat()
        shape = (prod(shape),)
    graph.output("projected", Y, shape)
    if isinstance(projector, ClassSpecificProjector):
        graph.output("scores", _scores(graph, projector))


@draw.register
def _(verifier: ClassSpecificVerifier, graph: Graph) -> None:
    check_is_fitted(verifier, "projector_")
    graph.fold(verifier.sample_shape_)
    inside = verifier.projector_
    if isinstance(inside, ProbabilisticLDA):
        positive = inside.classes_.tolist().index(verifier.positive_label_)
        scores = _against_everyone(graph, inside, positive)
    else:
        scores = _scores(graph, inside)
    graph.output("scores", scores)
    graph.output("accepted", scores.to("GreaterOrEqual", verifier.threshold_), dtype=np.bool_)


@draw.register
def _(bank: ClassSpecificClassifier, graph: Graph) -> None:
    check_is_fitted(bank, "projectors_")
    if bank.classifier is not None:
        raise ValueError(
            f"classifier={bank.classifier!r} is not part of tenfold, so it has no ONNX form here; "
            "use classifier=None, or export it on its own (skl2onnx) behind the distances"
        )
    graph.fold(bank.sample_shape_)
    members, is_ratio = bank.projectors_, bank.projectors_[0]._has_ratio
    columns = [(_log_ratio if is_ratio else _distance)(graph, member) for member in members]
    found = graph.node("Concat", *columns, axis=1)
    if not is_ratio and bank.normalize:
        found = found / (bank.other_spreads_ if bank.normalize == "others" else bank.spreads_)
    elif is_ratio and not bank.normalize:
        found = -found
    elif is_ratio:  # as `distances_of_classes` has it
        typical, even = np.stack([member.anchors_ for member in members]).T
        squares = -(found - even) / np.where(even > typical, even - typical, 1.0)
        found = squares.to("Abs").to("Sqrt") * squares.to("Sign")
    graph.output("distances", found, (len(bank.classes_),))
    graph.label(bank.classes_, found.to("ArgMin", axis=1, keepdims=0))


@draw.register
def _(model: ProbabilisticLDA, graph: Graph) -> None:
    """Scores of a pool of views, the ratio against a stranger, and what follows from them."""
    check_is_fitted(model, "pool_")
    graph.fold(model.sample_shape_)
    shape = (len(model.classes_),)
    scores, ratios = _scores_and_ratios(graph, model)
    graph.output("log_likelihood_ratio", ratios, shape)
    log_priors = model.log_priors()
    scores = scores + log_priors
    graph.output("scores", scores, shape)
    floor = float(model.pool_["floor"])
    possible = np.isfinite(log_priors)
    equal = floor * possible / possible.sum()
    graph.output("probabilities", scores.to("Softmax", axis=1) * (1 - floor) + equal, shape)
    graph.label(model.classes_, scores.to("ArgMax", axis=1, keepdims=0))


# ── In a subspace ───────────────────────────────────────────────────────────────────────────────


def projected(graph: Graph, projector: TensorProjector, centre: Array | None) -> Value:
    """Samples about a centre, projected (eq. 6), as (n, r_1, ..., r_K)."""
    X = graph.samples
    if isinstance(projector, KernelCSDA):
        if id(projector.basis_) not in graph.kernels:  # the members of a bank share it
            graph.kernels[id(projector.basis_)] = _coordinates(X.flat(), projector)
        X = graph.kernels[id(projector.basis_)]
    X = X if centre is None else X - centre
    return (X.flat() if projector._flattens else X).times(projector.projections_)


def _coordinates(X: Value, model: KernelCSDA) -> Value:
    """Coordinates of the samples in the space of a kernel."""
    points = model.landmarks_
    if model.kernel == "rbf":
        origin = points.mean(axis=0)
        X = X - origin
        points = points - origin
        squares = X.square_lengths() + (points**2).sum(axis=1) - X @ (2 * points.T)
        return (-(squares * model.gamma_)).to("Exp") @ model.basis_
    if model.kernel == "linear":
        return X @ points.T @ model.basis_
    if model.kernel == "poly":
        K = (X @ points.T * model.gamma_ + float(model.coef0)).to("Pow", float(model.degree))
        return K @ model.basis_
    raise ValueError(
        f"kernel={model.kernel!r} has no ONNX form here; expected 'rbf', 'poly' or 'linear'"
    )


def _distance(graph: Graph, projector: ClassSpecificProjector) -> Value:
    """Distance to the positive mean in the subspace, as (n, 1)."""
    return projected(graph, projector, projector.mean_).flat().square_lengths().to("Sqrt")


def _log_ratio(graph: Graph, projector: ClassSpecificProjector) -> Value:
    """The log likelihood ratio of the class and everything else, as (n, 1)."""
    Y = projected(graph, projector, projector.other_mean_).flat()
    found = Y @ projector.contrasts_[:, :1] + float(projector.offset_)
    if projector.contrasts_.shape[1] == 1:
        return found
    return found - (Y @ projector.contrasts_[:, 1:]).square_lengths() * 0.5


def _scores(graph: Graph, projector: ClassSpecificProjector) -> Value:
    """The log likelihood ratio, or minus that distance, as (n,)."""
    ratio = projector._has_ratio
    found = _log_ratio(graph, projector) if ratio else -_distance(graph, projector)
    return found.to("Reshape", [-1])


# ── Gaussian classes ────────────────────────────────────────────────────────────────────────────


def _scores_and_ratios(graph: Graph, model: ProbabilisticLDA) -> tuple[Value, Value]:
    """The scores of all classes, without priors, and their ratios against a stranger, (n, C)."""
    scorer = scorer_of(model)
    maps = [part.map for part in scorer.parts] + [part.map for part in scorer.ratio_parts]
    found = {key: view(one, graph) for key, one in {id(one): one for one in maps}.items()}
    parts = [found[id(part.map)].raw @ part.weights for part in scorer.parts]
    if scorer.weights is not None:
        parts.append((graph.samples.flat() - scorer.centre) @ scorer.weights)
    scores = parts[0] + scorer.constants
    for part in parts[1:]:
        scores = scores + part
    columns = [
        _bounded(found[id(part.map)].ratios(part)) * part.weight for part in scorer.ratio_parts
    ]
    ratios = columns[0]
    for column in columns[1:]:
        ratios = ratios + column
    scale, offset = model.pool_["ratio"]
    return scores, ratios * float(scale) + float(offset)


def _against_everyone(graph: Graph, model: ProbabilisticLDA, positive: int) -> Value:
    """The log likelihood ratio of one class against someone else, (n,); as the verifier has it."""
    scores, ratios = _scores_and_ratios(graph, model)
    n_classes = len(model.classes_)
    others = np.delete(np.arange(n_classes), positive)
    if n_classes == 2:
        own = graph.node("Gather", scores, [positive], axis=1)
        return (own - graph.node("Gather", scores, others, axis=1)).to("Reshape", [-1])
    own = graph.node("Gather", ratios, [positive], axis=1)
    of_others = graph.node("Gather", ratios, others, axis=1)
    largest = of_others.to("ReduceMax", [1], keepdims=1).to("Max", 0.0)  # 0 is a stranger's
    total = (of_others - largest).to("Exp").to("ReduceSum", [1], keepdims=1)
    total = total + (-largest).to("Exp")
    found = own - largest - total.to("Log") + float(np.log(n_classes))
    return found.to("Reshape", [-1])


# ── Views of Gaussian classes ───────────────────────────────────────────────────────────────────


class View(NamedTuple):
    """What a view makes of the samples of a graph."""

    raw: Value  # what is computed first, (n, r)
    features: Value  # (n, q)
    outside: Value | None  # squared lengths outside of the features, (n, 1), as kernels have them

    def ratios(self, part: RatioPart) -> Value:
        """Log likelihood ratios against a stranger, (n, C)."""
        scores = self.features @ part.scores.weights + part.scores.constants
        return (scores - self.stranger(part.term)) / part.temperature

    def stranger(self, term: StrangerTerm) -> Value:
        """The quadratic term of the ratio against a stranger, (n, 1)."""
        found = (self.features * self.features) @ term.energy[:, None]
        if self.outside is not None:
            found = found + self.outside * term.outside
        for axes, factors in term.parts:
            turn = axes.turn
            if axes.rows is not None:
                turn = (axes.rows * axes.metric).T @ turn
            along = self.features @ turn
            found = found + (along * along) @ factors[:, None]
        return found


def _bounded(ratios: Value) -> Value:
    """As `tenfold.gaussian.model.bounded`."""
    against = (-ratios).to("Max", 0.0)
    bounded = (against / EVIDENCE + 1.0).to("Log") * -EVIDENCE
    return ratios.to("Max", 0.0) + bounded


@singledispatch
def view(feature_map: object, graph: Graph) -> View:
    """What a map makes of the samples of a graph."""
    raise ValueError(f"views of {type(feature_map).__name__} have no ONNX form")


@view.register
def _(linear: LinearMap, graph: Graph) -> View:
    flat = graph.samples.flat()
    features = flat - linear.mean
    if linear.scale is not None:
        features = features * linear.scale
    if linear.factors:
        tensors = features.to("Reshape", [-1, *linear.shape])
        features = tensors.times(linear.factors).flat()
    return View(flat, features, None)


@view.register
def _(length: LengthMap, graph: Graph) -> View:
    deviations = graph.samples.flat() - length.mean
    largest = deviations.to("Abs").to("ReduceMax", [1], keepdims=1)
    deviations = deviations / largest.to("Greater", 0.0).to("Where", largest, 1.0)
    lengths = deviations.square_lengths().to("Sqrt")
    raw = deviations / lengths.to("Greater", 0.0).to("Where", lengths, 1.0)
    return View(raw, raw - length.direction, None)


@view.register
def _(rbf: RBFMap, graph: Graph) -> View:
    points = rbf.landmarks
    X = (graph.samples.flat() - rbf.mean) * rbf.scale
    squares = X.square_lengths() + (points**2).sum(axis=1) - X @ (2 * points.T)
    raw = (-(squares.to("Max", 0.0) / rbf.width)).to("Exp")
    back = solve_triangular(rbf.root, np.eye(len(rbf.root)), lower=True)
    coordinates = raw @ back.T
    outside = (-coordinates.square_lengths() + 1.0).to("Max", 0.0)
    return View(raw, coordinates - rbf.centre, outside)


@view.register
def _(filters: FilterMap, graph: Graph) -> View:
    """As `FilterMap.raw`."""
    modes = list(range(len(filters.shape)))
    mode = long_mode(filters.shape)
    length = filters.shape[mode]
    last = [*(one for one in modes if one != mode), mode]
    samples = graph.samples - filters.shift.reshape(filters.shape)
    series = samples.to("Transpose", perm=[0, *(one + 1 for one in last)])
    series = series.to("Reshape", [0, -1, length])
    shares = []
    for place, gap in enumerate(gap_sizes(length)):
        own = slice(len(KERNELS) * place, len(KERNELS) * (place + 1))
        seen = series.to("Gather", seen_places(length, gap), axis=2)  # (n, channels, 9, t)
        seen = seen.to("Reshape", [0, filters.channels.shape[1] * 9, -1])
        answers = graph.node("MatMul", filters_of(filters.channels[own]), seen)
        for offset in filters.offsets[own].T:
            above = (answers + offset[:, None]).to("Max", 0.0).to("Min", 1.0)
            shares.append(above.to("ReduceMean", [2], keepdims=0))
    raw = graph.node("Concat", *shares, axis=1)
    return View(raw, raw - filters.mean, None)


@view.register
def _(gradients: GradientMap, graph: Graph) -> View:
    """As `GradientMap.raw`."""
    modes = image_modes(gradients.shape)
    others = [mode for mode in range(len(gradients.shape)) if mode not in modes]
    height, width = [gradients.shape[mode] for mode in modes]
    samples = graph.samples - gradients.shift.reshape(gradients.shape)
    images = samples.to("Transpose", perm=[0, *(mode + 1 for mode in (*others, *modes))])
    images = images.to("Reshape", [0, -1, height, width])
    vertical = Side.of(height)
    horizontal = Side.of(width)
    down = graph.node("MatMul", vertical.rise, images)
    right = images @ horizontal.rise.T
    cells = []
    for sine, cosine in COMPASS:
        rise = (down * float(sine) + right * float(cosine)).to("Max", 0.0)
        cell = graph.node("MatMul", vertical.fine, rise) @ horizontal.fine.T
        cells.append(cell.to("Unsqueeze", [2]))
    fine = graph.node("Concat", *cells, axis=2)  # (n, channels, directions, a, b)
    coarse = graph.node("MatMul", vertical.coarse, fine) @ horizontal.coarse.T
    parts = []
    for part, of_rows, of_columns in (
        (fine, vertical.around_fine, horizontal.around_fine),
        (coarse, vertical.around_coarse, horizontal.around_coarse),
    ):
        unit = part.to("ReduceMax", [1, 2, 3, 4], keepdims=1).to("Max", gradients.level)
        part = part / unit
        squares = (part * part).to("ReduceSum", [2], keepdims=1)
        around = graph.node("MatMul", of_rows, squares) @ of_columns.T
        level = unit.to("Reciprocal") * gradients.level
        part = part / (around + level * level).to("Sqrt")
        parts.append((part + ROOT_FROM).to("Sqrt").flat())
    raw = graph.node("Concat", *parts, axis=1)
    return View(raw, raw - gradients.mean, None)


@view.register
def _(transformed: TransformerMap, graph: Graph) -> View:
    inside = transformed.transformer
    if not isinstance(inside, TensorProjector):
        raise ValueError(
            f"view {transformed.name!r} is a {type(inside).__name__}, which has no ONNX form here; "
            "fit with views='auto', or with projectors of tenfold, or export the model in two parts"
        )
    raw = projected(graph, inside, inside._centre()).flat()
    return View(raw, (raw - transformed.mean) * transformed.scale, None)
