"""The paper's tables and its complexity section, reproduced by one call each."""

from tenfold.experiments.complexity import complexity
from tenfold.experiments.ledger import RunError
from tenfold.experiments.reproduction import EXPERIMENTS, Reproduction, reproduce
from tenfold.experiments.tables import Table, as_csv, as_markdown, as_page, as_text

__all__ = [
    "EXPERIMENTS",
    "Reproduction",
    "RunError",
    "Table",
    "as_csv",
    "as_markdown",
    "as_page",
    "as_text",
    "complexity",
    "reproduce",
]
