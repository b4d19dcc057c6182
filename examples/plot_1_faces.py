"""
Is it this face? Verification from a folder of images
=====================================================

A verifier answers one question: is this a sample of the class I know, or is it not? It learns from
examples of that class and of everything else, and gives a score, a threshold and a decision.

The images here are the 200 patches of 25 x 25 pixels that come with scikit-image: 100 faces, and
100 patches of other things. We first write them as files, since most people's images are files.
"""

# %%
# A folder with a subfolder per class
# -----------------------------------
# This is all that `load` asks for. The name of a subfolder is the label of the images in it.

import os
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from tenfold.datasets import load, load_faces_subset

folder = Path(tempfile.mkdtemp()) / "patches"
for number, (image, label) in enumerate(zip(*load_faces_subset(), strict=True)):
    (folder / label).mkdir(parents=True, exist_ok=True)
    pixels = Image.fromarray((255 * image).astype(np.uint8))
    pixels.save(folder / label / f"{number:03}.png")

data = load(folder)  # resize=(40, 30) would bring them all to one size
print(data)

# %%
# Half of the images are for training, the other half for testing.

train, test = data.select(slice(0, None, 2)), data.select(slice(1, None, 2))

# %%
# How many dimensions, and how much ridge?
# ----------------------------------------
# MCSDA projects the rows of every image to r numbers and its columns to s numbers. The ridge keeps
# it from trusting directions in which 50 faces happen to agree. `RankSearchCV` tries all
# combinations on the training images alone. It reads them once and solves the candidates together.
# The files are sorted by class, so the folds have to be stratified.

from sklearn.model_selection import StratifiedKFold

from tenfold import MCSDA, RankSearchCV
from tenfold.plots import RankGridDisplay

mcsda = MCSDA(positive="face")
search = RankSearchCV(
    mcsda,
    ranks=[(r, s) for r in range(2, 9, 2) for s in range(2, 9, 2)],
    ridge=[1e-3, 1e-2, 1e-1, 1.0],
    cv=StratifiedKFold(5, shuffle=True, random_state=0),
).fit(*train)
print(search.best_params_, f"average precision {search.best_score_:.3f}")

for ridge in (1e-3, 1e-2, 1e-1, 1.0):
    tried = [p["ridge"] == ridge for p in search.cv_results_["params"]]
    best = search.cv_results_["mean_test_score"][tried].max()
    print(f"ridge {ridge:<6} best average precision {best:.3f}")

RankGridDisplay.from_estimator(search)

# %%
# All settings are within a few hundredths of each other. A few rows and columns are enough.

scores = search.cv_results_["mean_test_score"]
assert scores.max() - scores.min() < 0.1
assert max(search.best_params_["ranks"]) <= 8

# %%
# On the test images, next to two methods that take the 625 pixels as a vector:

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import average_precision_score
from sklearn.svm import SVC

is_face = test.y == "face"
print(
    f"MCSDA, {search.best_estimator_.transform(test.X).shape[1]} numbers per image: "
    f"{search.score(*test):.3f}"
)
for baseline in (LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), SVC()):
    baseline.fit(train.X.reshape(len(train), -1), train.y == "face")
    scores = baseline.decision_function(test.X.reshape(len(test), -1))
    print(f"{type(baseline).__name__}: {average_precision_score(is_face, scores):.3f}")
    assert average_precision_score(is_face, scores) > 0.95
assert search.score(*test) > 0.95

# %%
# Telling faces from background is easy: all three are above 0.95. The tensor model needs the
# fewest numbers per image. It consists of two small matrices in place of hundreds of pixels per
# support vector, so its parameters can be looked at, as below.
#
# A threshold that was not tuned on its own training images
# ---------------------------------------------------------
# The verifier may accept 2 % of other things. It sets the threshold on the scores of other things
# that the scoring model had not seen.

from tenfold import ClassSpecificVerifier

model = mcsda.set_params(**search.best_params_)
verifier = ClassSpecificVerifier(model, positive="face", false_accept_rate=0.02).fit(*train)
print(f"threshold {verifier.threshold_:.3f}")
print("held out: ", {name: round(rate, 3) for name, rate in verifier.error_rates_.items()})

accepted = verifier.predict(test.X)
print(f"accepted {accepted[is_face].sum()} of {is_face.sum()} faces")
print(f"accepted {accepted[~is_face].sum()} of {(~is_face).sum()} other things")

# %%
# Fifty negatives cannot say much about a rate of 2 %, which is one of fifty: the count on the test
# images may lie on either side of it. For a small false-accept rate, bring many negatives: they
# cost little, since only their moments are stored.

# %%
from tenfold.plots import ScoresDisplay

ScoresDisplay.from_estimator(verifier, *test)

# %%
# What does it look at?
# ---------------------
# Every number of a projected image is its inner product with an outer product of one column per
# mode. These are all of them, or the first 12: red entries raise the number, blue ones lower it.

from tenfold.plots import DirectionsDisplay

DirectionsDisplay.from_estimator(verifier, n_directions=12)

# %%
# Keep the model
# --------------
# The file holds numbers and words and no code, so loading it is safe. It loads without any extra.

import tenfold

path = folder.parent / "face.safetensors"
verifier.save(path)
same = tenfold.load_model(path)
print(bool((same.predict(test.X) == accepted).all()), f"{path.stat().st_size} bytes")

# %%
# With real persons
# -----------------
# The paper verifies persons of the ORL faces: one model per person. Set `TENFOLD_DATA` to a folder
# that holds ``orl/s1/1.pgm`` and the rest, and this runs too.

from tenfold import ClassSpecificClassifier

faces = Path(os.environ.get("TENFOLD_DATA", "."), "orl")
if not faces.is_dir():
    print(f"skipped: there is no folder {faces.name}")
else:
    orl = load(faces, resize=(40, 30))
    half = np.arange(400) % 2 == 0
    bank = ClassSpecificClassifier(MCSDA(ranks=(12, 12), shrinkage=0.5))
    bank.fit(orl.X[half], orl.y[half])
    scores = bank.decision_function(orl.X[~half])
    precision = [
        average_precision_score(orl.y[~half] == person, scores[:, c])
        for c, person in enumerate(bank.classes_)
    ]
    print(f"mean average precision over {len(precision)} persons: {np.mean(precision):.3f}")
