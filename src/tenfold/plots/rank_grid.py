"""The scores of a search over ranks."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from tenfold.linalg.algebra import Array
from tenfold.plots.display import AMOUNT, OTHERS, OWN, Display, tidy
from tenfold.tables import times

if TYPE_CHECKING:
    from tenfold.plots.display import Axes
    from tenfold.selection.rank_search import RankSearchCV


class RankGridDisplay(Display):
    """Cross-validated score of every choice of ranks.

    Ranks that only grow together, such as (2, 2), (3, 3), ..., make a line with its spread over
    the folds; other ranks a heat map of the first two modes, in which a cell shows the best over
    the ranks of any further modes. The best choice is marked.

    Parameters
    ----------
    ranks : array-like of shape (m, K)
        The ranks tried.
    scores : array-like of shape (m,)
        Mean score of each.
    spreads : array-like of shape (m,) or None, default=None
        Standard deviation of each over the folds.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    grid_ : ndarray of shape (n_1, n_2) or None
        What the heat map shows, NaN where nothing was tried; None when a line was drawn.

    Examples
    --------
    >>> from tenfold.plots import RankGridDisplay
    >>> ranks = [(2, 2), (2, 4), (4, 2), (4, 4)]
    >>> RankGridDisplay(ranks, [0.6, 0.7, 0.9, 0.8]).plot().grid_.tolist()
    [[0.6, 0.7], [0.9, 0.8]]
    """

    size = (5.0, 3.8)

    def __init__(self, ranks: object, scores: object, spreads: object = None):
        self.ranks = np.asarray(ranks)
        if self.ranks.ndim == 1:
            self.ranks = self.ranks[:, None]
        self.scores = np.asarray(scores, dtype=float)
        self.spreads = None if spreads is None else np.asarray(spreads, dtype=float)

    @classmethod
    def from_estimator(cls, search: RankSearchCV, *, ax: Axes | None = None) -> RankGridDisplay:
        """Draw what a fitted search found.

        Parameters
        ----------
        search : fitted RankSearchCV
            Or scikit-learn's ``GridSearchCV`` over ranks. Where other parameters were searched
            too, the best over them is drawn; candidates whose ranks are no numbers are not.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RankGridDisplay
            The display, drawn.
        """
        results = search.cv_results_
        named = [name for name in results if name.startswith("param_") and name.endswith("ranks")]
        tried = list(results[named[0]]) if named else []
        drawn = [i for i, ranks in enumerate(tried) if isinstance(ranks, Integral | tuple | list)]
        if not drawn:
            raise ValueError(
                "this search tried no ranks that are numbers, so there is no grid to draw; "
                "search over ints or tuples of ints"
            )
        n_modes = max(np.size(tried[i]) for i in drawn)  # an int stands for all modes
        ranks = np.array([np.broadcast_to(tried[i], n_modes) for i in drawn])
        scores = np.asarray(results["mean_test_score"], dtype=float)[drawn]
        spreads = np.asarray(results["std_test_score"], dtype=float)[drawn]
        falling = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
        best = falling[np.unique(ranks[falling], axis=0, return_index=True)[1]]
        return cls(ranks[best], scores[best], spreads[best]).plot(ax=ax)

    def _draw(self) -> None:
        self.grid_: Array | None = None
        ordered = self.ranks[np.lexsort(self.ranks.T[::-1])]
        if (np.diff(ordered, axis=0) >= 0).all():  # no rank falls: they grow together
            self._plot_line()
        else:
            self._plot_map()

    def _plot_line(self) -> None:
        order = np.lexsort(self.ranks.T[::-1])
        ranks, scores = self.ranks[order], self.scores[order]
        place = np.arange(len(ranks))
        best = int(np.argmax(scores))
        if self.spreads is not None:
            spread = self.spreads[order]
            self.ax_.fill_between(
                place, scores - spread, scores + spread, color=OWN, alpha=0.18, linewidth=0
            )
        self.ax_.plot(place, scores, color=OWN, marker="o", markersize=4)
        self.ax_.plot(place[best], scores[best], "o", markersize=11, mfc="none", mec=OTHERS)
        shown = place[:: max(1, -(-len(place) // 7))]
        self.ax_.set_xticks(shown, [times(ranks[i], "×") for i in shown])
        self.ax_.set(xlabel="ranks", ylabel="score", title=f"best: {times(ranks[best], '×')}")
        tidy(self.ax_)

    def _plot_map(self) -> None:
        first, second = self.ranks[:, :2].T
        rows = np.unique(first)
        columns = np.unique(second)
        self.grid_ = grid = np.full((len(rows), len(columns)), np.nan)
        places = np.searchsorted(rows, first), np.searchsorted(columns, second)
        np.fmax.at(grid, places, self.scores)
        image = self.ax_.imshow(grid, cmap=AMOUNT, aspect="auto", origin="lower")
        row, column = np.unravel_index(np.nanargmax(grid), grid.shape)
        corners = np.array([(-1, -1), (-1, 1), (1, 1), (1, -1), (-1, -1)]) / 2
        self.ax_.plot(
            *(corners + np.array([column, row])).T, color=OTHERS, linewidth=2.5, clip_on=False
        )
        self.ax_.set_xticks(np.arange(len(columns)), columns)
        self.ax_.set_yticks(np.arange(len(rows)), rows)
        over = " (best over the others)" if self.ranks.shape[1] > 2 else ""
        self.ax_.set(xlabel=f"rank of mode 2{over}", ylabel="rank of mode 1")
        self.ax_.set_title(f"best: {times(self.ranks[np.nanargmax(self.scores)], '×')}")
        if grid.size <= 64:
            _write_numbers(self.ax_, grid)
        self.figure_.colorbar(image, ax=self.ax_, label="score")


def _write_numbers(ax: Axes, grid: Array) -> None:
    """The score in every cell, dark on the bright half of the map and bright on the dark half."""
    middle = (np.nanmin(grid) + np.nanmax(grid)) / 2
    for (row, column), score in np.ndenumerate(grid):
        if np.isfinite(score):
            colour = "black" if score > middle else "white"
            text = f"{100 * score:.1f}"
            ax.text(column, row, text, ha="center", va="center", color=colour, fontsize="small")
