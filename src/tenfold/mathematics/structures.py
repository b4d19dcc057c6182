"""What a covariance is shrunk towards: the identity or a Kronecker product, as folds advise.

Shrinking towards a Kronecker product is shrinking towards the identity after a change of
coordinates, z' = R z, that makes the product the identity (`tenfold.mathematics.separable`).
Moments change with the coordinates, so that samples are not needed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tenfold.mathematics.algebra import Array, project
from tenfold.mathematics.fold_moments import QUARTERS, FoldMoments
from tenfold.mathematics.held_out import Choice, Frame, chosen
from tenfold.mathematics.means_prior import MeansPrior
from tenfold.mathematics.separable import inverse_roots
from tenfold.mathematics.two_covariances import PooledMoments

MARGIN = 2.0  # nats by which all held-out samples together must prefer a later candidate


class Target(NamedTuple):
    """What a covariance may be shrunk towards."""

    name: str
    time_modes: tuple[int, ...] = ()  # with a Toeplitz factor

    @property
    def title(self) -> str:
        """How a model calls it."""
        return f"{self.name}, stationary" if self.time_modes else self.name


IDENTITY = Target("identity")


class Space(NamedTuple):
    """Where the coordinates of moments lie: samples of a shape, or the span of a basis (I, r)."""

    shape: tuple[int, ...]
    basis: Array | None
    structured: bool  # whether class means have a Kronecker prior


def targets(asked: str, time_modes: tuple[int, ...], shape: tuple[int, ...]) -> list[Target]:
    """The candidates, preferred ones first; "auto" means all that samples of this shape allow."""
    product = [Target("kronecker", time_modes)]
    if asked == "auto":
        several = sum(size > 1 for size in shape) > 1
        plain = [Target("kronecker")] if time_modes else []
        return [IDENTITY, *product, *plain] if several else [IDENTITY]
    return [IDENTITY] if asked == "identity" else product


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates z' = R z in which a target is the identity, and the prior of class means there.

    In the span of a basis B the product is seen through ``W B = Q R`` with orthonormal Q, where W
    whitens along each mode: no matrix is larger than B. Directions of whitened samples lie in the
    span of Q, or where the prior of the class means has them; those of samples are W times these.
    """

    shape: tuple[int, ...]
    basis: Array | None  # B, or Q if there is R
    R: Array | None
    roots: list[Array]
    prior: MeansPrior | None

    @classmethod
    def found(cls, part: PooledMoments, space: Space, target: Target) -> Coordinates:
        """Those that moments show."""
        basis, R, roots = space.basis, None, []
        if target != IDENTITY:
            size = len(part.within)
            B = np.eye(size) if basis is None else basis
            rows = part.deviations() @ B.T
            roots = inverse_roots(rows.reshape(-1, *space.shape), target.time_modes)
            columns = project(B.T.reshape(size, *space.shape), roots).reshape(size, -1)
            basis, R = np.linalg.qr(columns.T)
            part = part.changed(R)
        several = sum(size > 1 for size in space.shape) > 1
        prior = None
        if space.structured and several and part.centred.any():
            prior = MeansPrior.of_moments(part, basis, space.shape)
        return cls(space.shape, basis, R, roots, prior)

    def directions(self, part: PooledMoments, shrinkage: float) -> tuple[Array, Array]:
        """Directions in the coordinates of the moments (r, d), and of whole samples (I, d)."""
        part = part if self.R is None else part.changed(self.R)
        if self.prior is not None and part.centred.any():
            found, lifted = self.prior.directions(part, shrinkage)
        else:
            found = part.coordinates(shrinkage)[0]
            lifted = found if self.basis is None else self.basis @ found
        if self.R is None:
            return found, lifted
        whole = project(lifted.T.reshape(-1, *self.shape), self.roots)
        return self.R.T @ found, whole.reshape(len(whole), -1).T

    def variances(self, part: PooledMoments, shrinkage: float) -> Array:
        """Those of class means along the directions without a prior, less what noise adds."""
        part = part if self.R is None else part.changed(self.R)
        return part.coordinates(shrinkage)[1]

    def along(self, part: PooledMoments, shrinkage: float) -> Array:
        """Directions in the coordinates of the moments (r, d)."""
        return self.directions(part, shrinkage)[0]


def best_target(
    moments: FoldMoments, space: Space, candidates: list[Target], priors: Array
) -> tuple[Target, Choice | None]:
    """The target under which held-out samples are told apart best, and what was chosen with it.

    The product, and the prior of the class means, are estimated anew without each quarter of the
    folds. A candidate must be better than those before it by more than chance. None for the choice
    if no fold can be held out.
    """
    best: tuple[Target, Choice] | None = None
    for target in candidates:
        choice = chosen(moments, _quarters(moments, space, target), priors)
        if choice is None:
            continue
        margin = MARGIN if best is not None else 0.0
        if best is None or choice.loss + margin < best[1].loss:
            best = target, choice
    return best if best is not None else (candidates[0], None)


def _quarters(moments: FoldMoments, space: Space, target: Target) -> list[Frame]:
    """The coordinates that samples outside of each quarter of the folds give."""
    if target == IDENTITY and not space.structured:
        return [Coordinates(space.shape, space.basis, None, [], None)]
    found: list[Frame] = []
    for quarter in range(QUARTERS):
        part = moments.without(range(quarter, moments.n_groups, QUARTERS))
        part = part if part.is_usable() else moments.without()
        found.append(Coordinates.found(part, space, target))
    return found
