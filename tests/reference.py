"""The paper's sums, written sample by sample: an answer from outside the library.

Nothing here is fast and nothing comes from tenfold. Every equation is one plain loop over the
samples; every eigenproblem is one call of `scipy.linalg.eigh`. Modes are numbered from 0, X has
shape (n, I_1, ..., I_K), and `factors` holds one matrix (I_k, r_k) per mode.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eig, eigh, inv, qr
from scipy.optimize import brentq

# ── Tensors ─────────────────────────────────────────────────────────────────────────────────────


def unfolded(x, k):
    """[x]_(k): the mode-k fibres of one tensor as columns (Definition 1), fibre by fibre."""
    others = [range(size) for q, size in enumerate(x.shape) if q != k]
    columns = []
    for place in np.ndindex(*[len(r) for r in others]):
        index = list(place)
        index.insert(k, slice(None))
        columns.append(x[tuple(index)])
    return np.stack(columns, axis=1)


def mode_product(x, matrix, k):
    """x times matrix (J, I_k) along mode k, for one tensor (Definition 2)."""
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, k)), 0, k)


def projected(x, factors, but=None):
    """x x_1 W_1^T ... x_K W_K^T for one tensor (eq. 6), one mode left out if asked."""
    for q, W in enumerate(factors):
        if q != but:
            x = mode_product(x, W.T, q)
    return x


def square(x, factors, k):
    """[x x_{q != k} W_q^T]_(k) times its own transpose: one term of eqs 10, 11, 17 and 18."""
    Y = unfolded(projected(x, factors, but=k), k)
    return Y @ Y.T


# ── Scatters ────────────────────────────────────────────────────────────────────────────────────


def mean(samples):
    """The mean tensor, by adding one after the other."""
    total = np.zeros(samples[0].shape)
    for x in samples:
        total = total + x
    return total / len(samples)


def between_scatter(X, y, factors, k):
    """S_b^k, eq. 10."""
    M = mean(X)
    scatter = 0.0
    for c in sorted(set(y.tolist())):
        members = [x for x, label in zip(X, y, strict=True) if label == c]
        scatter = scatter + len(members) * square(mean(members) - M, factors, k)
    return scatter


def within_scatter(X, y, factors, k):
    """S_w^k, eq. 11."""
    scatter = 0.0
    for c in sorted(set(y.tolist())):
        members = [x for x, label in zip(X, y, strict=True) if label == c]
        M_c = mean(members)
        for x in members:
            scatter = scatter + square(x - M_c, factors, k)
    return scatter


def out_scatter(X, y, positive, factors, k):
    """S_O^k, eq. 17."""
    M_p = mean([x for x, label in zip(X, y, strict=True) if label == positive])
    scatter = 0.0
    for x, label in zip(X, y, strict=True):
        if label != positive:
            scatter = scatter + square(x - M_p, factors, k)
    return scatter


def in_scatter(X, y, positive, factors, k):
    """S_I^k, eq. 18."""
    members = [x for x, label in zip(X, y, strict=True) if label == positive]
    M_p = mean(members)
    scatter = 0.0
    for x in members:
        scatter = scatter + square(x - M_p, factors, k)
    return scatter


def total_scatter(X, factors, k):
    """All samples about their mean: what MPCA keeps."""
    M = mean(X)
    scatter = 0.0
    for x in X:
        scatter = scatter + square(x - M, factors, k)
    return scatter


# ── One pair of scatters ────────────────────────────────────────────────────────────────────────


def orthonormal(W):
    """Orthonormal columns with the span of W."""
    return qr(W, mode="economic")[0]


def metric_columns(A, B, r):
    """The leading generalised eigenvectors of (A, B), scaled to W^T B W = I."""
    return eigh(A, B)[1][:, ::-1][:, :r]


def ratio_trace(A, B, r):
    """An orthonormal basis of the leading generalised eigenvectors of (A, B)."""
    return orthonormal(metric_columns(A, B, r))


def trace_ratio(A, B, r):
    """The maximiser of tr(W^T A W) / tr(W^T B W): the root of the sum of leading eigenvalues."""

    def excess(rho):
        return eigh(A - rho * B, eigvals_only=True)[-r:].sum()

    rho = brentq(excess, 0.0, eigh(A, B, eigvals_only=True)[-1] * 1.01 + 1e-300, xtol=1e-15)
    return eigh(A - rho * B)[1][:, ::-1][:, :r]


def trace_difference(A, B, r):
    """Leading eigenvectors of A - zeta B, zeta the largest eigenvalue of B^-1 A."""
    zeta = eigh(A, B, eigvals_only=True)[-1]
    return eigh(A - zeta * B)[1][:, ::-1][:, :r]


def leading(A, B, r):
    """Leading eigenvectors of A."""
    return eigh(A)[1][:, ::-1][:, :r]


# ── Algorithm 1 ─────────────────────────────────────────────────────────────────────────────────


def ones(shape, ranks):
    """The paper's start."""
    return [np.ones((size, r)) for size, r in zip(shape, ranks, strict=True)]


def identities(shape, ranks):
    """A start that hides nothing."""
    return [np.eye(size) for size in shape]


def algorithm_1(shape, pair, ranks, solve, *, ridge, rounds, start=ones):
    """Algorithm 1 with a fixed number of rounds; ``pair(factors, k)`` gives both scatters."""
    factors = start(shape, ranks)
    for _ in range(rounds):
        for k, size in enumerate(shape):
            A, B = pair(factors, k)
            factors[k] = solve(A, B + ridge * np.eye(size), ranks[k])
    return factors


