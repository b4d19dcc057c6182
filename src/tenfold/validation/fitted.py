"""Checks of what a fitted estimator has, against what is asked of it."""

from __future__ import annotations

from typing import Any

from sklearn.utils._set_output import _get_output_config

from tenfold.mathematics.moments import ClassMoments


def check_output(estimator: Any) -> str:
    """The parameter `output`: what `set_output` asks for must be able to hold it."""
    container = _get_output_config("transform", estimator)["dense"]
    if estimator.output == "tensor" and container != "default":
        raise ValueError(
            f"set_output asks for {container}, whose rows are flat, but output is 'tensor'; "
            "use output='flat', or set_output(transform='default')"
        )
    return str(estimator.output)


def check_kept_moments(estimator: Any) -> ClassMoments:
    """The moments that an estimator kept, for more to be added."""
    if not hasattr(estimator, "moments_"):
        raise ValueError(
            f"this {type(estimator).__name__} was fitted without keeping the moments of its "
            "samples, so partial_fit cannot add to it; fit with statistics='moments', or start "
            "with partial_fit, to keep them"
        )
    moments: ClassMoments = estimator.moments_
    return moments
