"""Scatters of tensor samples, as values that can be added and asked for along one mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.parts import Factors, Part, is_shared


@dataclass(frozen=True, eq=False)
class Scatter:
    """A linear combination of parts; coefficients are numbers or one per model, of shape (M,).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mathematics.parts import TablePart
    >>> from tenfold.mathematics.scatter import Scatter
    >>> part = TablePart.from_matrices(np.eye(4)[None], (2, 2))
    >>> twice = Scatter.of(part) + Scatter.of(part)
    >>> factors = [np.eye(2)[None], np.eye(2)[None]]
    >>> twice.along(0, factors, owners=np.zeros(1, int))[0]
    array([[4., 0.],
           [0., 4.]])
    """

    terms: tuple[tuple[Array | float, Part], ...]

    @classmethod
    def of(cls, part: Part) -> Scatter:
        """The scatter that is this part alone."""
        return cls(((1.0, part),))

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(self.terms + other.terms)

    def __sub__(self, other: Scatter) -> Scatter:
        return self + other * -1.0

    def __mul__(self, factor: Array | float) -> Scatter:
        return Scatter(tuple((coefficient * factor, part) for coefficient, part in self.terms))

    def of_models(self, part: Array) -> Scatter:
        """The scatter of a part of the models."""
        return Scatter(tuple((of_models(coefficient, part), p) for coefficient, p in self.terms))

    def along(self, mode: int, factors: Factors, owners: Array) -> Array:
        """Mode-k scatters of M models, of shape (M, I_k, I_k)."""
        return along_mode([self], mode, factors, owners, np.arange(len(owners)))[0]


def along_mode(
    scatters: Sequence[Scatter], mode: int, factors: Factors, owners: Array, models: Array
) -> list[Array]:
    """Several scatters along one mode, each part asked once.

    Parameters
    ----------
    scatters : sequence of Scatter
        What is asked for.
    mode : int
        The mode k.
    factors : sequence of K ndarrays of shape (M, I_q, r_q)
        Projections of the models; those of mode k are not used.
    owners : ndarray of shape (M,)
        The group of each model.
    models : ndarray of shape (M,)
        Positions of these models in the coefficients of the scatters.

    Returns
    -------
    list of ndarrays of shape (M, I_k, I_k)
        One per scatter.
    """
    answers = _answers([part for s in scatters for _, part in s.terms], mode, factors, owners)
    results = []
    for scatter in scatters:
        total = np.zeros_like(answers[id(scatter.terms[0][1])])
        for coefficient, part in scatter.terms:
            answer = answers[id(part)]
            if np.ndim(coefficient):
                answer = np.asarray(coefficient)[models, None, None] * answer
            elif coefficient != 1:
                answer = coefficient * answer
            total += answer
        results.append(total)
    return results


def _answers(parts: list[Part], mode: int, factors: Factors, owners: Array) -> dict[int, Array]:
    """What each part answers, by its id; parts that share their samples are asked in one pass."""
    answers: dict[int, Array] = {}
    for part in parts:
        if id(part) in answers:
            continue
        if is_shared(part):
            together = [p for p in parts if is_shared(p) and p.samples is part.samples]
            found = part.along_together(together, mode, factors, owners)
            answers |= {id(p): answer for p, answer in zip(together, found, strict=True)}
        else:
            answers[id(part)] = part.along(mode, factors, owners)
    return answers


def of_models(values: Any, part: Array) -> Any:
    """The values of a part of the models, where there is one per model."""
    return values[part] if np.ndim(values) else values
