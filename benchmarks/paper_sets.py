"""The loaders of the paper's sets, from paper/ beside this folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from paper.fi2010 import load_fi2010_days
from paper.orl import load_orl
from paper.pie import load_pie

__all__ = ["load_fi2010_days", "load_orl", "load_pie"]
