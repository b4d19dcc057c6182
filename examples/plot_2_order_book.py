"""
Where does the price go? Windows of an order book
=================================================

You have a limit order book, which changes with every order, and you want to know whether the
mid-price will go up, stay or go down a little later. A sample is a window: features by time. Both
modes mean something, so we keep them apart: one projection for the features, one for time.

The public set for this is FI-2010. It does not come with any library, so the stream on this page
is simulated. It has the same shape and makes no claim about any market. :doc:`The results
</results>` have the figures on FI-2010, on both splits that are in use.
"""

# %%
# A stream with a weak signal
# ---------------------------
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
# A *bank* is a set of class-specific models, one subspace per class, all learned from one pass over
# the windows. On order books the scale that the ratio trace gives its columns is worth keeping, so
# `orthonormal` is False. Classes are compared by the paper's distances. The ranks are chosen on the
# training part, with folds that respect time.

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
f1 = {}
for name, predicted in predictions.items():
    f1[name] = f1_score(y_test, predicted, average="macro", zero_division=0)
    print(f"{name:20} {accuracy_score(y_test, predicted):8.3f} {f1[name]:10.3f}")

assert search.best_params_["projector__ranks"] == (1, 1)
assert abs(f1["MCSDA bank"] - f1["LDA, whole window"]) < 0.03
assert abs(f1["MCSDA bank"] - f1["LDA, last event"]) < 0.03
assert f1["MCSDA bank"] > 2 * f1["guessing"]

# %%
# The best ranks are the smallest, one weighting of features and one of events: that is how the
# stream was simulated. All three models are within 0.03 of each other in F1, and more than twice as
# good as guessing; guessing has the highest accuracy, because it always names the most frequent
# label. The bank needs 20 numbers per class, LDA on whole windows a hundred for each of two
# directions. On this stream the last event alone says nearly as much as the window.
#
# What was learned about time
# ---------------------------
# The column of the second projection weighs the ten events of a window.

from tenfold.plots import ProjectionsDisplay

ProjectionsDisplay.from_estimator(
    search.best_estimator_, positive="up", mode_names=("feature", "event")
)

# %%
# More data tomorrow
# ------------------
# Moments can be added, so a model can continue to learn. Learning in two halves gives the same
# predictions as one fit.

half = len(X_train) // 2
grown = ClassSpecificClassifier(search.best_estimator_.projector)
grown.partial_fit(X_train[:half], y_train[:half]).partial_fit(X_train[half:], y_train[half:])
same = (grown.predict(X_test) == search.predict(X_test)).mean()
print(f"equal predictions: {100 * same:.1f} %")
assert same == 1

# %%
# The real thing is FI-2010, the order books of the paper. In a checkout of tenfold
# ``python -m paper fi2010 --data FOLDER`` computes its table.
