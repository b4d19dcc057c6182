"""Draw the pictures of the README and of the landing page.

Run it as ``python docs/make_pictures.py``: it writes ``docs/_static/readme.png``, which is
committed. The build draws the pictures of the landing page, ``docs/generated/pictures/*.png``.
All data are simulated or come with scikit-learn or scikit-image.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tenfold import ClassSpecificVerifier, ProbabilisticLDA
from tenfold.datasets import load_faces_subset, make_trials

HERE = Path(__file__).parent
README = HERE / "_static" / "readme.png"
LANDING = HERE / "generated" / "pictures"
GOOD, BAD, GREY = "#0a7d91", "#c8553d", "0.6"


def faces(figure):
    """Photographs that a verifier accepts and rejects, with its scores and its threshold."""
    data = load_faces_subset()
    train = np.arange(len(data.y)) % 100 < 50  # faces come first
    verifier = ClassSpecificVerifier(positive="face", false_accept_rate=0.05)
    verifier.fit(data.X[train], data.y[train])
    X, y = data.X[~train], data.y[~train]
    scores = verifier.decision_function(X)
    left, right = figure.subfigures(1, 2, width_ratios=[1.15, 1])
    chosen = [*np.flatnonzero(y == "face")[2:8:2], *np.flatnonzero(y != "face")[[6, 9, 20]]]
    for axes, number in zip(left.subplots(2, 3).ravel(), chosen, strict=True):
        accepted = scores[number] > 0
        axes.imshow(X[number], cmap="gray")
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set(color=GOOD if accepted else BAD, linewidth=3)
        axes.set_title("face" if accepted else "no face", fontsize=9, pad=3)
    axes = right.subplots()
    bins = np.linspace(scores.min(), scores.max(), 24)
    axes.hist(scores[y != "face"], bins, color=BAD, alpha=0.7, label="others")
    axes.hist(scores[y == "face"], bins, color=GOOD, alpha=0.7, label="faces")
    axes.axvline(0, ymax=0.8, color="black", linestyle="--", linewidth=1)
    axes.set(xlabel="score (0: threshold)", yticks=[])
    axes.set_ylim(top=1.25 * axes.get_ylim()[1])  # room for the legend, above bars and threshold
    axes.legend(frameon=False, fontsize=8, loc="upper center", ncols=2, columnspacing=1)
    axes.spines[["top", "right", "left"]].set_visible(False)


def recording(figure):
    """The patterns of two classes of simulated trials, channels over time."""
    trials = make_trials(160)
    model = ProbabilisticLDA(views="linear").fit(trials.X, trials.y)
    times = np.linspace(-100, 500, trials.X.shape[2])
    largest = np.abs(model.patterns_).max()
    for number, axes in enumerate(figure.subplots(1, 4, sharey=True)):
        axes.imshow(
            model.patterns_[number],
            aspect="auto",
            cmap="RdBu_r",
            vmin=-largest,
            vmax=largest,
            extent=(times[0], times[-1], 24, 0),
        )
        axes.set_title(f"class {number}", fontsize=9)
        axes.set(xlabel="ms", xticks=[0, 400])
        if number == 0:
            axes.set(ylabel="channel", yticks=[1, 12, 24])


def digits():
    images, y = load_digits().images, load_digits().target
    return train_test_split(images, y, train_size=200, stratify=y, random_state=0)


def pool(figure):
    """Weight of each view of the digits, and the loss of left-out samples with it alone."""
    X, _, y, _ = digits()
    model = ProbabilisticLDA().fit(X, y)
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(model.views_))
    left.barh(places, model.weights_, color=GOOD)
    left.set(xlabel="weight in the pool", yticks=places, yticklabels=model.views_)
    left.invert_yaxis()
    right.barh(places, model.pool_["log_losses"], color=GREY)
    right.axvline(model.loo_log_loss_, color=GOOD, linestyle="--", label="pool")
    right.set(xlabel="left-out log loss")
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)


def reliability(figure):
    """How often probabilities are right, on images that the model has not seen."""
    X, X_test, y, y_test = digits()
    model = ProbabilisticLDA().fit(X, y)
    right = model.predict(X_test) == y_test
    sure = model.predict_proba(X_test).max(axis=1)
    axes = figure.subplots()
    CalibrationDisplay.from_predictions(right, sure, n_bins=10, name="test digits", ax=axes)
    axes.set(xlabel="predicted probability", ylabel="observed accuracy")
    axes.legend(frameon=False, fontsize=8, loc="upper left")


DRAWINGS = {
    "faces": (faces, (6.4, 3.0)),
    "recording": (recording, (6.4, 3.0)),
    "pool": (pool, (6.4, 3.0)),
    "reliability": (reliability, (6.4, 3.0)),
}


def save(name: str, target: Path) -> None:
    drawing, size = DRAWINGS[name]
    figure = plt.figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    drawing(figure)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=140, metadata={"Software": None})
    plt.close(figure)


def draw_landing() -> None:
    """The four pictures of the landing page."""
    for name in DRAWINGS:
        save(name, LANDING / f"{name}.png")


def draw_readme(target: Path = README) -> None:
    """What a few samples give: a decision with a threshold, probabilities, and patterns."""
    figure = plt.figure(figsize=(10.4, 3.1), layout="constrained")
    parts = figure.subfigures(1, 3, width_ratios=[1.5, 1.15, 1], wspace=0.03)
    titles = (
        "Accept or reject, at a false-accept rate",
        "Patterns of a recording",
        "Probabilities that hold",
    )
    for part, title, drawing in zip(parts, titles, (faces, recording, reliability), strict=True):
        part.suptitle(title, fontsize=11)
        drawing(part)
    figure.savefig(target, dpi=110, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    draw_readme()
