"""Pictures of fitted models, in the manner of scikit-learn's displays.

Every display has ``from_estimator``, which computes what is to be drawn, and ``plot``, which draws
it. After ``plot`` the axes are in ``ax_`` and the figure is in ``figure_``; displays that need
several axes keep them in ``axes_`` and lay them out inside ``ax_``. matplotlib comes with the
extra ``plot`` and is imported only when something is drawn.
"""

from tenfold.plots.decisions import (
    ErrorRatesDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ScoresDisplay,
)
from tenfold.plots.pool import PoolDisplay
from tenfold.plots.rank_grid import RankGridDisplay
from tenfold.plots.subspaces import DirectionsDisplay, ObjectiveDisplay, ProjectionsDisplay

__all__ = [
    "DirectionsDisplay",
    "ErrorRatesDisplay",
    "ObjectiveDisplay",
    "PoolDisplay",
    "PrecisionRecallDisplay",
    "ProjectionsDisplay",
    "RankGridDisplay",
    "ReliabilityDisplay",
    "RocDisplay",
    "ScoresDisplay",
]
