"""
Which stimulus was it? Evoked potentials from few epochs
========================================================

You have epochs of an EEG: channels over time, cut around a stimulus. You want to know which
stimulus it was, from tens of epochs of each kind, and which channels respond, and when.

The epochs on this page are simulated, so that it needs no download: 24 channels, 60 instants from
-0.1 to 0.5 seconds, four kinds of stimulus. A response is one pattern over channels times one wave
over time. The noise is similar in neighbouring channels and changes slowly. That is the usual model
of evoked potentials. With MNE you have the same arrays::

    X, y = epochs.get_data(), epochs.events[:, 2]
    channels, times = epochs.ch_names, epochs.times
"""

# %%
# Epochs with names
# -----------------
# Names are optional. With an xarray DataArray a model stores them, and pictures show them.

import matplotlib.pyplot as plt
import numpy as np
import xarray

from tenfold.datasets import make_trials

channels = "Fp1 Fp2 F7 F3 Fz F4 F8 FC5 FC1 FC2 FC6 T7 C3 Cz C4 T8 CP5 CP1 CP2 CP6 P3 Pz P4 Oz"
channels = channels.split()
times = np.linspace(-0.1, 0.5, 60)
train, test = make_trials(80, random_state=0), make_trials(400, random_state=1)


def epochs_of(trials):
    names = {"channel": channels, "time": times}
    return xarray.DataArray(trials.X, dims=("epoch", "channel", "time"), coords=names)


X, X_test = epochs_of(train), epochs_of(test)
print(dict(X.sizes))

figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
ax.plot(times, X[0].T, linewidth=0.7)
ax.set(xlabel="seconds", ylabel="one epoch", title="The response is hidden in the noise")

# %%
# Everything at its defaults, next to scikit-learn
# ------------------------------------------------
# Twenty epochs of each kind are for training. As a vector an epoch has 1440 numbers, far more than
# there are epochs. Classifiers of scikit-learn see that vector. `ProbabilisticLDA` knows the modes.

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC

from tenfold import ProbabilisticLDA

model = ProbabilisticLDA().fit(X, train.y)
accuracy = {"ProbabilisticLDA()": model.score(X_test, test.y)}
for other in (
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    RidgeClassifier(),
    LogisticRegression(max_iter=1000),
    SVC(kernel="linear"),
):
    other.fit(train.X.reshape(80, -1), train.y)
    accuracy[type(other).__name__] = other.score(test.X.reshape(400, -1), test.y)
for name, share in accuracy.items():
    print(f"{name:28} accuracy {100 * share:.1f} %")

# %%
# `ProbabilisticLDA` has the highest accuracy, by more than thirty points. The reason is in its
# views. The covariance of 1440 numbers cannot be learned from 80 epochs, but that of 24 channels
# and that of 60 instants can. So the view "kronecker" predicts left-out epochs best, and it gets
# most of the weight.

runner_up = max(share for name, share in accuracy.items() if name != "ProbabilisticLDA()")
assert accuracy["ProbabilisticLDA()"] > runner_up + 0.3
assert model.views_[int(np.argmax(model.weights_))] == "kronecker"
assert model.views_[int(np.argmin(model.pool_["log_losses"]))] == "kronecker"

from tenfold.plots import PoolDisplay

PoolDisplay.from_estimator(model)

# %%
# When does each class respond?
# -----------------------------
# The weights of a classifier also cancel noise, so they partly look like noise. `patterns_`, the
# covariance times the weights (Haufe et al., 2014), show how an epoch changes with the score of a
# class: one line per channel. The simulated waves have their peaks at 0.08, 0.16, 0.24 and 0.32
# seconds.

linear = ProbabilisticLDA(views="linear").fit(X, train.y)
figure, axes = plt.subplots(1, 4, figsize=(10, 2.6), sharey=True, layout="constrained")
for ax, pattern, label in zip(axes, linear.patterns_, linear.classes_, strict=True):
    ax.plot(times, pattern.T, color="0.7", linewidth=0.6)
    strongest = np.abs(pattern).max(axis=1).argmax()
    ax.plot(times, pattern[strongest], label=channels[strongest])
    ax.set(title=f"class {label}", xlabel="seconds")
    ax.legend(loc="upper right")

energy = (linear.patterns_**2).sum(axis=1)
peaks = times[energy.argmax(axis=1)]
print("peaks of the patterns:", peaks.round(2), "seconds")
assert np.abs(peaks - [0.08, 0.16, 0.24, 0.32]).max() < 0.03

# %%
# Where on the head?
# ------------------
# With MNE the pattern at an instant is a map of the head. MNE is optional: without it this page
# shows a table of the channels that respond most. (The patterns over channels are random in this
# simulation, so the maps show no physiology.)

try:
    import mne
except ImportError:
    print("MNE is not installed; pip install mne for maps of the head")
    for pattern, instant, label in zip(linear.patterns_, peaks, linear.classes_, strict=True):
        now = np.abs(pattern[:, times == instant][:, 0])
        strongest = [channels[number] for number in now.argsort()[::-1][:3]]
        print(f"class {label} at {instant:.2f} s: {', '.join(strongest)}")
else:
    info = mne.create_info(channels, sfreq=100.0, ch_types="eeg").set_montage("biosemi64")
    figure, axes = plt.subplots(1, 4, figsize=(10, 2.6), layout="constrained")
    for ax, pattern, instant in zip(axes, linear.patterns_, peaks, strict=True):
        mne.viz.plot_topomap(pattern[:, times == instant][:, 0], info, axes=ax, show=False)
        ax.set_title(f"{instant:.2f} s")

# %%
# Projections of channels and of time
# -----------------------------------
# `CMDA` learns one small matrix for the channels and one for time. Its patterns are another way to
# look at the same responses, and `labelled_projections` gives them with their names.

from tenfold import CMDA, labelled_projections

cmda = CMDA(ranks=(3, 3)).fit(X, train.y)
over_channels, over_time = labelled_projections(cmda, patterns=True)
print(over_channels.dims, over_time.dims)
figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
ax.plot(over_time.time, over_time)
ax.set(xlabel="seconds", ylabel="patterns of CMDA over time")
plt.show()

# %%
# The same on the command line, where ``subject-epo.fif`` is a file of MNE::
#
#     tenfold compare subject-epo.fif
#     tenfold fit subject-epo.fif --rows train -o model.safetensors
#     tenfold evaluate model.safetensors subject-epo.fif --rows test
