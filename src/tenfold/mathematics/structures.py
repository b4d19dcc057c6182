"""What a covariance is shrunk towards: the identity or a Kronecker product, as folds advise.

Shrinking towards a Kronecker product is shrinking towards the identity after a change of
coordinates, z' = R z, that makes the product the identity (`tenfold.mathematics.separable`).
Moments change with the coordinates, so that samples are not needed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.mathematics.algebra import Array, project
from tenfold.mathematics.fold_moments import FoldMoments, HeldOutFold
from tenfold.mathematics.held_out import Choice, chosen
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


def targets(asked: str, time_modes: tuple[int, ...], shape: tuple[int, ...]) -> list[Target]:
    """The candidates, preferred ones first; "auto" means all that samples of this shape allow."""
    product = [Target("kronecker", time_modes)]
    if asked == "auto":
        several = sum(size > 1 for size in shape) > 1
        plain = [Target("kronecker")] if time_modes else []
        return [IDENTITY, *product, *plain] if several else [IDENTITY]
    return [IDENTITY] if asked == "identity" else product


def whitening(part: PooledMoments, space: Space, target: Target) -> tuple[Array, Array]:
    """R (r, r), such that the target of moments in the coordinates R z is the identity.

    In the span of a basis B the product is seen through ``W B = Q R`` with orthonormal Q, where W
    whitens along each mode: no matrix is larger than B. Directions of whitened samples lie in the
    span of Q, so those of samples in the span of ``W Q`` (I, r), which is returned, too. It is not
    the span of the samples.
    """
    size = len(part.within)
    B = np.eye(size) if space.basis is None else space.basis
    rows = part.deviations() @ B.T
    roots = inverse_roots(rows.reshape(-1, *space.shape), target.time_modes)
    columns = project(B.T.reshape(size, *space.shape), roots).reshape(size, -1)
    Q, R = np.linalg.qr(columns.T)
    return R, project(Q.T.reshape(size, *space.shape), roots).reshape(size, -1).T


def best_target(
    moments: FoldMoments, space: Space, candidates: list[Target], priors: Array
) -> tuple[Target, Choice | None]:
    """The target under which held-out samples are told apart best, and what was chosen with it.

    The product is estimated anew without each fold. A candidate must be better than those before
    it by more than chance. None for the choice if no fold can be held out.
    """
    best: tuple[Target, Choice] | None = None
    for target in candidates:
        choice = chosen(_held_out(moments, space, target), priors)
        if choice is None:
            continue
        margin = MARGIN / float(moments.counts.sum()) if best is not None else 0.0
        if best is None or choice.loss + margin < best[1].loss:
            best = target, choice
    return best if best is not None else (candidates[0], None)


def _held_out(moments: FoldMoments, space: Space, target: Target) -> list[HeldOutFold]:
    """Each fold with the moments in the coordinates that all others give."""
    if target == IDENTITY:
        return moments.held_out()
    found = []
    for f in range(moments.n_folds):
        part = moments.without(f)
        if part.degrees_of_freedom > 0:
            found.append(HeldOutFold(moments.changed(whitening(part, space, target)[0]), f))
    return found
