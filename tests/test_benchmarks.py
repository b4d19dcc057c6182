"""The benchmarks compare like with like, and notice when they do not."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(not BENCHMARKS.exists(), reason="a source distribution has no benchmarks"),
]


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in ("contestants", "data", "growth", "jobs", "literal", "measure", "page", "peers"):
        sys.modules.pop(name, None)


@pytest.fixture
def few_samples():
    import contestants

    return contestants.planted(60, (8, 6), (3, 2), n_classes=3)


def test_the_literal_algorithm_finds_the_subspaces_of_tenfold(few_samples):
    import contestants
    from measure import disagreement

    ours, literal = (f(few_samples) for f in (contestants.tenfold_mcsda, contestants.literal_mcsda))
    assert ours.keys() == literal.keys() == {"W0", "W1"}
    assert disagreement(ours, literal) < 1e-9


def test_the_literal_mpca_finds_the_subspaces_of_tenfold(few_samples):
    import contestants
    import literal
    from measure import disagreement

    found = contestants.subspaces(literal.mpca(few_samples["X"], few_samples["ranks"]))
    assert disagreement(contestants.tenfold_mpca(few_samples), found) < 1e-9


@pytest.mark.parametrize("alternate", [True, False])
def test_hoda_from_its_paper_finds_the_subspaces_of_tenfold(few_samples, alternate):
    import contestants
    from measure import disagreement

    method = contestants.HODA if alternate else contestants.DirectHODA
    ours = contestants.tenfold_hoda(few_samples, method)
    assert disagreement(ours, contestants.literal_hoda(few_samples, alternate)) < 1e-7


def test_a_bank_of_vectors_is_the_same_class_by_class():
    import contestants
    from measure import disagreement

    given = contestants.planted(168, (15, 12), (5, 4), n_classes=24)
    ours, literal = contestants.tenfold_vector_bank(given), contestants.literal_vector_bank(given)
    assert ours.keys() == literal.keys()
    assert disagreement(ours, literal) < 1e-7


def test_a_grid_is_the_same_one_by_one(few_samples):
    import contestants
    from measure import disagreement

    grid, shown = [(2, 1), (3, 2)], [0, 4]
    ours = contestants.tenfold_grid(few_samples, grid, shown)
    literal = contestants.literal_grid(few_samples, grid, shown)
    assert ours.keys() == literal.keys()
    assert disagreement(ours, literal) < 1e-9


def test_scores_are_the_same_one_by_one():
    import contestants
    from measure import disagreement

    given = contestants.bank_and_samples(30)
    ours, literal = contestants.tenfold_scores(given), contestants.literal_scores(given)
    assert disagreement(ours, literal) < 1e-12


def test_another_answer_is_noticed():
    from measure import disagreement

    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3)))[0]
    assert disagreement({"W0": Q}, {"W0": -3 * Q[:, ::-1]}) < 1e-12  # the same subspace
    assert disagreement({"W0": Q[:, :2]}, {"W0": Q[:, 1:]}) == pytest.approx(np.sqrt(2))
    assert disagreement({"d": np.ones(3)}, {"d": np.array([1, 1, 1.5])}) == pytest.approx(0.5)


def test_a_contestant_is_measured_in_a_process_of_its_own():
    from measure import Effort, measured

    size = {"n": 50, "shape": (6, 5), "ranks": (2, 2), "n_classes": 2}
    result = measured("jobs", "mcsda", "tenfold", size, threads=1, effort=Effort(3, 60.0))
    assert len(result["wall"]) == len(result["cpu"]) == 3
    assert min(result["wall"]) > 0
    assert result["answer"]["W0"].shape == (6, 2)


def test_every_job_is_led_by_tenfold():
    import growth
    import jobs

    for job in [*jobs.JOBS.values(), *growth.JOBS.values()]:
        assert next(iter(job.contestants)) == "tenfold"
        assert set(job.limits) | set(job.approximate) | set(job.share) <= set(job.contestants)


def test_a_page_says_where_a_peer_is_faster():
    page = pytest.importorskip("page", reason="needs matplotlib")
    row = {"contestant": "tenfold", "cpu": [2.0], "status": "agrees", "x": 1000}
    peer = row | {"contestant": "peer", "cpu": [1.0]}
    (said,) = page.slower_than_a_peer([row, peer])
    said = said.replace("\N{NO-BREAK SPACE}", " ")
    assert "peer is faster: 1 s of CPU against 2 s" in said
    assert not list(page.slower_than_a_peer([row, peer | {"cpu": [3.0]}]))


def test_exponents_are_slopes():
    page = pytest.importorskip("page", reason="needs matplotlib")
    x = np.array([1.0, 10, 100, 1000])
    assert page.exponent(x, 5 * x**2) == " (2.0)"
