"""Nodes, constants and outputs of an ONNX graph, and the steps that models have in common."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.methods.base import ClassSpecificProjector, TensorProjector
from tenfold.methods.kernelcsda import KernelCSDA

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
