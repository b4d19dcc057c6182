"""Random methods, parameters, samples and paths against formulas in extended precision."""

from collections import Counter

import numpy as np
import pytest

from agreement import cases, oracle

CASES = 240  # .ci/run makes 3000 others; `make soak` as many as one likes
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_random_fits_agree_with_the_oracle(part, tmp_path):
    counts = Counter()
    for number in range(part, CASES, PARTS):
        verdict = cases.check([0, number], tmp_path)
        assert verdict in cases.VERDICTS, verdict
        counts[verdict] += 1
    assert counts["agrees"] >= 0.85 * counts.total()


def test_every_method_path_and_order_is_drawn():
    drawn = [cases.draw([0, number]) for number in range(600)]
    assert {case.name for case in drawn} == {M.__name__ for M in cases.LINEAR_METHODS}
    assert {case.path for case in drawn} == set(cases.PATHS)
    assert {case.X.ndim - 1 for case in drawn} == {1, 2, 3, 4, 5}
    assert len({case.X.dtype.newbyteorder("=") for case in drawn}) == 5


@pytest.mark.parametrize("n", [1, 4, 9])
def test_the_oracle_solves_to_the_last_digits_of_extended_precision(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, 2 * n)).astype(oracle.REAL)
    S = root @ root.T
    values, V = oracle.eigen(S)
    eps = float(np.finfo(oracle.REAL).eps)
    assert float(np.abs(V.T @ V - np.eye(n)).max()) <= 100 * eps
    assert float(np.abs(S @ V - V * values).max()) <= 1000 * eps * float(values[0])
    L, inverse = oracle.lower(S)
    assert float(np.abs(L @ L.T - S).max()) <= 100 * eps * float(values[0])
    assert float(np.abs(inverse @ L - np.eye(n)).max()) <= 1e5 * eps


def test_the_comparison_sees_a_small_error(monkeypatch):
    right = cases.expected

    def wrong(case, moved=None, **options):
        if moved is None:
            case.setting.ridge *= 1.0001
        return right(case, moved, **options)

    monkeypatch.setattr(cases, "expected", wrong)
    verdicts = [cases.check([0, n]) for n in range(20)]
    assert sum(verdict not in cases.VERDICTS for verdict in verdicts) >= 5
