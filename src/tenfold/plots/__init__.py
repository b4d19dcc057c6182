"""Pictures of fitted models, in the manner of scikit-learn's displays.

Every display has ``from_estimator``, which computes what is to be drawn, and ``plot``, which draws
it. After ``plot`` the axes are in ``ax_`` and the figure is in ``figure_``; displays that need
several axes keep them in ``axes_`` and lay them out inside ``ax_``. matplotlib comes with the
extra ``plot`` and is imported only when something is drawn.
"""

from tenfold.plots.curves import PrecisionRecallDisplay, RocDisplay
from tenfold.plots.directions import DirectionsDisplay
from tenfold.plots.error_rates import ErrorRatesDisplay
from tenfold.plots.objective import ObjectiveDisplay
from tenfold.plots.projections import ProjectionsDisplay
from tenfold.plots.rank_grid import RankGridDisplay
from tenfold.plots.reliability import ReliabilityDisplay
from tenfold.plots.scores import ScoresDisplay

__all__ = [
    "DirectionsDisplay",
    "ErrorRatesDisplay",
    "ObjectiveDisplay",
    "PrecisionRecallDisplay",
    "ProjectionsDisplay",
    "RankGridDisplay",
    "ReliabilityDisplay",
    "RocDisplay",
    "ScoresDisplay",
]
