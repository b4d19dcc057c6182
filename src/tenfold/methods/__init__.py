"""The methods, one file each. `ALL_METHODS` is the only list of them."""

from tenfold.methods.cmda import CMDA
from tenfold.methods.csda import CSDA
from tenfold.methods.dater import DATER
from tenfold.methods.dgtda import DGTDA
from tenfold.methods.gtda import GTDA
from tenfold.methods.hoda import HODA
from tenfold.methods.mcsda import MCSDA
from tenfold.methods.mpca import MPCA

ALL_METHODS = (MCSDA, CSDA, CMDA, DATER, DGTDA, GTDA, HODA, MPCA)
CLASS_SPECIFIC_METHODS = (MCSDA, CSDA)

__all__ = ["ALL_METHODS", "CLASS_SPECIFIC_METHODS", *(M.__name__ for M in ALL_METHODS)]
