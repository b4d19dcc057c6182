"""What an experiment is: cells to compute, and a way to put them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tenfold.experiments.runner import Cell
from tenfold.experiments.tables import Table

Summary = tuple[list[dict[str, Any]], list[Table]]


@dataclass(frozen=True)
class Experiment:
    """Something that can be run, interrupted and continued.

    Parameters
    ----------
    name : str
        A short name.
    title : str
        What the page and the progress bar say.
    settings : dict
        Everything that decides the results, as JSON types.
    cells : list of Cell
        What has to be computed.
    summarise : callable
        From the results of all cells to records and tables.
    """

    name: str
    title: str
    settings: dict[str, Any]
    cells: list[Cell]
    summarise: Callable[[dict[str, dict[str, Any]]], Summary]
