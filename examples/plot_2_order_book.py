"""
Where does the price go? Windows of an order book
=================================================

A limit order book changes with every order. A sample is a window of it: features by time. The
label says whether the mid-price will have gone up, stayed or gone down a little later. Both modes
mean something, so we keep them apart: one projection for the features, one for time.

The public set for this is FI-2010. It does not come with any library, so the stream on this page
is made up: a toy with the same shape of problem, and no claim about any market. The last section
runs on FI-2010 when it is there.
"""

# %%
# A stream with a little to be learned
# ------------------------------------
# Ten features follow three hidden pressures, which come and go. The price drifts with one of
# them. Prices are noisy, so that most of the movement cannot be predicted.

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

rng = np.random.default_rng(0)
n_events, n_features, horizon = 30_000, 10, 10
pressure = lfilter([1.0], [1.0, -0.9], rng.normal(size=(n_events, 3)), axis=0)
features = pressure @ rng.normal(size=(3, n_features))
features += 3.0 * rng.normal(size=features.shape)  # noise of its own in every feature
price = np.cumsum(0.3 * pressure[:, 0] + rng.normal(size=n_events))
movement = price[horizon:] - price[:-horizon]
threshold = np.quantile(np.abs(movement), 0.5)
labels = np.where(movement > threshold, "up", np.where(movement < -threshold, "down", "still"))
features = features[:-horizon]  # the label of the last rows lies beyond the stream

figure, axes = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True, layout="constrained")
axes[0].plot(price[:400])
axes[0].set_ylabel("mid-price")
axes[1].imshow(features[:400].T, aspect="auto", cmap="RdBu_r")
axes[1].set(ylabel="feature", xlabel="event")

# %%
# Windows, without copying them
# -----------------------------
# `SegmentedWindows` are views: ten windows share the memory of a row. A window never crosses a
# segment; with real data a segment is one stock on one day. We train on the first part of the
# stream and test on the last. A gap of one horizon between them keeps labels of the training part
# from looking into the test part.

from tenfold.datasets import SegmentedWindows

cut = 20_000
train_rows, test_rows = (0, cut - horizon), (cut, len(features))
mean, scale = features[:cut].mean(axis=0), features[:cut].std(axis=0)
features = (features - mean) / scale
X_train = SegmentedWindows(features, [train_rows], window=10)
X_test = SegmentedWindows(features, [test_rows], window=10)
y_train, y_test = labels[X_train.last_rows], labels[X_test.last_rows]
print(X_train, "in", X_train.nbytes // 2**10, "KiB")
print({str(label): int((y_train == label).sum()) for label in np.unique(y_train)})

# %%
# One model per class
# -------------------
# A bank learns one subspace per class, all from one pass over the windows. On order books the scale
# that the ratio trace gives its columns is worth keeping, so `orthonormal` is False. Classes are
# compared by the paper's distances. The ranks are chosen on the training part, with folds that
# respect time.

from sklearn.model_selection import TimeSeriesSplit

from tenfold import MCSDA, ClassSpecificClassifier, RankSearchCV
from tenfold.plots import RankGridDisplay

bank = ClassSpecificClassifier(MCSDA(orthonormal=False, decision="distance"))
ranks = [(r, s) for r in (1, 2, 4, 6) for s in (1, 2, 3)]
search = RankSearchCV(bank, ranks=ranks, cv=TimeSeriesSplit(3), scoring="f1_macro")
search.fit(X_train, y_train)
print(search.best_params_)
RankGridDisplay.from_estimator(search)

# %%
# Is it any good?
# ---------------
# For comparison: linear discriminant analysis on the last event alone, the same on the whole window
# as a vector, and guessing the most frequent label.

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, f1_score

uniform = np.full(3, 1 / 3)
predictions = {
    "guessing": DummyClassifier().fit(X_train.last_blocks, y_train).predict(X_test.last_blocks),
    "LDA, last event": LinearDiscriminantAnalysis(priors=uniform)
    .fit(X_train.last_blocks, y_train)
    .predict(X_test.last_blocks),
    "LDA, whole window": LinearDiscriminantAnalysis(priors=uniform)
    .fit(np.asarray(X_train).reshape(len(X_train), -1), y_train)
    .predict(np.asarray(X_test).reshape(len(X_test), -1)),
    "MCSDA bank": search.predict(X_test),
}
print(f"{'':20} accuracy   macro F1")
for name, predicted in predictions.items():
    f1 = f1_score(y_test, predicted, average="macro", zero_division=0)
    print(f"{name:20} {accuracy_score(y_test, predicted):8.3f} {f1:10.3f}")

# %%
# The best ranks are the smallest, one weighting of features and one of events: that is how the
# stream was made. Twenty numbers per class do what LDA does with a hundred for each of two
# directions.
#
# What was learned about time
# ---------------------------
# The column of the second projection weighs the ten events of a window. The features of the made-up
# stream come and go slowly, so an average over recent events says more than the last one.

from tenfold.plots import ProjectionsDisplay

ProjectionsDisplay.from_estimator(
    search.best_estimator_, positive="up", mode_names=("feature", "event")
)

# %%
# More data tomorrow
# ------------------
# Moments can be added, so a model goes on learning where it stopped. Learning in two halves gives
# the model of one fit.

half = len(X_train) // 2
grown = ClassSpecificClassifier(search.best_estimator_.projector)
grown.partial_fit(X_train[:half], y_train[:half]).partial_fit(X_train[half:], y_train[half:])
print((grown.predict(X_test) == search.predict(X_test)).mean())

# %%
# The real thing is FI-2010, the order books of the paper. In a checkout of tenfold
# ``python -m paper fi2010 --data FOLDER`` computes its table.
