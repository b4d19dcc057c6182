"""ONNX graphs of fitted models, to serve them where there is no Python.

A graph takes float32 samples of shape (n, I_1, ..., I_K) with any n, and gives float32 numbers.
Its nodes are of the plainest kind, so that any runtime knows them.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from math import prod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.members import known_classes
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.mathematics.mode_scaling import Scaling
from tenfold.mathematics.two_covariances import ClassLikelihood, KnownClasses
from tenfold.methods.base import ClassSpecificProjector, TensorProjector
from tenfold.methods.kernelcsda import KernelCSDA
from tenfold.preprocessing import Blocks, CovariateRemover, ModeScaler
from tenfold.preprocessing.step import Step
from tenfold.system.atomic_write import write_whole
from tenfold.validation.parameters import check_option

OPSET, IR_VERSION = 18, 8  # of 2022: new enough for all we need, old enough for most runtimes


class Graph:
    """Nodes, constants and outputs, by the names they get."""

    def __init__(self, onnx: Any, dtype: type[np.floating]) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self.kernels: dict[int, str] = {}
        self.beside: list[Any] = []  # inputs besides the samples
        self.samples = self.cast("X", dtype)
        self.shape: tuple[int, ...] = ()

    def fold(self, shape: tuple[int, ...]) -> None:
        """Give the samples a shape; the runtime sees that it is the one they have."""
        if self.shape not in ((), shape):
            whole = self.constant(np.array([-1, *shape]))
            self.samples = self.node("Reshape", [self.samples, whole])
        self.shape = shape

    def node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node with one output; return the name of it."""
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def cast(self, source: str, dtype: Any) -> str:
        """Add a cast, which does nothing where the dtype is the same."""
        return self.node("Cast", [source], to=self._kind(dtype))

    def constant(self, value: Any) -> str:
        """Add an array; return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def numbers(self, value: Any) -> str:
        """Add an array in the precision of the graph."""
        return self.constant(np.asarray(value, dtype=self.dtype))

    def output(
        self, name: str, source: str, shape: tuple[int, ...] = (), dtype: Any = np.float32
    ) -> None:
        """Let what a node gives leave the graph as (n, *shape)."""
        kind = self._kind(dtype)
        source = self.cast(source, dtype) if dtype is np.float32 else source
        self.nodes.append(self.onnx.helper.make_node("Identity", [source], [name], name))
        info = self.onnx.helper.make_tensor_value_info(name, kind, ["n", *shape])
        self.outputs.append(info)

    def input(self, name: str, size: int) -> str:
        """Let float32 numbers (n, size) come in beside the samples."""
        info = self.onnx.helper.make_tensor_value_info(name, self._kind(np.float32), ["n", size])
        self.beside.append(info)
        return self.cast(name, self.dtype)

    def _kind(self, dtype: Any) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def projected(self, projector: TensorProjector, centre: Array | None) -> str:
        """Samples about a centre, projected (eq. 6), as (n, r_1, ..., r_K)."""
        X = self.samples
        if isinstance(projector, KernelCSDA):
            if id(projector.basis_) not in self.kernels:  # the members of a bank share it
                self.kernels[id(projector.basis_)] = self.coordinates(projector)
            X = self.kernels[id(projector.basis_)]
        X = X if centre is None else self.about(X, centre)
        if projector._flattens:
            X = self.node("Flatten", [X], axis=1)
        return self.multiplied(X, projector.projections_)

    def multiplied(self, X: str, matrices: list[Array]) -> str:
        """Tensors multiplied by one matrix per mode."""
        turn = [0, *range(2, len(matrices) + 1), 1]  # first mode to the end; K turns are none
        for W in matrices:
            X = self.node("Transpose", [X], perm=turn) if len(matrices) > 1 else X
            X = self.node("MatMul", [X, self.numbers(W)])
        return X

    def coordinates(self, model: KernelCSDA) -> str:
        """Coordinates of the samples in the space of a kernel."""
        X, points = self.node("Flatten", [self.samples], axis=1), model.landmarks_
        gamma = self.numbers(model.gamma_)
        if model.kernel == "rbf":
            origin = points.mean(axis=0)
            X, points = self.about(X, origin), points - origin
            axis = self.constant(np.array([1]))
            squares = self.node("ReduceSumSquare", [X, axis], keepdims=1)
            squares = self.node("Add", [squares, self.numbers((points**2).sum(axis=1))])
            squares = self.node("Sub", [squares, self.times(X, 2 * points.T)])
            K = self.node("Exp", [self.node("Neg", [self.node("Mul", [squares, gamma])])])
        elif model.kernel in ("linear", "poly"):
            K = self.times(X, points.T)
            if model.kernel == "poly":
                K = self.node("Add", [self.node("Mul", [K, gamma]), self.numbers(model.coef0)])
                K = self.node("Pow", [K, self.numbers(model.degree)])
        else:
            raise ValueError(
                f"kernel={model.kernel!r} has no ONNX form here; expected 'rbf', 'poly' or 'linear'"
            )
        return self.times(K, model.basis_)

    def about(self, X: str, centre: Array) -> str:
        """Samples minus a centre."""
        near = centre.astype(self.dtype)
        X = self.node("Sub", [X, self.numbers(near)])
        if (near == centre).all():
            return X
        # What a float32 mean lacks, so that data far from zero lose no digits.
        return self.node("Sub", [X, self.numbers(centre - near)])

    def times(self, X: str, matrix: Array) -> str:
        """Samples times a matrix."""
        return self.node("MatMul", [X, self.numbers(matrix)])

    def label(self, classes: Array, place: str) -> None:
        """Let the labels with these places leave the graph; of equals the first was taken."""
        classes = classes.astype(object) if classes.dtype.kind == "U" else classes
        label = self.node("Gather", [self.constant(classes), place])
        self.output("label", label, dtype=classes.dtype)

    def distance(self, projector: ClassSpecificProjector) -> str:
        """Distance to the positive mean in the subspace, as (n, 1)."""
        Y = self.node("Flatten", [self.projected(projector, projector.mean_)], axis=1)
        squared = self.node("ReduceSumSquare", [Y, self.constant(np.array([1]))], keepdims=1)
        return self.node("Sqrt", [squared])

    def log_ratio(self, projector: ClassSpecificProjector) -> str:
        """The log likelihood ratio of the class and everything else, as (n, 1)."""
        Y = self.node("Flatten", [self.projected(projector, projector.other_mean_)], axis=1)
        linear = self.times(Y, projector.contrasts_[:, :1])
        found = self.node("Add", [linear, self.numbers(projector.offset_)])
        if projector.contrasts_.shape[1] == 1:
            return found
        rest, axis = self.times(Y, projector.contrasts_[:, 1:]), self.constant(np.array([1]))
        squares = self.node("ReduceSumSquare", [rest, axis], keepdims=1)
        return self.node("Sub", [found, self.node("Mul", [squares, self.numbers(0.5)])])

    def scores(self, projector: ClassSpecificProjector) -> str:
        """The log likelihood ratio, or minus that distance, as (n,)."""
        flat = self.constant(np.array([-1]))
        if projector._has_ratio:
            return self.node("Reshape", [self.log_ratio(projector), flat])
        return self.node("Neg", [self.node("Reshape", [self.distance(projector), flat])])

    def finished(self, name: str, shape: tuple[int, ...], told: dict[str, Any]) -> Any:
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


OUTPUTS = {ModeScaler: "scaled", CovariateRemover: "corrected", Blocks: "features"}


def to_onnx(estimator: Any, path: str | os.PathLike[str], *, precision: str = "double") -> None:
    """Write a fitted model as an ONNX graph.

    The input is ``X``, float32 samples of shape (n, I_1, ..., I_K). The outputs are

    - of a projector ``projected``, what `transform` gives, and of a class-specific one also
      ``scores`` of shape (n,), what `decision_function` gives;
    - of a `ClassSpecificVerifier` ``scores``, those of its projector, and ``accepted``, booleans
      that say which reach the threshold, of shape (n,);
    - of a `ClassSpecificClassifier` ``distances`` of shape (n, C) and ``label`` of shape (n,);
    - of a `ProbabilisticLDA` ``log_likelihood_ratio``, ``scores`` (these plus the logarithms of the
      priors) and ``probabilities``, each of shape (n, C), and ``label``.
      Scores have a column per class for two classes, too;
    - of `ModeScaler` ``scaled``, `CovariateRemover` ``corrected``, `Blocks` ``features``;
    - of a scikit-learn pipeline of these steps and one of the others, those of its last step.

    Covariates that come beside the samples are a second input, ``covariates``, of shape (n, q).
    The metadata of the graph say method, classes and sample shape, as JSON.

    Parameters
    ----------
    estimator : projector, verifier, bank, ProbabilisticLDA, step or pipeline of these
        The fitted model. It is not changed. In a pipeline all steps but the last are steps of
        `tenfold.preprocessing`; a `GaussianImputer` has no graph.
    path : path-like
        Where to, such as "s7.onnx"; written whole or not at all.
    precision : {"double", "single"}, default="double"
        What the graph computes in between. Double gives what NumPy gives for float64 samples, to
        the rounding of the outputs. Single is for runtimes that lack double; it is as good, but
        for distances that are tiny beside the samples, as those of training samples can be.

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
    onnx = _onnx()
    kinds = {"double": np.float64, "single": np.float32}
    graph = Graph(onnx, kinds[check_option("precision", precision, list(kinds))])
    before, last = _steps(estimator)
    for step in before:
        _change(graph, step)
    _draw(graph, last)
    shape = (*before, last)[0].sample_shape_
    model = graph.finished(type(last).__name__, shape, _told(last))
    onnx.checker.check_model(model, full_check=True)
    write_whole(path, model.SerializeToString())


