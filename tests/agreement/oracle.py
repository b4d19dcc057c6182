"""What every method should find, from its formulas, in extended precision.

Nothing here comes from tenfold. Scatters are sums over samples; numbers are `longdouble`, so that
what is left of a difference is the rounding of the library. Eigenvectors come from LAPACK and are
then refined in extended precision, by the iteration of Ogita and Aishima (2018). Modes are numbered
from 0; X has shape (n, I_1, ..., I_K).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

REAL = np.longdouble
NOTHING = 1e-13  # of the largest eigenvalue: no direction at all


@dataclass
class Setting:
    """What is asked of a method, in the words of the formulas."""

    kind: str  # "class_specific", "multi_class" or "total"
    ranks: tuple
    solver: str
    orthonormal: bool
    ridge: float = 0.0
    absolute: bool = False
    by_between: bool = False  # whether the between scatter alone is the unit of a relative ridge
    shrinkage: float | str = 0.0
    means: bool = False  # class means stand for the samples outside of the class
    start: str = "identity"
    rounds: int = 1
    direct: bool = False
    positive: int = -1
    flattens: bool = False
    blocks: int = 1
    reference: bool = False  # CSRDA: the point that all is measured from is chosen, too
    moved: np.random.Generator | None = None  # scatters are changed in their last digits


@dataclass
class Found:
    """Projections of each block, and what else a method learns."""

    blocks: list
    objective: list
    mean: np.ndarray
    unclear: bool = False  # an eigenvalue is neither something nor nothing
    more: dict = field(default_factory=dict)


class Samples:
    """Weighted samples with labels 0, ..., C - 1, about their means."""

    def __init__(self, X, y, weight, n_classes):
        kept = weight > 0
        self.X, self.y, self.w = X[kept].astype(REAL), y[kept], weight[kept].astype(REAL)
        self.n = np.array([self.w[self.y == c].sum() for c in range(n_classes)])
        self.means = np.stack([self.about(self.y == c) for c in range(n_classes)])
        self.mean = self.about(np.full(len(self.y), True))
        self.usual = None  # the mean shrinkage, once it was asked for

    def about(self, rows):
        shape = (-1,) + (1,) * (self.X.ndim - 1)
        first = self.X[rows][0]  # so that the mean of one sample is the sample, to the last bit
        steps = self.w[rows].reshape(shape) * (self.X[rows] - first)
        return first + steps.sum(axis=0) / self.w[rows].sum()

    def replaced(self, X):
        return Samples(X, self.y, self.w, len(self.n))


def seen(X, factors, but):
    """Samples through the projections of all modes but one, unfolded along it: (n, I_k, rest)."""
    for q, W in enumerate(factors):
        if q != but:
            X = np.moveaxis(np.tensordot(X, W, axes=(q + 1, 0)), -1, q + 1)
    return np.moveaxis(X, but + 1, 1).reshape(len(X), X.shape[but + 1], -1)


def scatter(weights, differences, factors, k):
    """sum_i w_i [D_i]_(k) [D_i]_(k)^T, of differences as the other modes see them."""
    Y = seen(differences, factors, k)
    turned = np.moveaxis(Y * np.sqrt(weights)[:, None, None], 1, 0).reshape(Y.shape[1], -1)
    return turned @ turned.T


def share_of_all(data, asked, p):
    """The shrinkage of class p: as asked, or the closed form for Gaussian samples."""
    if asked != "auto":
        return REAL(asked)
    flat = data.X.reshape(len(data.X), -1)
    flat = (flat - data.means[data.y].reshape(flat.shape)) * np.sqrt(data.w)[:, None]
    size = np.abs(flat).max()
    if not size > 0:
        return REAL(1)
    flat = flat / size
    own = flat[data.y == p]
    S, T = own.T @ own, flat.T @ flat
    nu, all_free = data.n[p] - 1, np.maximum(data.n - 1, 0).sum()
    if nu <= 0 or all_free <= 0:
        return REAL(1)
    S, T = S / nu, T / all_free
    noise = (np.trace(S) ** 2 + (S * S).sum()) / nu * max(1 - nu / all_free, REAL(0))
    distance = ((S - T) ** 2).sum()
    if distance <= 1e-14 * ((S * S).sum() + (T * T).sum()):
        return REAL(1)
    return min(max(noise / distance, REAL(1e-300)), REAL(1))  # 0 means another ridge


def pair(data, setting, k, factors, shift=0, share=0):
    """The scatter to keep, the one to suppress without its ridge, and the ridge."""
    N, size = data.n.sum(), data.X.shape[k + 1]
    total = scatter(data.w, data.X - data.mean, factors, k)
    if setting.kind == "total":
        return total, None, REAL(0)
    within = scatter(data.w, data.X - data.means[data.y], factors, k)
    if setting.kind == "multi_class":
        between = scatter(data.n, data.means - data.mean, factors, k)
        floor = np.trace(between) + np.trace(within)
        unit = np.trace(between) if setting.by_between else floor
        return between, within, ridge_of(setting, unit / size, floor)
    p = setting.positive
    M_p, others = data.means[p], data.y != p
    M_o = ((N * data.mean - data.n[p] * M_p) / (N - data.n[p]))[None]
    point = M_p + shift * (M_p - M_o[0])
    rest = np.arange(len(data.n)) != p
    if setting.means:
        A = scatter(data.n[rest], data.means[rest] - M_p, factors, k)
        apart = scatter(np.array([N - data.n[p]]), M_o - point, factors, k)
        A = A + apart - scatter(np.array([N - data.n[p]]), M_o - M_p, factors, k)
    else:
        A = scatter(data.w[others], data.X[others] - point, factors, k)
    inside = scatter(data.w[~others], data.X[~others] - M_p, factors, k)
    part = data.n[p] / N
    moved = scatter(data.n[p : p + 1], (M_p - point)[None], factors, k)
    if share == 0:
        about = np.trace(scatter(data.w, data.X - M_p, factors, k))
        return A, inside + moved, ridge_of(setting, part * about / size, about)
    B = (1 - share) * inside + share * part * within
    steps = (data.n * ((data.means - data.mean).reshape(len(rest), -1) ** 2).sum(axis=1)).sum()
    whole = (data.w * ((data.X - data.mean).reshape(len(data.X), -1) ** 2).sum(axis=1)).sum()
    wider = 1 + steps / whole if whole > 0 else REAL(1)
    unit = part * wider * np.trace(total) / size
    return (
        A,
        B + moved,
        ridge_of(setting, unit, np.trace(total), share / usual_share(data, setting)),
    )


def usual_share(data, setting):
    """The shrinkage of the class of a sample, on average."""
    if setting.shrinkage != "auto":
        return REAL(setting.shrinkage)
    if data.usual is None:
        each = [share_of_all(data, "auto", c) for c in range(len(data.n))]
        data.usual = (data.n * np.array(each)).sum() / data.n.sum()
    return data.usual


def ridge_of(setting, unit, floor, part=1):
    least = np.finfo(float).eps * floor if floor > 0 else REAL(1)
    ridge = part * REAL(setting.ridge)
    return max(ridge if setting.absolute else ridge * unit, least)


# ── One pair ────────────────────────────────────────────────────────────────────────────────────


def eigen(S):
    """Eigenvalues, largest first, and eigenvectors of a symmetric matrix, in extended precision."""
    size = np.abs(S).max()
    if not size > 0:
        return np.zeros(len(S), REAL), np.eye(len(S), dtype=REAL)
    S = (S + S.T) / (2 * size)
    V = np.linalg.eigh(S.astype(float))[1][:, ::-1].astype(REAL)
    for _ in range(3):
        R = np.eye(len(S), dtype=REAL) - V.T @ V
        D = V.T @ S @ V
        values = np.diag(D) / (1 - np.diag(R))
        gaps = values[None, :] - values[:, None]
        close = np.abs(gaps) <= 1e-13
        step = (D + values[None, :] * R) / np.where(close, 1, gaps)
        V = V + V @ np.where(close, R / 2, step)
    return values * size, V


def lower(B):
    """The Cholesky factor, and its inverse."""
    n = len(B)
    L = np.zeros((n, n), REAL)
    for j in range(n):
        L[j:, j] = B[j:, j] - L[j:, :j] @ L[j, :j]
        L[j:, j] /= np.sqrt(L[j, j])
    inverse = np.zeros((n, n), REAL)
    for i in range(n):
        row = -L[i, :i] @ inverse[:i]
        row[i] += 1
        inverse[i] = row / L[i, i]
    return L, inverse


def orthonormal(W):
    """Gram and Schmidt, twice."""
    Q = np.zeros_like(W)
    for j in range(W.shape[1]):
        v = W[:, j]
        for _ in range(2):
            v = v - Q[:, :j] @ (Q[:, :j].T @ v)
        Q[:, j] = v / np.sqrt(v @ v)
    return Q


def ratio_trace(A, B, r, moved=None):
    """Generalised eigenvectors with W^T B W = I, their values, and how many there are at all.

    Where B is a sphere, A is changed in its last digits, too: eigenvalues in double precision are
    those of such a matrix, so eigenvectors of small ones hang on the largest.
    """
    _, inverse = lower(B)
    whitened = inverse @ A @ inverse.T
    values, vectors = eigen(whitened if moved is None else in_last_digits(whitened, moved))
    return values, inverse.T @ vectors[:, :r]


def telling(values, r, top=None):
    """How many of r directions are something, and whether one of them is neither."""
    top = max(values[0], REAL(0)) if top is None else top
    something = int((values[:r] > NOTHING * top).sum())
    unclear = bool(((values[:r] > 1e-18 * top) & (values[:r] < 1e-10 * top)).any())
    return max(something, 1), unclear


def null_space(A, B, r):
    """Orthonormal directions without scatter B, those with the most of A first."""
    values, vectors = eigen(B)
    rounding = 1e-13 * (np.trace(A) + np.trace(B))
    inside = values <= max(1e-10 * values[0], rounding)
    if not inside.any():
        inside = np.arange(len(B)) >= len(B) - r
    basis = vectors[:, inside]
    kept, turned = eigen(basis.T @ A @ basis)
    number, unclear = telling(kept, min(r, basis.shape[1]), np.trace(A))
    unclear |= bool(((values > 1e-16 * values[0]) & (values < 1e-8 * values[0])).any())
    return basis @ turned[:, :number], unclear


def solved(setting, A, B, ridge, r):
    """The columns of one mode, and whether their number is unclear."""
    if setting.moved is not None:
        A, B = (S if S is None else in_last_digits(S, setting.moved) for S in (A, B))
    if setting.kind == "total":
        values, vectors = eigen(A)
        number, unclear = telling(values, r)
        return vectors[:, :number], unclear
    varying, doubt = where_something_varies(A, B)
    B = B + ridge * np.eye(len(A), dtype=REAL)
    if setting.solver == "null_space":
        return null_space(A, B, r)
    values, W = ratio_trace(A, B, r, setting.moved)
    number, unclear = telling(values, r)
    if setting.solver == "ratio_trace":
        W = W[:, :number]
        return (orthonormal(W) if setting.orthonormal else W), unclear
    A, B = (varying.T @ S @ varying for S in (A, B))
    if setting.solver == "trace_difference":
        zeta = max(values[0], REAL(0))
        values, W = eigen(A - zeta * B)
        return varying @ W[:, :r], doubt or is_shared(values, r)
    rho = REAL(0)
    for _ in range(100):  # Newton's iteration from below converges to the global maximum
        values, vectors = eigen(A - rho * B)
        W = vectors[:, :r]
        better = np.trace(W.T @ A @ W) / np.trace(W.T @ B @ W)
        if abs(better - rho) <= 1e-18 * abs(better):
            break
        rho = better
    return varying @ W, doubt or is_shared(values, r)


def where_something_varies(A, B):
    """Orthonormal directions outside of the null space of A + B, and whether one is unclear."""
    size = max(np.trace(A) + np.trace(B), REAL(1e-300))
    values, vectors = eigen((A + B) / size)
    number, unclear = telling(values, len(values), REAL(1))
    return vectors[:, :number], unclear


def in_last_digits(S, rng):
    """A symmetric matrix, changed by the rounding of its largest entry in double precision."""
    E = np.finfo(float).eps * np.abs(S).max() * rng.normal(size=S.shape)
    return S + (E + E.T) / 2


def is_shared(values, r):
    """Whether the last eigenvalue that is kept is the first one that is not, but for rounding."""
    return r < len(values) and bool(values[r - 1] - values[r] <= 1e-9 * np.abs(values).max())


# ── All modes ───────────────────────────────────────────────────────────────────────────────────


def starting(data, setting, shape, share):
    """What is seen of each mode at first: sums of columns, or all of it where these are nothing."""
    whole = [np.eye(size, dtype=REAL) for size in shape]
    if setting.start == "identity":
        return whole
    ones = [np.ones((size, r), REAL) for size, r in zip(shape, setting.ranks, strict=True)]
    if len(shape) == 1:
        return ones
    seen, there = (
        sum(np.trace(S) for S in pair(data, setting, 0, factors, share=share)[:2] if S is not None)
        for factors in (ones, whole)
    )
    return ones if seen > 1e-10 * there else whole


def block(data, setting, share):
    """One block: the projections and the objective after each round."""
    shape = data.X.shape[1:]
    start = starting(data, setting, shape, share)
    factors, history, unclear = list(start), [], False
    for _ in range(1 if setting.direct or len(shape) == 1 else setting.rounds):
        for k, r in enumerate(setting.ranks):
            told = start if setting.direct else factors
            A, B, ridge = pair(data, setting, k, told, share=share)
            W, doubt = solved(setting, A, B, ridge, r)
            factors = [*factors[:k], W, *factors[k + 1 :]]
            unclear |= doubt
        history.append(objective(A, B, ridge, W))
    if setting.direct:
        A, B, ridge = pair(data, setting, len(shape) - 1, factors, share=share)
        history = [objective(A, B, ridge, factors[-1])]
    return factors, history, unclear


def objective(A, B, ridge, W):
    kept = np.trace(W.T @ A @ W)
    return kept if B is None else kept / (np.trace(W.T @ B @ W) + ridge * (W * W).sum())


def about_a_reference(data, setting, share):
    """CSRDA: projection and reference in turn."""
    shift, history, unclear, farthest = REAL(0), [], False, REAL(0)
    whole = [np.eye(data.X.shape[1], dtype=REAL)]
    for _ in range(setting.rounds):
        A, B, ridge = pair(data, setting, 0, whole, shift, share)
        W, doubt = solved(setting, A, B, ridge, setting.ranks[0])
        unclear |= doubt

        value = criterion(data, setting, share, W)
        shift = highest(value)
        farthest = max(farthest, shift)
        history.append(value(shift))
    return [W], history, unclear, shift, farthest


def criterion(data, setting, share, W):
    """J as a function of the shift t. Both scatters are parabolas of t, told by three points."""
    whole, at = [np.eye(len(W), dtype=REAL)], []
    for t in (0, 1, 2):
        A, B, ridge = pair(data, setting, 0, whole, REAL(t), share)
        at.append(np.stack([W.T @ A @ W, W.T @ (B + ridge * np.eye(len(W), dtype=REAL)) @ W]))
    square = (at[2] - 2 * at[1] + at[0]) / 2
    linear = at[1] - at[0] - square

    def value(t):
        A, B = at[0] + t * linear + t * t * square
        if setting.solver == "ratio_trace":
            inverse = lower(B)[1]
            return np.trace(inverse @ A @ inverse.T) / len(B)
        return np.trace(A) / np.trace(B)

    return value


def highest(value):
    """Where a function of t >= 0 with one maximum is largest: by brackets, then golden sections."""
    low, high = REAL(0), REAL(1e-3)
    while value(2 * high) > value(high) and high < 1e12:
        high = 2 * high
    high, gold = 2 * high, (np.sqrt(REAL(5)) - 1) / 2
    left, right = high - gold * (high - low), low + gold * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(70):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + gold * (high - low)
            at_right = value(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - gold * (high - low)
            at_left = value(left)
    best = (low + high) / 2
    return best if value(best) > value(REAL(0)) else REAL(0)


def answer(X, y, weight, n_classes, setting):
    """Everything that a method should find in samples (n, I_1, ..., I_K)."""
    if setting.flattens:
        X = X.reshape(len(X), -1)
    data = Samples(X, y, weight, n_classes)
    share = REAL(0)
    if setting.kind == "class_specific":
        share = share_of_all(data, setting.shrinkage, setting.positive)
    mean = data.mean if setting.kind == "total" else data.means[setting.positive]
    if setting.reference:
        found, history, unclear, shift, farthest = about_a_reference(data, setting, share)
        M_p, N, n_p = mean, data.n.sum(), data.n[setting.positive]
        mean = M_p + shift * (M_p - (N * data.mean - n_p * M_p) / (N - n_p))
        return Found([found], history, mean, unclear, {"shift": shift, "farthest": farthest})
    blocks, unclear = [], False
    left = data
    for number in range(setting.blocks):
        factors, found, doubt = block(left, setting, share_again(left, setting, share, number))
        blocks.append(factors)
        unclear |= doubt
        history = found if number == 0 else history
        Q = [orthonormal(W) for W in factors]
        part = left.X
        for q, basis in enumerate(Q):
            part = np.moveaxis(np.tensordot(part, basis @ basis.T, axes=(q + 1, 0)), -1, q + 1)
        left = left.replaced(left.X - part)
    return Found(blocks, history, mean, unclear)


def share_again(left, setting, share, number):
    """A later block asks for its own shrinkage."""
    if number == 0 or setting.kind != "class_specific":
        return share
    return share_of_all(left, setting.shrinkage, setting.positive)
