"""Checks of what a fitted estimator has, against what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from tenfold.mathematics.moments import ClassMoments

NAMES = ("feature_names_in_", "mode_names_", "mode_labels_")
DESCRIPTION = ("sample_shape_", "n_features_in_", *NAMES)


def check_fitted(estimator: Any, attribute: str) -> None:
    """Refuse an estimator that lacks this learned attribute, as scikit-learn does it.

    Scikit-learn makes all tags of an estimator first, which takes as long as scoring a sample.
    """
    if attribute not in vars(estimator):
        check_is_fitted(estimator, attribute)


def description_of(estimator: Any) -> dict[str, Any]:
    """What an estimator knows of the samples that it was fitted on."""
    return {name: getattr(estimator, name) for name in DESCRIPTION if hasattr(estimator, name)}


def of_samples(described: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the samples, without what a method learned of them before its statistics."""
    return {name: value for name, value in described.items() if name in DESCRIPTION}


def check_output(estimator: Any) -> str:
    """What `set_output` asks for; it must be able to hold what the parameter `output` says."""
    container = str(_get_output_config("transform", estimator)["dense"])
    if estimator.output == "tensor" and container != "default":
        raise ValueError(
            f"set_output asks for {container}, whose rows are flat, but output is 'tensor'; "
            "use output='flat', or set_output(transform='default')"
        )
    return container


def check_kept_moments(estimator: Any) -> ClassMoments:
    """The moments that an estimator kept, for more to be added."""
    if not hasattr(estimator, "moments_"):
        raise ValueError(
            f"this {type(estimator).__name__} was fitted without keeping the moments of its "
            "samples, so partial_fit cannot add to it; start with partial_fit, to keep them (and "
            "in files with save(..., moments=True))"
        )
    moments: ClassMoments = estimator.moments_
    return moments
