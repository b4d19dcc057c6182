"""
Samples of order three and four: spectra of patches, and video
==============================================================

Nothing in tenfold is about matrices in particular. A patch of a hyperspectral image is row by
column by band, a short colour video row by column by channel by frame. Each mode gets its own
projection, and the number of parameters grows with the sum of the sizes, not with their product.

Both sets on this page are made on the spot, so that we know what there is to be found.
"""

# %%
# Patches of a hyperspectral image: order 3
# -----------------------------------------
# A scene of 60 x 60 pixels with 30 bands and three materials, each with its own spectrum. The
# spectra are alike, and every pixel is noisy; but neighbours are mostly of the same material.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.data import binary_blobs

rng = np.random.default_rng(0)
n_bands = 30
bands = np.linspace(0.0, 1.0, n_bands)
spectra = np.stack([np.exp(-((bands - centre) ** 2) / 0.1) for centre in (0.4, 0.45, 0.5)])
blobs = [binary_blobs(60, blob_size_fraction=0.25, volume_fraction=0.5, rng=s) for s in (1, 2)]
material = blobs[0].astype(int) + blobs[1].astype(int)  # 0, 1 or 2
light = 1.0 + 0.3 * gaussian_filter(rng.normal(size=(60, 60)), 5) / 0.05  # uneven illumination
scene = light[..., None] * spectra[material] + 0.5 * rng.normal(size=(60, 60, n_bands))

figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
axes[0].imshow(material)
axes[0].set_title("material")
axes[1].imshow(scene[:, :, 13], cmap="gray")
axes[1].set_title("band 13")
axes[2].plot(spectra.T)
axes[2].plot(scene[10, 10], color="0.7", linewidth=0.8)
axes[2].set_title("spectra, and one pixel")

# %%
# A sample is the 5 x 5 patch around a pixel with all its bands. NumPy gives the patches as views.
# The left half of the scene is for training, the right half for testing.

patches = np.lib.stride_tricks.sliding_window_view(scene, (5, 5), axis=(0, 1))
patches = patches.transpose(0, 1, 3, 4, 2)  # row and column of the patch, then the bands
labels = material[2:-2, 2:-2]
left = np.arange(patches.shape[1]) < 28
X_train, y_train = patches[:, left].reshape(-1, 5, 5, n_bands), labels[:, left].ravel()
X_test, y_test = patches[:, ~left].reshape(-1, 5, 5, n_bands), labels[:, ~left].ravel()
print(X_train.shape, X_test.shape)

# %%
# DATER with ranks (1, 1, 2) looks for one weighting of rows, one of columns and two of bands. It
# does not know that averaging over neighbours helps; it learns that. For comparison, LDA on the
# pixel alone, and on the patch as a vector of 750 numbers.

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from tenfold import DATER

dater = DATER(ranks=(1, 1, 2))
model = make_pipeline(dater, LinearDiscriminantAnalysis()).fit(X_train, y_train)
pixel = LinearDiscriminantAnalysis().fit(X_train[:, 2, 2], y_train)
vector = LinearDiscriminantAnalysis().fit(X_train.reshape(len(X_train), -1), y_train)
print(f"pixel alone      {pixel.score(X_test[:, 2, 2], y_test):.3f}")
print(f"patch as vector  {vector.score(X_test.reshape(len(X_test), -1), y_test):.3f}")
print(f"DATER (1, 1, 2)  {model.score(X_test, y_test):.3f}")
print("parameters of the projections:", sum(W.size for W in dater.projections_))

assert model.score(X_test, y_test) > vector.score(X_test.reshape(len(X_test), -1), y_test)
assert vector.score(X_test.reshape(len(X_test), -1), y_test) > pixel.score(X_test[:, 2, 2], y_test)

# %%
# DATER has the highest accuracy, the pixel alone the lowest. These are its weights of rows, columns
# and bands, each divided by its largest entry.

figure, axes = plt.subplots(1, 3, figsize=(9, 2.4), layout="constrained")
for ax, W, name in zip(axes, dater.projections_, ("row", "column", "band"), strict=True):
    ax.plot(W / np.abs(W).max(axis=0))
    ax.set_title(name)

# %%
# Short colour videos: order 4
# ----------------------------
# Eight rows by eight columns by three channels by six frames. A spot moves over a noisy ground, to
# the right or downwards. Its start and its colour are random, and in any single frame both classes
# look much the same.


def video(direction):
    start, colour = rng.uniform(1, 4, size=2), rng.uniform(0.3, 1.0, size=3)
    step = np.array([0.0, 0.7]) if direction == "right" else np.array([0.7, 0.0])
    rows, columns = np.mgrid[:8, :8]
    frames = []
    for t in range(6):
        r, c = start + t * step
        spot = np.exp(-((rows - r) ** 2 + (columns - c) ** 2) / 3.0)
        frames.append(spot[..., None] * colour)
    return np.stack(frames, axis=-1) + 0.5 * rng.normal(size=(8, 8, 3, 6))


directions = np.array(["right", "down"] * 150)
videos = np.stack([video(direction) for direction in directions])
print(videos.shape)

figure, axes = plt.subplots(2, 4, figsize=(8, 4), layout="constrained")
for row, number in zip(axes, (0, 1), strict=True):
    for ax, t in zip(row, (0, 2, 4, 5), strict=True):
        ax.imshow(np.clip(videos[number, ..., t], 0, 1))
        ax.set(title=f"{directions[number]}, frame {t}", xticks=[], yticks=[])

# %%
# Four modes need four small matrices. CMDA keeps 4 x 4 x 1 x 3 numbers of 1152.

from tenfold import CMDA

train, test = slice(0, 200), slice(200, None)
cmda = CMDA(ranks=(4, 4, 1, 3))
model = make_pipeline(cmda, LinearDiscriminantAnalysis()).fit(videos[train], directions[train])
vector = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
vector.fit(videos[train].reshape(200, -1), directions[train])
print(f"accuracy of CMDA                {model.score(videos[test], directions[test]):.3f}")
flat = videos[test].reshape(100, -1)
print(f"accuracy of LDA with shrinkage  {vector.score(flat, directions[test]):.3f}")
print("numbers per video:", cmda.transform(videos[test]).shape[1], "of", flat.shape[1])
assert model.score(videos[test], directions[test]) > 0.9
assert vector.score(flat, directions[test]) > 0.9
print("parameters of the projections:", sum(W.size for W in cmda.projections_))

# %%
# Both recognize more than nine of ten directions. CMDA needs 48 numbers per video for that.

assert cmda.transform(videos[test]).shape[1] == 48