def _steps(estimator: Any) -> tuple[list[Step], Any]:
    """The steps of a pipeline before its last, and that; none before for what is no pipeline."""
    named = getattr(estimator, "steps", [("", estimator)])
    steps = [step for _, step in named if step is not None and step != "passthrough"]
    for step in steps[:-1]:
        if not isinstance(step, Step):
            raise TypeError(
                f"{type(step).__name__} is no step of tenfold.preprocessing, so the pipeline has "
                "no ONNX form here; expected such steps before the last one; export the last one "
                "alone, and feed it what comes before"
            )
    if not steps:
        raise TypeError("the pipeline has no steps; pass a fitted model")
    return steps[:-1], steps[-1]


def _draw(graph: Graph, estimator: Any) -> None:
    shape = getattr(estimator, "sample_shape_", None)
    if shape is not None:  # a scaler before it may have given flat rows
        graph.fold(shape)
    if isinstance(estimator, ClassSpecificClassifier):
        check_is_fitted(estimator, "projectors_")
        _bank(graph, estimator)
    elif isinstance(estimator, ClassSpecificVerifier):
        check_is_fitted(estimator, "projector_")
        _verifier(graph, estimator)
    elif isinstance(estimator, ProbabilisticLDA):
        check_is_fitted(estimator, "directions_")
        _gaussian(graph, estimator)
    elif isinstance(estimator, TensorProjector):
        check_is_fitted(estimator, "projections_")
        _projector(graph, estimator)
    elif isinstance(estimator, Step):
        _change(graph, estimator)
        graph.output(OUTPUTS[type(estimator)], graph.samples, graph.shape)
    else:
        raise TypeError(
            f"{type(estimator).__name__} has no ONNX form; expected a projector, "
            "ClassSpecificVerifier, ClassSpecificClassifier, ProbabilisticLDA, a step or a "
            "pipeline of these (of a search its best_estimator_)"
        )


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            'ONNX export needs onnx; install it with: pip install "tenfold[onnx]"'
        ) from error
    return onnx


