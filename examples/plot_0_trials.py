"""
Four kinds of response: evoked potentials from few recordings
=============================================================

A sample here is a short recording: 24 channels over 60 points in time, as from electrodes. There
are four kinds of response and 20 recordings of each to learn from. As a vector a recording has 1440
numbers, far more than there are recordings.

The recordings are simulated, so that this page needs no download. The response of a class is *one*
pattern over channels times *one* wave over time. The noise is similar in neighbouring channels and
changes slowly. That is the usual model of evoked responses in EEG.
"""

# %%
# Training and test recordings of the same subject
# ------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np

from tenfold.datasets import make_trials

train = make_trials(80, random_state=0)
test = make_trials(400, random_state=1)
print(train)

# %%
# Everything at its defaults, next to scikit-learn
# ------------------------------------------------
# Classifiers of scikit-learn see each recording as a vector of 1440 numbers. `ProbabilisticLDA`
# knows the modes: one of its views has a covariance with one factor for channels and one for time.
# `CMDA` learns one projection for the channels and one for time. It uses labels, so it stands
# before the classifier in a pipeline.

import time

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from tenfold import CMDA, ProbabilisticLDA

ours = {
    "ProbabilisticLDA()": ProbabilisticLDA(),
    "CMDA(), ProbabilisticLDA()": make_pipeline(CMDA(), ProbabilisticLDA()),
    "ProbabilisticLDA(views=['numbers'])": ProbabilisticLDA(views=["numbers"]),
}
theirs = {
    "LinearDiscriminantAnalysis, shrinkage": LinearDiscriminantAnalysis("lsqr", shrinkage="auto"),
    "RidgeClassifier": RidgeClassifier(),
    "LinearSVC": LinearSVC(),
    "LogisticRegression": LogisticRegression(),
    "SVC": SVC(),
    "NearestCentroid": NearestCentroid(),
}

accuracy = {}
for name, model in {**ours, **theirs}.items():
    X_train, X_test = train.X, test.X
    if name in theirs:
        X_train, X_test = train.X.reshape(80, -1), test.X.reshape(400, -1)
    start = time.perf_counter()
    model.fit(X_train, train.y)
    seconds = time.perf_counter() - start
    accuracy[name] = model.score(X_test, test.y)
    print(f"{name:40} {100 * accuracy[name]:5.1f} %  {seconds:5.2f} s")

# %%
# `ProbabilisticLDA` at its defaults has the highest accuracy of this table.

assert max(accuracy, key=accuracy.get) == "ProbabilisticLDA()"

# %%
# Which view does it use?
# -----------------------
# The covariance of 1440 numbers cannot be learned from 80 recordings, but that of 24 channels and
# that of 60 points in time can. So the view "kronecker" predicts left-out recordings best, and it
# gets most of the weight. With the view "numbers" alone the model has an accuracy similar to that
# of the classifiers of scikit-learn. If the noise has no such structure, as in most images, other
# views get the weight.

model = ours["ProbabilisticLDA()"]
for name, weight, loss in zip(model.views_, model.weights_, model.pool_["log_losses"], strict=True):
    print(f"{name:12} weight {weight:.2f}, left-out log loss alone {loss:.2f}")

assert model.views_[int(np.argmax(model.weights_))] == "kronecker"
assert model.views_[int(np.argmin(model.pool_["log_losses"]))] == "kronecker"

# %%
# What does a class look like?
# ----------------------------
# The weights of a classifier also cancel the noise, so they partly look like noise. `patterns_`,
# the covariance times the weights (Haufe et al., 2014), show which numbers of a recording vary with
# the score of a class. The pattern of each class is largest near the peak of its wave, which is at
# 0.3, 0.43, 0.57 and 0.7 of the recording.

linear = ProbabilisticLDA(views="linear").fit(train.X, train.y)
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), sharey=True, layout="constrained")
for ax, pattern, label in zip(axes, linear.patterns_, linear.classes_, strict=True):
    largest = np.abs(pattern).max()
    ax.imshow(pattern, aspect="auto", cmap="RdBu_r", vmin=-largest, vmax=largest)
    ax.set(title=f"class {label}", xlabel="time")
axes[0].set_ylabel("channel")

energy = (linear.patterns_**2).sum(axis=1)
peaks = energy.argmax(axis=1) / energy.shape[1]
print("largest at", peaks.round(2))
assert np.abs(peaks - [0.3, 0.43, 0.57, 0.7]).max() < 0.05

# %%
# The projections of CMDA can be drawn in the same way: channels on the left, time on the right.

from tenfold.plots import ProjectionsDisplay

cmda = ours["CMDA(), ProbabilisticLDA()"][0]
ProjectionsDisplay.from_estimator(cmda, mode_names=train.mode_names, patterns=True)
plt.show()

# %%
# The same on the command line::
#
#     tenfold compare trials.npz
#     tenfold fit trials.npz --method cmda --rows train -o model.safetensors
#     tenfold evaluate model.safetensors trials.npz --rows test
