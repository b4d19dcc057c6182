"""ONNX graphs of fitted models, to serve them where there is no Python.

A graph takes float32 samples of shape (n, I_1, ..., I_K) with any n, and gives float32 numbers.
Its nodes are of the plainest kind, so that any runtime knows them.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.decisions.classifier import ClassSpecificClassifier
from tenfold.decisions.members import known_classes
from tenfold.decisions.probabilistic import ProbabilisticLDA
from tenfold.decisions.verifier import ClassSpecificVerifier
from tenfold.mathematics.algebra import Array
from tenfold.methods.base import TensorProjector
from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.methods.kernelcsda import KernelCSDA
from tenfold.system.atomic_write import write_whole
from tenfold.validation.parameters import check_option

OPSET, IR_VERSION = 18, 8  # of 2022: new enough for all we need, old enough for most runtimes


def to_onnx(estimator: Any, path: str | os.PathLike[str], *, precision: str = "double") -> None:
    """Write a fitted model as an ONNX graph.

    The input is ``X``, float32 samples of shape (n, I_1, ..., I_K). The outputs are

    - of a projector ``projected``, what `transform` gives, and of a class-specific one also
      ``scores`` of shape (n,), what `decision_function` gives;
    - of a `ClassSpecificVerifier` ``scores``, minus the distances, and ``accepted``, booleans
      that say which reach the threshold, of shape (n,);
    - of a `ClassSpecificClassifier` ``distances`` of shape (n, C) and ``label`` of shape (n,);
    - of a `ProbabilisticLDA` ``scores`` and ``probabilities`` of shape (n, C), and ``label``.
      Scores have a column per class for two classes, too.

    The metadata of the graph say method, classes and sample shape, as JSON.

    Parameters
    ----------
    estimator : projector, ClassSpecificVerifier, ClassSpecificClassifier or ProbabilisticLDA
        The fitted model. It is not changed.
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
    graph = _Graph(onnx, kinds[check_option("precision", precision, list(kinds))])
    _draw(graph, estimator)
    model = graph.finished(type(estimator).__name__, estimator.sample_shape_, _told(estimator))
    onnx.checker.check_model(model, full_check=True)
    write_whole(path, model.SerializeToString())