def _told(estimator: Any) -> dict[str, Any]:
    """What the metadata say, beside the shape."""
    told: dict[str, Any] = {"tenfold": version("tenfold")}
    if isinstance(estimator, Step):
        return told
    told["classes"] = known_classes(estimator).tolist()
    all_classes = isinstance(estimator, ClassSpecificClassifier | ProbabilisticLDA)
    for projector in [] if all_classes else estimator.members_:
        if isinstance(projector, ClassSpecificProjector):
            told["positive"] = np.asarray(projector.positive_label_).tolist()
    if isinstance(estimator, ClassSpecificVerifier):
        told["threshold"] = estimator.threshold_
    return told


# ── The kinds of models ─────────────────────────────────────────────────────────────────────────


def _change(graph: Graph, step: Step) -> None:
    """Replace the samples by what a step makes of them."""
    check_is_fitted(step, "sample_shape_")
    graph.fold(step.sample_shape_)
    if isinstance(step, ModeScaler):
        _scale(graph, step)
    elif isinstance(step, CovariateRemover):
        _remove(graph, step)
    elif isinstance(step, Blocks):
        _deflate(graph, step)
    else:
        raise ValueError(
            f"{type(step).__name__} completes gaps, and a graph cannot; for samples without gaps "
            "export the pipeline without it, as with pipeline[1:]"
        )


def _remove(graph: Graph, remover: CovariateRemover) -> None:
    """Samples without what covariates add: the last numbers of rows, or a second input."""
    q = len(remover.slopes_)
    if not q:
        return
    size = remover.slopes_[0].size
    flat = graph.node("Flatten", [graph.samples], axis=1)
    if remover.last is None:
        X, Z, shape = flat, graph.input("covariates", q), remover.sample_shape_
    else:
        ends = [graph.constant(np.array([place])) for place in (0, size, size + q, 1)]
        X = graph.node("Slice", [flat, ends[0], ends[1], ends[3]])
        Z = graph.node("Slice", [flat, ends[1], ends[2], ends[3]])
        shape = (size,)
    added = graph.times(graph.about(Z, remover.covariate_means_), remover.slopes_.reshape(q, -1))
    graph.samples, graph.shape = graph.node("Sub", [X, added]), (size,)
    graph.fold(shape)


