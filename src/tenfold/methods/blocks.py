"""Blocks of a method: the same problem, solved again for what the earlier solutions leave."""

from __future__ import annotations

from typing import Any

from tenfold.mathematics.alternation import solve
from tenfold.mathematics.criteria import lowered
from tenfold.mathematics.deflation import NOTHING, Block, deflated, total_square
from tenfold.mathematics.moments import ClassStatistics


def learned_blocks(method: Any, statistics: ClassStatistics, own: Block) -> dict[str, list[Block]]:
    """The learned attribute `blocks_` of a method that has several; none for one.

    Parameters
    ----------
    method : TensorProjector
        Says how many blocks, which problem, and how it is solved.
    statistics : ClassStatistics
        Of the samples.
    own : list of K ndarrays of shape (I_k, r_k)
        The first block, in the space of the samples.

    Returns
    -------
    dict
        Empty, or with the projections of all blocks, in the space of the samples.
    """
    if method.blocks == 1:
        return {}
    blocks, before = [own], total_square(statistics)
    for number in range(1, method.blocks):
        statistics = deflated(statistics, lowered(statistics, blocks[-1]))
        if not total_square(statistics) > NOTHING * before:
            raise ValueError(
                f"blocks is {method.blocks}, but after {number} of them, the last of ranks "
                f"{tuple(W.shape[1] for W in blocks[-1])}, nothing is left of the samples; use at "
                f"most {number} blocks, or lower ranks"
            )
        blocks.append(solve(method.problem(statistics), method.recipe()).columns(0))
    return {"blocks_": blocks}
