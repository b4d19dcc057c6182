"""Gait, IFNB and CSA: what was promised beside published figures holds on the data.

``--junitxml=file -o junit_family=xunit1`` keeps the figures.
"""

from copy import deepcopy

import numpy as np
import pytest

from paper.gait import PROBES, fitted, gait_set, percent_within, places
from paper.small_tensors import left_out_cell

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def data(data_root):
    if not (data_root / "gait").is_dir() or not (data_root / "small").is_dir():
        pytest.skip(f"no gait or small sets in {data_root}")
    return str(data_root)


def test_gait_beats_the_published_table_when_adapted_to_sessions(data, record_property):
    """Published: 54.77 and 76.02, with features chosen on the probes."""
    model = fitted(*gait_set(data, "Gal"), "no copies")  # what is chosen, copies, takes minutes
    means = {}
    for centre in ("plain", "adapted"):
        found = []
        for probe in PROBES:
            X, y = gait_set(data, f"Prb{probe}")
            one = deepcopy(model).adapt(X) if centre == "adapted" else model
            found.append(places(one, X, y))
        for rank in (1, 5):
            rates = [percent_within(f, rank, everyone=True) for f in found]
            means[centre, rank] = float(np.mean(rates))
            record_property(f"{centre}, rank {rank}", means[centre, rank])
    assert means["plain", 1] > 48
    assert means["plain", 5] > 68
    assert means["adapted", 1] > 58
    assert means["adapted", 5] > 79


@pytest.mark.xfail(reason="10 of 53 are wrong (18.9 %), one more than published: an open issue")
def test_ifnb_has_fewer_errors_than_the_published_classifier(data, record_property):
    found = left_out_cell(data, "IFNB", "ProbabilisticLDA()", 1)
    error = 100 * len(found["wrong"]) / found["n"]
    record_property("percent", error)
    assert found["n"] == 53
    assert error <= 16.9


ONE_OF_49 = pytest.mark.xfail(reason="1 of 49 is wrong (2.04 %): an open issue")


@pytest.mark.parametrize("name", [pytest.param("CSA, PEL", marks=ONE_OF_49), "CSA, IDLH"])
def test_chemicals_are_hardly_ever_confused(data, name, record_property):
    found = left_out_cell(data, name, "ProbabilisticLDA()", 3)  # every third, for time
    error = 100 * len(found["wrong"]) / found["n"]
    record_property("percent", error)
    assert error <= 2