def _deflate(graph: Graph, blocks: Blocks) -> None:
    """The features of all blocks, side by side."""
    found, width = [], 0
    for block in blocks.blocks_:
        if not isinstance(block, TensorProjector) or not block._streams:
            raise TypeError(f"blocks of {type(block).__name__} have no ONNX form here")
        found.append(graph.node("Flatten", [graph.projected(block, block._centre())], axis=1))
        width += prod(block.ranks_)
        shape = graph.constant(np.array([-1, *block.sample_shape_]))
        X, centre = graph.samples, block._centre()
        X = X if centre is None else graph.about(X, centre)
        Q = [np.linalg.qr(W)[0] for W in block.projections_]
        seen = graph.node("Flatten", [X], axis=1) if block._flattens else X
        seen = graph.multiplied(graph.multiplied(seen, Q), [basis.T for basis in Q])
        graph.samples = graph.node("Sub", [X, graph.node("Reshape", [seen, shape])])
    graph.samples, graph.shape = graph.node("Concat", found, axis=1), (width,)


def _scale(graph: Graph, scaler: ModeScaler) -> None:
    """Replace the samples by scaled ones."""
    scaling = scaler.scaling()
    if scaling.per_sample:
        graph.samples = _scaled_by_itself(graph, scaling)
    else:
        Y = graph.about(graph.samples, scaling.mean)
        graph.samples = graph.node("Div", [Y, graph.numbers(scaling.total_spread)])
    graph.shape = scaling.shape_after(scaler.sample_shape_)
    if scaler.output == "flat":
        graph.fold((prod(graph.shape),))


def _scaled_by_itself(graph: Graph, scaling: Scaling) -> str:
    X, zero, one = graph.samples, graph.numbers(0.0), graph.numbers(1.0)
    axes = graph.constant(np.array(scaling.axes))
    size = prod(graph.shape[axis - 1] for axis in scaling.axes)
    mean = graph.node("ReduceMean", [X, axes], keepdims=1)
    deviations = graph.node("Sub", [X, mean])
    variance = graph.node("ReduceMean", [graph.node("Mul", [deviations] * 2), axes], keepdims=1)
    rounding = size * np.finfo(graph.dtype).eps if size > 1 else np.inf
    unsure = graph.node("Abs", [graph.node("Mul", [mean, graph.numbers(rounding)])])
    varies = graph.node("Greater", [graph.node("Sqrt", [variance]), unsure])
    deviations = graph.node("Where", [varies, deviations, zero])
    variance = graph.node("Where", [varies, variance, zero])
    typical = scaling.pseudocount * np.square(scaling.spread) / (size + scaling.pseudocount)
    share = graph.numbers(size / (size + scaling.pseudocount))
    square = graph.node("Add", [graph.node("Mul", [variance, share]), graph.numbers(typical)])
    some = graph.node("Greater", [square, zero])
    scale = graph.node("Where", [some, graph.node("Sqrt", [square]), one])
    parts = [graph.node("Div", [deviations, scale])]
    if scaling.keep in ("mean", "both"):
        unit = np.where(scaling.mean_spread > 0, scaling.mean_spread, 1.0)
        parts.append(graph.node("Div", [graph.about(mean, scaling.mean), graph.numbers(unit)]))
    if scaling.keep in ("spread", "both"):
        unit = np.where(scaling.spread > 0, scaling.spread, 1.0)
        parts.append(graph.node("Log", [graph.node("Div", [scale, graph.numbers(unit)])]))
    return parts[0] if len(parts) == 1 else graph.node("Concat", parts, axis=scaling.axes[0])


def _projector(graph: Graph, projector: TensorProjector) -> None:
    Y = graph.projected(projector, projector._centre())
    if projector.output == "flat":
        Y = graph.node("Flatten", [Y], axis=1)
    shape = projector.ranks_ if projector.output == "tensor" else (prod(projector.ranks_),)
    graph.output("projected", Y, shape)
    if isinstance(projector, ClassSpecificProjector):
        graph.output("scores", graph.scores(projector))


def _verifier(graph: Graph, verifier: ClassSpecificVerifier) -> None:
    scores = graph.scores(verifier.projector_)
    accepted = graph.node("GreaterOrEqual", [scores, graph.numbers(verifier.threshold_)])
    graph.output("scores", scores)
    graph.output("accepted", accepted, dtype=np.bool_)


