"""
Spectra by brand: leave whole groups out
========================================

You have spectra of oils: how much light a sample absorbs at each of many wavelengths. You want to
know which kind of oil it is. Samples of one brand resemble each other: they come from the
same bottle, day and device. New samples will be of brands that are not in the training set.

A model that is tested on samples of brands it knows is overconfident. The argument `groups` of
`fit` says which samples belong together, so that whole brands are left out.

The spectra are simulated, so that this page needs no download.
"""

# %%
# Spectra of three kinds of oil, of eight brands each
# ---------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
wavelengths = np.linspace(0.0, 1.0, 80)
kinds = np.array(["olive", "rapeseed", "sunflower"])


def bump(centre, width):
    return np.exp(-((wavelengths - centre) ** 2) / (2 * width**2))


common = bump(0.25, 0.08) + 0.7 * bump(0.75, 0.12)
own = 0.06 * np.stack([bump(centre, 0.04) for centre in (0.45, 0.5, 0.55)])
smooth = np.stack([bump(centre, 0.06) for centre in np.linspace(0, 1, 12)])


def spectra(n_brands, n_samples, rng):
    found, labels, brands = [], [], []
    for kind in range(3):
        for brand in range(n_brands):
            of_brand = 0.05 * rng.normal(size=12) @ smooth  # additives and colour of the brand
            for _ in range(n_samples):
                level = rng.normal(scale=0.02) + rng.normal(scale=0.02) * wavelengths
                noise = 0.004 * rng.normal(size=80)
                found.append(common + own[kind] + of_brand + level + noise)
                labels.append(kinds[kind])
                brands.append(f"{kinds[kind]} {brand}")
    return np.array(found), np.array(labels), np.array(brands)


X, y, brand = spectra(8, 6, rng)
X_new, y_new, _ = spectra(20, 6, rng)  # other brands
print(X.shape, X_new.shape, len(np.unique(brand)), "brands for training")

figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for kind, colour in zip(kinds, ("C0", "C1", "C2"), strict=True):
    ax.plot(wavelengths, X[y == kind].T, color=colour, linewidth=0.3)
    ax.plot([], [], color=colour, label=kind)
ax.set(xlabel="wavelength", ylabel="absorbance")
ax.legend()

# %%
# Without and with groups
# -----------------------
# Without `groups` each left-out sample has five near copies of its own brand in the training set.
# The log loss that the model expects is far too small. With ``groups=brand`` whole brands are left
# out, and the model is fitted to what will be asked of it.

import warnings

from sklearn.metrics import log_loss

from tenfold import ProbabilisticLDA

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it notices the near copies, and says so
    alone = ProbabilisticLDA().fit(X, y)
grouped = ProbabilisticLDA().fit(X, y, groups=brand)

print(f"{'':16} expected log loss   on new brands   accuracy on new brands")
losses = {}
for name, model in {"without groups": alone, "groups=brand": grouped}.items():
    losses[name] = log_loss(y_new, model.predict_proba(X_new), labels=model.classes_)
    accuracy = 100 * model.score(X_new, y_new)
    print(f"{name:16} {model.loo_log_loss_:17.3f} {losses[name]:15.3f} {accuracy:22.1f} %")

# %%
# The probabilities of the model with groups are better on new brands, and the loss that it expects
# is nearer to the one that it has. How much groups matter depends on how much brands differ: with
# half of the differences between brands that are simulated here, both models are nearly always
# right, and groups bring nothing.

assert losses["groups=brand"] < losses["without groups"]
gap_alone = losses["without groups"] - alone.loo_log_loss_
gap_grouped = losses["groups=brand"] - grouped.loo_log_loss_
assert abs(gap_grouped) < abs(gap_alone)

# %%
# Which wavelengths?
# ------------------
# `patterns_` show where spectra vary with the score of a class.

linear = ProbabilisticLDA(views="linear").fit(X, y, groups=brand)
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for pattern, kind in zip(linear.patterns_, linear.classes_, strict=True):
    ax.plot(wavelengths, pattern, label=kind)
ax.set(xlabel="wavelength", ylabel="pattern")
ax.legend()

# %%
# To judge a model by other scores, split by the same groups: ``StratifiedGroupKFold`` of
# scikit-learn keeps a brand in one fold and the kinds of oil in all of them. Each fold learns from
# three quarters of the brands, and the accuracy is lower than with all of them.

from sklearn.model_selection import StratifiedGroupKFold

found = []
for train, test in StratifiedGroupKFold(4).split(X, y, brand):
    model = ProbabilisticLDA().fit(X[train], y[train], groups=brand[train])
    found.append(model.score(X[test], y[test]))
print(f"accuracy on left-out brands: {100 * np.mean(found):.1f} %")
assert np.mean(found) < grouped.score(X_new, y_new)
