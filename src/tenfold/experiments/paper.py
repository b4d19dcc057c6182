"""The figures that the paper prints, to stand beside ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

_TABLES = {"orl": "table1_orl_map", "pie": "table2_pie_map", "fi2010": "table3_fi2010"}


def paper_table(experiment: str) -> dict[str, Any]:
    """The printed table of an experiment.

    Parameters
    ----------
    experiment : {"orl", "pie", "fi2010"}
        Tables 1, 2 and 3.

    Returns
    -------
    dict
        As in ``paper_tables.json``.

    Examples
    --------
    >>> from tenfold.experiments.paper import paper_table
    >>> paper_table("orl")["MCSDA"]["map"]
    [72.2, 84.73, 87.65, 92.05, 95.69]
    """
    table: dict[str, Any] = _all_tables()[_TABLES[experiment]]
    return table


@cache
def _all_tables() -> dict[str, Any]:
    text = files("tenfold.experiments").joinpath("paper_tables.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def printed_map(experiment: str, row: str, share: float) -> float | None:
    """The paper's mAP of a row at a share of training images, None when it has none.

    Examples
    --------
    >>> from tenfold.experiments.paper import printed_map
    >>> printed_map("orl", "CSDA", 0.5), printed_map("orl", "CSDA, shrinkage", 0.5)
    (97.81, None)
    """
    table = paper_table(experiment)
    if row not in table or share not in table["k"]:
        return None
    return float(table[row]["map"][table["k"].index(share)])
