"""Pictures of fitted models, with the API of scikit-learn's displays.

Every display has ``from_estimator``, which computes what is to be drawn, and ``plot``, which draws
it. After ``plot`` the axes are in ``ax_`` and the figure is in ``figure_``; displays that need
several axes keep them in ``axes_`` and lay them out inside ``ax_``. matplotlib comes with the
extra ``plot`` and is imported only when something is drawn. scikit-learn's own displays draw ROC,
precision-recall, detection error tradeoff and calibration curves.
"""

from tenfold.plots.decisions import ScoresDisplay
from tenfold.plots.pool import PoolDisplay
from tenfold.plots.rank_grid import RankGridDisplay
from tenfold.plots.subspaces import DirectionsDisplay, ObjectiveDisplay, ProjectionsDisplay

__all__ = [
    "DirectionsDisplay",
    "ObjectiveDisplay",
    "PoolDisplay",
    "ProjectionsDisplay",
    "RankGridDisplay",
    "ScoresDisplay",
]
