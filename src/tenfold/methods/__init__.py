"""The methods, one file each. `ALL_METHODS` is the only list of them."""

from tenfold.methods.class_specific import ClassSpecificProjector
from tenfold.methods.cmda import CMDA as CMDA  # so type checkers see that the name is public
from tenfold.methods.csda import CSDA as CSDA
from tenfold.methods.csrda import CSRDA as CSRDA
from tenfold.methods.dater import DATER as DATER
from tenfold.methods.dgtda import DGTDA as DGTDA
from tenfold.methods.gtda import GTDA as GTDA
from tenfold.methods.hoda import HODA as HODA
from tenfold.methods.kernelcsda import KernelCSDA as KernelCSDA
from tenfold.methods.mcsda import MCSDA as MCSDA
from tenfold.methods.mpca import MPCA as MPCA

ALL_METHODS = (MCSDA, CSDA, CSRDA, KernelCSDA, CMDA, DATER, DGTDA, GTDA, HODA, MPCA)
KERNEL_METHODS = (KernelCSDA,)  # what they project is not the sample itself
LINEAR_METHODS = tuple(M for M in ALL_METHODS if M not in KERNEL_METHODS)
CLASS_SPECIFIC_METHODS = tuple(M for M in ALL_METHODS if issubclass(M, ClassSpecificProjector))
