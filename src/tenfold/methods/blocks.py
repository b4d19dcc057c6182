"""Blocks of a method: the same problem, solved again for what the earlier solutions leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.mathematics.alternation import solve
from tenfold.mathematics.criteria import Problem, lowered
from tenfold.mathematics.deflation import NOTHING, Block, deflated, total_square, whole_square
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
    blocks, before, to_keep = [own], total_square(statistics), _to_keep(method.problem(statistics))
    for number in range(1, method.blocks):
        statistics = deflated(statistics, lowered(statistics, blocks[-1]))
        problem, gone = method.problem(statistics), None
        if not total_square(statistics) > NOTHING * before:
            gone = "samples"
        elif not _to_keep(problem) > NOTHING * to_keep:
            gone = "scatter that the method keeps"
        if gone is not None:
            raise ValueError(
                f"blocks is {method.blocks}, but after {number} of them, the last of ranks "
                f"{tuple(W.shape[1] for W in blocks[-1])}, nothing is left of the {gone}; use at "
                f"most {number} blocks, or lower ranks"
            )
        block = solve(problem, method.recipe()).columns(0)
        blocks.append(_with_more_than_rounding(block, statistics, problem, to_keep))
    return {"blocks_": blocks}


def _with_more_than_rounding(
    block: Block, statistics: ClassStatistics, problem: Problem, to_keep: float
) -> Block:
    """A block without directions along which nothing but rounding is left of the samples.

    The rounding of a remainder is that of all there was, and may be much of what is left.
    """
    whole = [np.eye(size)[None] for size in problem.shape]
    found = []
    for mode, (own, W) in enumerate(zip(block, lowered(statistics, block), strict=True)):
        A = problem.along_mode(mode, whole)[0][0]
        kept = np.einsum("ir,ir->r", W, A @ W)
        rounding = 10 * len(A) * np.finfo(float).eps * to_keep
        tells = kept > rounding * (W**2).sum(axis=0)
        tells[0] = True  # as in a first block
        found.append(own[:, tells])
    return found


def _to_keep(problem: Problem) -> float:
    """What there is of the scatter that a problem maximises."""
    return whole_square(problem.maximise, problem.shape)
