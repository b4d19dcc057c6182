"""Steps before a model: each learns from samples, changes samples, and stands in a pipeline."""

from tenfold.preprocessing.covariate_remover import CovariateRemover as CovariateRemover
from tenfold.preprocessing.gaussian_imputer import GaussianImputer as GaussianImputer
from tenfold.preprocessing.mode_scaler import ModeScaler as ModeScaler

ALL_STEPS = (ModeScaler, GaussianImputer, CovariateRemover)
