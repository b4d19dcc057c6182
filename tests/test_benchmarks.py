"""The benchmarks compare like with like, and notice when they do not."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

pytestmark = [
    pytest.mark.skipif(not BENCHMARKS.exists(), reason="a source distribution has no benchmarks"),
]


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in ("contestants", "data", "growth", "jobs", "literal", "measure", "page", "peers"):
        sys.modules.pop(name, None)


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