def mcsda(X, y, positive, ranks, *, ridge, rounds, solve=ratio_trace, start=ones):
    """MCSDA: eqs 17 and 18."""

    def pair(factors, k):
        return out_scatter(X, y, positive, factors, k), in_scatter(X, y, positive, factors, k)

    return algorithm_1(X.shape[1:], pair, ranks, solve, ridge=ridge, rounds=rounds, start=start)


def multi_class(X, y, ranks, solve, *, ridge, rounds, start=identities):
    """Alternation on eqs 10 and 11: CMDA, DATER and GTDA differ in `solve` only."""

    def pair(factors, k):
        return between_scatter(X, y, factors, k), within_scatter(X, y, factors, k)

    return algorithm_1(X.shape[1:], pair, ranks, solve, ridge=ridge, rounds=rounds, start=start)


def dgtda(X, y, ranks, *, ridge):
    """DGTDA: every mode once, from unprojected samples."""
    everything = identities(X.shape[1:], ranks)
    found = []
    for k, (size, r) in enumerate(zip(X.shape[1:], ranks, strict=True)):
        A = between_scatter(X, y, everything, k)
        B = within_scatter(X, y, everything, k) + ridge * np.eye(size)
        found.append(trace_difference(A, B, r))
    return found


def mpca(X, ranks, *, rounds):
    """MPCA: the leading eigenvectors of the total scatter, mode by mode."""

    def pair(factors, k):
        return total_scatter(X, factors, k), 0.0

    return algorithm_1(
        X.shape[1:], pair, ranks, leading, ridge=0.0, rounds=rounds, start=identities
    )


def csda(X, y, positive, r, *, ridge):
    """CSDA's closed form on vectors (n, I): eigenvectors of (S_I + ridge I)^-1 S_O (eq. 5)."""
    m_p = X[y == positive].mean(axis=0)
    out, inside = X[y != positive] - m_p, X[y == positive] - m_p
    A, B = out.T @ out, inside.T @ inside + ridge * np.eye(X.shape[1])
    return ratio_trace(A, B, r)


def two_dimensional_lda(images, y, rows, columns, *, rounds):
    """2D-LDA of Ye, Janardan and Li: left and right transformations of matrices, in turn.

    Written from their equations: L maximises tr((L^T S_w^R L)^-1 L^T S_b^R L) with
    S^R = sum A R R^T A^T, and R the same with S^L = sum A^T L L^T A. Their eigenvectors are those
    of the non-symmetric S_w^-1 S_b; the columns are scaled so that the within-class scatter is the
    identity, which is where eigenvectors of a symmetric pair come to lie.
    """
    grand = images.mean(axis=0)
    means = {c: images[y == c].mean(axis=0) for c in np.unique(y)}
    spreads = [(A - means[c]) for A, c in zip(images, y, strict=True)]
    steps = [np.sqrt((y == c).sum()) * (M - grand) for c, M in means.items()]

    def directions(weigh, differences, deviations, r):
        S_b = sum(D @ weigh @ D.T for D in differences)
        S_w = sum(D @ weigh @ D.T for D in deviations)
        values, vectors = eig(inv(S_w) @ S_b)
        vectors = vectors[:, np.argsort(-values.real)[:r]].real
        return vectors / np.sqrt(np.einsum("ir,ij,jr->r", vectors, S_w, vectors))

    R = np.eye(images.shape[2])
    for _ in range(rounds):
        L = directions(R @ R.T, steps, spreads, rows)
        R = directions(L @ L.T, [D.T for D in steps], [D.T for D in spreads], columns)
    return [L, R]


# ── Comparing ───────────────────────────────────────────────────────────────────────────────────


def projector(W):
    """The orthogonal projector onto the span of W: free of signs, order and scale."""
    Q = qr(W, mode="economic")[0]
    return Q @ Q.T


def distance(first, second):
    """The largest Frobenius distance of the projectors of two lists of matrices, mode by mode."""
    gaps = [np.linalg.norm(projector(V) - projector(W)) for V, W in zip(first, second, strict=True)]
    return max(gaps)


def relative_error(found, expected):
    """||found - expected|| / ||expected||."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# ── Problems ────────────────────────────────────────────────────────────────────────────────────


def problem(shape, *, classes=3, per_class=12, seed=0, spread=1.0):
    """Samples (n, *shape) and labels in random order, with correlated noise and uneven classes.

    The spectra of all scatters are spread out but well conditioned, so that subspaces are well
    determined.
    """
    rng = np.random.default_rng(seed)
    turns = [np.linalg.qr(rng.normal(size=(size, size)))[0] for size in shape]
    mixing = [np.linspace(0.5, 1.5, len(turn))[:, None] * turn for turn in turns]
    counts = per_class + np.arange(classes)
    y = np.repeat(np.arange(classes), counts)
    means = spread * rng.normal(size=(classes, *shape))
    X = rng.normal(size=(len(y), *shape)) * np.linspace(0.5, 1.5, classes)[y].reshape(
        -1, *[1] * len(shape)
    )
    X = np.stack([projected(x, mixing) for x in X]) + means[y]
    order = rng.permutation(len(y))
    return X[order], y[order]


def with_gaps(X, share, seed=0):
    """A copy with NaN in random places, and at least one number in every sample."""
    rng = np.random.default_rng(seed)
    gaps = rng.random(X.shape) < share
    gaps.reshape(len(X), -1)[np.arange(len(X)), rng.integers(X[0].size, size=len(X))] = False
    return np.where(gaps, np.nan, X)
