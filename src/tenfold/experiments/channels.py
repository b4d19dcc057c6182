"""Statistics of images with channels that are kept whole, as statistics of two modes.

With orthonormal columns a mode that is kept whole is no projection at all. So for an image stacked
with its HOG image, r_3 = 2, the third mode never needs a solution: each channel enters the scatters
of the two image modes as an image of its own, about its own class mean. The subspaces are those of
the method with ranks (r, r, 2), at the cost of (r, r).
"""

from __future__ import annotations

import numpy as np

from tenfold.mathematics.algebra import Array
from tenfold.mathematics.parts import SamplePart
from tenfold.mathematics.sample_statistics import SampleStatistics
from tenfold.mathematics.scatter import Scatter


class ChannelStatistics(SampleStatistics):
    """Statistics of images (n, I_1, I_2, channels), asked along the first two modes.

    Parameters
    ----------
    classes, counts, means, X, codes, weights, workload
        As for `SampleStatistics`; make one with `from_batch`.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (I_1, I_2) of one channel."""
        return self.means.shape[1:3]

    def displacement(self, classes: Array) -> Scatter:
        """``N (M - M_p)(M - M_p)^T`` for each of the named classes, as groups."""
        n = len(classes)
        means = self.means[classes]
        everyone = np.broadcast_to(self.mean, means.shape)
        groups = [np.array([g]) for g in range(n)]
        weights = np.full(n, self.count)
        return Scatter.of(by_channel(SamplePart(everyone, means, np.arange(n), groups, weights)))

    def _part(self, centres: Array, centre_of: Array, members: list[Array]) -> SamplePart:
        return by_channel(super()._part(centres, centre_of, members))


def by_channel(part: SamplePart) -> SamplePart:
    """A part over images (n, I_1, I_2, channels) as one over n * channels images.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.experiments.channels import by_channel
    >>> from tenfold.mathematics.parts import SamplePart
    >>> images, centre = np.ones((3, 4, 5, 2)), np.zeros((1, 4, 5, 2))
    >>> part = SamplePart(images, centre, np.zeros(3, int), [np.arange(3)])
    >>> by_channel(part).X.shape
    (6, 4, 5)
    """
    n, n_centres, channels = len(part.X), len(part.centres), part.X.shape[-1]
    images, centres = (np.concatenate(np.moveaxis(A, -1, 0)) for A in (part.X, part.centres))
    return SamplePart(
        images,
        centres,
        np.concatenate([part.centre_of + c * n_centres for c in range(channels)]),
        [np.concatenate([rows + c * n for c in range(channels)]) for rows in part.members],
        None if part.weights is None else np.tile(part.weights, channels),
    )
