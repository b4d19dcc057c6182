"""Metrics of the field: verification, open-set identification, ranking and calibration."""

from tenfold.metrics.calibration import reliability as reliability
from tenfold.metrics.evaluation import evaluate as evaluate
from tenfold.metrics.ranking import mean_average_precision as mean_average_precision
from tenfold.metrics.verification import cllr as cllr
from tenfold.metrics.verification import (
    detection_identification_rate as detection_identification_rate,
)
from tenfold.metrics.verification import equal_error_rate as equal_error_rate
from tenfold.metrics.verification import equal_error_threshold as equal_error_threshold
from tenfold.metrics.verification import error_rates as error_rates
from tenfold.metrics.verification import min_cllr as min_cllr
from tenfold.metrics.verification import min_dcf as min_dcf