def _draw(graph: _Graph, estimator: Any) -> None:
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
    else:
        raise TypeError(
            f"{type(estimator).__name__} has no ONNX form; expected a projector, "
            "ClassSpecificVerifier, ClassSpecificClassifier or ProbabilisticLDA (of a search its "
            "best_estimator_)"
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
    told = {"tenfold": version("tenfold"), "classes": known_classes(estimator).tolist()}
    all_classes = isinstance(estimator, ClassSpecificClassifier | ProbabilisticLDA)
    for projector in [] if all_classes else estimator.members_:
        if isinstance(projector, ClassSpecificProjector):
            told["positive"] = np.asarray(projector.positive_label_).tolist()
    if isinstance(estimator, ClassSpecificVerifier):
        told["threshold"] = estimator.threshold_
    return told


# ── The four kinds of models ────────────────────────────────────────────────────────────────────


def _projector(graph: _Graph, projector: TensorProjector) -> None:
    Y = graph.projected(projector, projector.centre())
    if projector.output == "flat":
        Y = graph.node("Flatten", [Y], axis=1)
    width = sum(int(np.prod([W.shape[1] for W in block])) for block in projector.all_blocks)
    shape = projector.ranks_ if projector.output == "tensor" else (width,)
    graph.output("projected", Y, shape)
    if isinstance(projector, ClassSpecificProjector):
        graph.output("scores", graph.scores(projector))


def _verifier(graph: _Graph, verifier: ClassSpecificVerifier) -> None:
    scores = graph.scores(verifier.projector_)
    accepted = graph.node("GreaterOrEqual", [scores, graph.numbers(verifier.threshold_)])
    graph.output("scores", scores)
    graph.output("accepted", accepted, dtype=np.bool_)


def _bank(graph: _Graph, bank: ClassSpecificClassifier) -> None:
    if bank.classifier is not None:
        raise ValueError(
            f"classifier={bank.classifier!r} is not part of tenfold, so it has no ONNX form here; "
            "use classifier=None, or export it on its own (skl2onnx) behind the distances"
        )
    columns = [graph.distance(member) for member in bank.projectors_]
    distances = graph.node("Concat", columns, axis=1)
    if bank.normalise:
        spreads = bank.other_spreads_ if bank.normalise == "others" else bank.spreads_
        distances = graph.node("Div", [distances, graph.numbers(spreads)])
    graph.output("distances", distances, (len(bank.classes_),))
    graph.label(bank.classes_, graph.node("ArgMin", [distances], axis=1, keepdims=0))


def _gaussian(graph: _Graph, model: ProbabilisticLDA) -> None:
    """The scores of `ClassLikelihood`, and what follows from them."""
    Y, inside = graph.samples, model.projector_
    if inside is not None:
        Y = graph.projected(inside, inside.centre())
    Y = graph.about(graph.node("Flatten", [Y], axis=1), model.mean_)
    Z = graph.node("MatMul", [Y, graph.numbers(model.directions_)])
    scores = _log_ratios(graph, Z, model)
    n_classes = len(model.classes_)
    evidence = graph.node("Add", [scores, graph.numbers(model.log_priors())])
    graph.output("scores", scores, (n_classes,))
    graph.output("probabilities", graph.node("Softmax", [evidence], axis=1), (n_classes,))
    graph.label(model.classes_, graph.node("ArgMax", [evidence], axis=1, keepdims=0))


def _log_ratios(graph: _Graph, Z: str, model: ProbabilisticLDA) -> str:
    likelihood, known = model.likelihood(), model.known_classes()
    a, v, stranger = likelihood.expected(known)
    size, gain, tails = (a**2 / v).sum(axis=1), likelihood.gain, likelihood.tails
    more = 1 + gain * size
    constant = 0.5 * (np.log(stranger / v).sum(axis=1) - np.log(more))
    constant = np.where(known.counts > 0, constant, -np.inf) / likelihood.temperature
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
    ratio = graph.node(
        "Mul", [graph.node("Sub", [other, own]), graph.numbers(power / likelihood.temperature)]
    )
    return graph.node("Add", [ratio, graph.numbers(constant)])


# ── Building a graph ────────────────────────────────────────────────────────────────────────────


class _Graph:
    """Nodes, constants and outputs, by the names they get."""

    def __init__(self, onnx: Any, dtype: type[np.floating]) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self.kernels: dict[int, str] = {}
        self.samples = self.cast("X", dtype)

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

    def _kind(self, dtype: Any) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def projected(self, projector: TensorProjector, centre: Array | None) -> str:
        """Samples about a centre, projected (eq. 6), as (n, r_1, ..., r_K); blocks as (n, r)."""
        X = self.samples
        if isinstance(projector, KernelCSDA):
            if id(projector.basis_) not in self.kernels:  # the members of a bank share it
                self.kernels[id(projector.basis_)] = self.coordinates(projector)
            X = self.kernels[id(projector.basis_)]
        X = X if centre is None else self.about(X, centre)
        if projector.flattens:
            X = self.node("Flatten", [X], axis=1)
        *earlier, last = projector.all_blocks
        found = []
        for block in earlier:
            found.append(self.node("Flatten", [self.multiplied(X, block)], axis=1))
            Q = [np.linalg.qr(W)[0] for W in block]
            seen = self.multiplied(self.multiplied(X, Q), [basis.T for basis in Q])
            X = self.node("Sub", [X, seen])
        Y = self.multiplied(X, last)
        if not found:
            return Y
        return self.node("Concat", [*found, self.node("Flatten", [Y], axis=1)], axis=1)

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

    def scores(self, projector: ClassSpecificProjector) -> str:
        """Minus that distance, as (n,)."""
        flat = self.node("Reshape", [self.distance(projector), self.constant(np.array([-1]))])
        return self.node("Neg", [flat])

    def finished(self, name: str, shape: tuple[int, ...], told: dict[str, Any]) -> Any:
        """The model with its input and metadata."""
        helper = self.onnx.helper
        sample = helper.make_tensor_value_info("X", self.onnx.TensorProto.FLOAT, ["n", *shape])
        graph = helper.make_graph(self.nodes, name, [sample], self.outputs, self.constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        model.producer_name, model.producer_version = "tenfold", told["tenfold"]
        told = {"method": name, "sample_shape": list(shape), **told}
        helper.set_model_props(model, {key: json.dumps(value) for key, value in told.items()})
        return model