def _bank(graph: Graph, bank: ClassSpecificClassifier) -> None:
    if bank.classifier is not None:
        raise ValueError(
            f"classifier={bank.classifier!r} is not part of tenfold, so it has no ONNX form here; "
            "use classifier=None, or export it on its own (skl2onnx) behind the distances"
        )
    if bank.projectors_[0]._has_ratio:
        distances = _farness(graph, bank)
    else:
        columns = [graph.distance(member) for member in bank.projectors_]
        distances = graph.node("Concat", columns, axis=1)
    if bank.normalise and not bank.projectors_[0]._has_ratio:
        spreads = bank.other_spreads_ if bank.normalise == "others" else bank.spreads_
        distances = graph.node("Div", [distances, graph.numbers(spreads)])
    graph.output("distances", distances, (len(bank.classes_),))
    graph.label(bank.classes_, graph.node("ArgMin", [distances], axis=1, keepdims=0))


def _farness(graph: Graph, bank: ClassSpecificClassifier) -> str:
    """What `farness` makes of the likelihood ratios of all classes, (n, C)."""
    ratios = graph.node("Concat", [graph.log_ratio(m) for m in bank.projectors_], axis=1)
    if not bank.normalise:
        return graph.node("Neg", [ratios])
    typical, even = np.stack([member.anchors_ for member in bank.projectors_]).T
    unit = np.where(even > typical, even - typical, 1.0)
    squares = graph.node(
        "Div", [graph.node("Sub", [graph.numbers(even), ratios]), graph.numbers(unit)]
    )
    roots = graph.node("Sqrt", [graph.node("Abs", [squares])])
    return graph.node("Mul", [roots, graph.node("Sign", [squares])])


def _gaussian(graph: Graph, model: ProbabilisticLDA) -> None:
    """The scores of `ClassLikelihood`, and what follows from them."""
    Y, inside = graph.samples, model.projector_
    if inside is not None:
        Y = graph.projected(inside, inside._centre())
    Y = graph.about(graph.node("Flatten", [Y], axis=1), model.mean_)
    ratios = ""
    for share, own, likelihood in model.likelihood().experts():
        Z = graph.node("MatMul", [Y, graph.numbers(model.directions_[:, own])])
        known = model.known_classes().along(own)
        found = _log_ratios(graph, Z, likelihood, known, share)
        ratios = graph.node("Add", [ratios, found]) if ratios else found
    n_classes = len(model.classes_)
    scores = graph.node("Add", [ratios, graph.numbers(model.log_priors())])
    graph.output("log_likelihood_ratio", ratios, (n_classes,))
    graph.output("scores", scores, (n_classes,))
    graph.output("probabilities", graph.node("Softmax", [scores], axis=1), (n_classes,))
    graph.label(model.classes_, graph.node("ArgMax", [scores], axis=1, keepdims=0))


def _log_ratios(
    graph: Graph, Z: str, likelihood: ClassLikelihood, known: KnownClasses, share: float
) -> str:
    """The scores of one expert, times its share."""
    a, v, stranger = likelihood.expected(known)
    size, gain, tails = (a**2 / v).sum(axis=1), likelihood.gain, likelihood.tails
    more = 1 + gain * size
    constant = 0.5 * (np.log(stranger / v).sum(axis=1) - np.log(more))
    colder = share / likelihood.temperature
    constant = np.where(known.counts > 0, constant, -np.inf) * colder
    squared = graph.node("Mul", [Z, Z])
    missed = graph.node("Sub", [graph.times(Z, (a / v).T), graph.numbers(size)])  # x.a - a.a
    own = graph.node("Sub", [graph.times(squared, (1 / v).T), graph.numbers(size)])
    own = graph.node("Sub", [own, graph.node("Mul", [missed, graph.numbers(2.0)])])
    if gain > 0:
        along = graph.node("Mul", [graph.node("Mul", [missed, missed]), graph.numbers(gain / more)])
        own = graph.node("Sub", [own, along])
    own = graph.node("Max", [own, graph.numbers(0.0)])
    other = graph.times(squared, 1 / stranger[:, None])
    power = 0.5
    if tails > 0:
        power = 0.5 * (1 / tails + len(stranger))
        own, other = (
            graph.node("Log", [graph.node("Add", [one, graph.numbers(1 / tails)])])
            for one in (own, other)
        )
    ratio = graph.node("Mul", [graph.node("Sub", [other, own]), graph.numbers(power * colder)])
    return graph.node("Add", [ratio, graph.numbers(constant)])
