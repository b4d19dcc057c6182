"""Every command does what the library does, and says so."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import zarr
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

import tenfold as library
from tenfold.app.cli.model_options import completed_names, method_names
from tenfold.classifiers.folds import folds_of
from tenfold.methods import ALL_METHODS, CLASS_SPECIFIC_METHODS
from tenfold.selection.rank_search import search_ranks


def strict_json(text: str):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


# ── fit ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_positive_class_gives_the_verifier_of_the_library(tenfold, faces, pixels, labels):
    run = tenfold(
        *("fit", faces, "--positive", "s7", "--ranks", "3,2", "--set", "ridge=('absolute', 0.01)"),
        *("--method", "mcsda"),
        *("--set", "shrinkage=0.25", "--false-accept-rate", "equal", "--set", "max_iter=50"),
        *("-o", "s7.safetensors"),
    )
    assert run.code == 0, run.err
    projector = library.MCSDA((3, 2), ridge=("absolute", 0.01), shrinkage=0.25, max_iter=50)
    expected = library.ClassSpecificVerifier(
        projector, positive="s7", false_accept_rate="equal"
    ).fit(pixels / 255, labels)
    found = library.load_model("s7.safetensors")
    assert found.threshold_ == expected.threshold_
    assert (found.decision_function(pixels / 255) == expected.decision_function(pixels / 255)).all()


def test_without_a_positive_class_there_is_a_bank(tenfold, bank, pixels, labels):
    expected = library.ClassSpecificClassifier(library.MCSDA((3, 3))).fit(pixels / 255, labels)
    found = library.load_model(bank)
    assert (found.distances(pixels / 255) == expected.distances(pixels / 255)).all()


def test_the_shell_is_offered_all_methods():
    assert completed_names() == method_names()


@pytest.mark.parametrize("method", [M.__name__.lower() for M in ALL_METHODS])
def test_every_method_can_be_fitted(tenfold, faces, method):
    run = tenfold("fit", faces, "--method", method, "-o", "model.safetensors", "--json")
    assert run.code == 0, run.err
    assert strict_json(run.out)["method"].lower() == method
    assert tenfold("inspect", "model.safetensors").code == 0


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        ([], "accuracy"),
        (["--positive", "s7", "--method", "mcsda"], "average precision"),
        (["--method", "cmda"], "accuracy"),
    ],
)
def test_searched_ranks_are_the_best_of_those_tried(tenfold, faces, words, measure):
    run = tenfold(
        *("fit", faces, "--ranks", "auto", "--cv", "2", "-o", "m.safetensors", "--json"), *words
    )
    assert run.code == 0, run.err
    facts = strict_json(run.out)
    tried = facts["search"]["tried"]
    best = max(tried, key=lambda one: (one["score"], np.prod(one["ranks"])))  # of ties the largest
    assert len(tried) > 3
    assert facts["search"]["measure"] == measure
    assert facts["ranks"] == best["ranks"]


def test_the_ranks_of_a_subspace_are_judged_by_the_nearest_class_mean(pixels, labels):
    X = pixels / 255 + np.random.default_rng(8).normal(0, 0.2, pixels.shape)
    best, scores = search_ranks(library.CMDA(), X, labels, folds_of(4, labels))
    assert scores[best.ranks_] == max(scores.values())
    for ranks, score in scores.items():
        right = []
        for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, labels):
            cmda = library.CMDA(tuple(ranks)).fit(X[train], labels[train])
            seen, new = cmda.transform(X[train]), cmda.transform(X[test])
            means = {c: seen[labels[train] == c].mean(axis=0) for c in np.unique(labels)}
            nearest = [min(means, key=lambda c: np.linalg.norm(z - means[c])) for z in new]
            right.append(np.mean(nearest == labels[test]))
        assert score == pytest.approx(np.mean(right))


def test_the_form_of_the_data_does_not_matter(tenfold, here, pixels, labels, faces):
    """One data set as images, .npz, .npy, .mat, CSV and Zarr: the same model, bit for bit."""
    X = pixels / 255
    np.savez("faces.npz", X=X, y=labels)
    np.save("faces.npy", X)
    (here / "labels.txt").write_text("\n".join(labels))
    scipy.io.savemat("faces.mat", {"fea": X, "other": X[:, :2], "who": list(labels)})
    with open("faces.csv", "w", newline="") as file:
        names = [f"p{i}" for i in range(X[0].size)]
        rows = ([*sample.ravel().tolist(), who] for sample, who in zip(X, labels, strict=True))
        csv.writer(file).writerows([[*names, "who"], *rows])
    zarr.save_group("faces.zarr", X=X)
    forms = {
        "faces": [],
        "faces.npz": [],
        "faces.npy": ["--labels", "labels.txt"],
        "faces.mat": ["--key", "fea", "--labels", "who"],
        "faces.csv": ["--sample-shape", "8,6", "--labels", "who"],
        "faces.zarr": ["--labels", "labels.txt"],
    }
    scores = {}
    for data, words in forms.items():
        run = tenfold(
            "fit", data, *words, "--method", "mcsda", "--ranks", "3,3", "-o", "bank.safetensors"
        )
        assert run.code == 0, run.err
        scores[data] = library.load_model("bank.safetensors").distances(X)
    for data, found in scores.items():
        # What stays on disk is read block by block for moments, which sums in another order.
        tolerance = 1e-9 if data in ("faces.npy", "faces.zarr") else 0
        np.testing.assert_allclose(found, scores["faces"], rtol=tolerance, err_msg=data)


def test_switches_are_read_in_any_case(tenfold, npz):
    words = ("--set", "orthonormal=false", "--positive", "s7", "-o", "m.safetensors")
    assert tenfold("fit", npz, *words).code == 0
    assert library.load_model("m.safetensors").projector.orthonormal is False


def test_a_method_that_flattens_takes_ranks_per_mode(tenfold, npz):
    run = tenfold("fit", npz, "--method", "csda", "--ranks", "3x2", "-o", "m.safetensors", "--json")
    assert run.code == 0, run.err
    assert strict_json(run.out)["ranks"] == [2]  # of six: as many as three class means span
    run = tenfold("compare", npz, "--ranks", "2", "--cv", "2", "--json")
    ranks = {one["method"]: one["ranks"] for one in strict_json(run.out)["methods"]}
    assert (ranks["MCSDA"], ranks["CSDA"]) == ([2, 2], [2])


# ── score and evaluate ──────────────────────────────────────────────────────────────────────────


def test_scores_of_a_verifier_are_written_with_its_decisions(tenfold, verifier, pixels, labels):
    run = tenfold("score", verifier, "faces", "-o", "scores.csv")
    assert run.code == 0, run.err
    with open("scores.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    model = library.load_model(verifier)
    assert [float(row["score"]) for row in rows] == model.projector_.decision_function(
        pixels / 255
    ).tolist()
    assert [row["accepted"] == "True" for row in rows] == model.predict(pixels / 255).tolist()
    assert [row["label"] for row in rows] == labels.tolist()
    assert rows[0]["sample"] == "s6/1.pgm"


def test_csv_parquet_json_and_the_screen_tell_the_same(tenfold, bank):
    from pyarrow import parquet

    assert tenfold("score", bank, "faces", "-o", "scores.csv").code == 0
    assert tenfold("score", bank, "faces", "-o", "scores.parquet").code == 0
    columns = strict_json(tenfold("score", bank, "faces", "--json").out)["columns"]
    assert parquet.read_table("scores.parquet").to_pydict() == columns
    with open("scores.csv", newline="") as file:
        assert tenfold("score", bank, "faces").out == file.read()
    assert list(columns) == ["sample", "label", "decision", "score s6", "score s7", "score s8"]
    best = [max(("s6", "s7", "s8"), key=lambda c: columns[f"score {c}"][i]) for i in range(24)]
    assert columns["decision"] == best


def test_labels_that_are_dates_become_text(tenfold, here, verifier, pixels):
    dates = np.array(["2026-11-15"] * len(pixels), dtype="datetime64[D]")
    np.savez("dated.npz", X=pixels / 255, y=dates)
    run = tenfold("score", verifier, "dated.npz", "--json")
    assert run.code == 0, run.err
    assert strict_json(run.out)["columns"]["label"][0] == "2026-11-15"


def test_samples_without_labels_can_be_scored(tenfold, verifier, faces):
    loose = faces.parent / "new"
    loose.mkdir()
    for number, image in enumerate(sorted(faces.rglob("*.pgm"))[:3]):
        (loose / f"{number}.pgm").write_bytes(image.read_bytes())
    run = tenfold("score", verifier, "new", "--read", "labelled=False", "--json")
    assert run.code == 0, run.err
    columns = strict_json(run.out)["columns"]
    assert columns["sample"] == ["0.pgm", "1.pgm", "2.pgm"]
    assert "label" not in columns


def equal_error_rate(scores, is_positive):
    """By trying every threshold: without ties, one error is the equal error rate at the best."""
    rates = []
    for threshold in np.unique(scores):
        accepts = (scores[~is_positive] >= threshold).mean()
        rejects = (scores[is_positive] < threshold).mean()
        rates.append(max(accepts, rejects))
    return min(rates)


def test_an_evaluation_of_a_verifier_counts_right(tenfold, here, verifier, pixels, labels):
    rng = np.random.default_rng(3)
    noisy = pixels / 255 + rng.normal(0, 0.6, pixels.shape)
    np.savez("noisy.npz", X=noisy, y=labels)
    facts = strict_json(tenfold("evaluate", verifier, "noisy.npz", "--json").out)
    model = library.load_model(verifier)
    scores, own, accepted = model.decision_function(noisy), labels == "s7", model.predict(noisy)
    assert facts["average_precision"] == pytest.approx(average_precision_score(own, scores))
    assert facts["roc_auc"] == pytest.approx(roc_auc_score(own, scores))
    assert facts["equal_error_rate"] == pytest.approx(equal_error_rate(scores, own))
    assert facts["confusion"]["counts"] == [
        [int((own & accepted).sum()), int((own & ~accepted).sum())],
        [int((~own & accepted).sum()), int((~own & ~accepted).sum())],
    ]
    assert facts["false_reject_rate"] == pytest.approx((own & ~accepted).sum() / own.sum())
    assert 0 < facts["equal_error_rate"] < 0.5  # the noise made it worth judging
    shown = tenfold("evaluate", verifier, "noisy.npz").out
    assert f"Cllr {facts['cllr']:.3f} bits, {facts['min_cllr']:.3f} after the best" in shown


def test_an_evaluation_of_a_bank_is_the_mean_over_classes(tenfold, bank, pixels, labels):
    rng = np.random.default_rng(4)
    noisy = pixels / 255 + rng.normal(0, 0.3, pixels.shape)
    np.savez("noisy.npz", X=noisy, y=labels)
    facts = strict_json(tenfold("evaluate", bank, "noisy.npz", "--json").out)
    model = library.load_model(bank)
    scores, classes = model.decision_function(noisy), model.classes_.tolist()
    each = [average_precision_score(labels == c, scores[:, k]) for k, c in enumerate(classes)]
    assert facts["average_precision"] == pytest.approx(np.mean(each))
    assert [one["average_precision"] for one in facts["classes"]] == pytest.approx(each)
    assert facts["accuracy"] == pytest.approx((model.predict(noisy) == labels).mean())
    expected = confusion_matrix(labels, model.predict(noisy), labels=classes)
    assert facts["confusion"]["labels"] == classes
    assert facts["confusion"]["counts"] == expected.tolist()


def test_labels_that_are_numbers_here_and_words_there_are_the_same(tenfold, here, pixels, labels):
    number = np.array([int(label[1:]) for label in labels])
    np.savez("numbers.npz", X=pixels / 255, y=number)
    run = tenfold("fit", "numbers.npz", "--positive", "7", "--ranks", "3,3", "-o", "7.safetensors")
    assert run.code == 0, run.err
    np.savez("words.npz", X=pixels / 255, y=[f"{n} " for n in number])
    for data in ("numbers.npz", "words.npz"):
        assert tenfold("evaluate", "7.safetensors", data, "--json").code == 0


def test_a_label_the_model_does_not_know_counts_as_wrong(tenfold, here, bank, pixels, labels):
    strange = np.where(labels == "s8", "s99", labels)
    np.savez("strange.npz", X=pixels / 255, y=strange)
    facts = strict_json(tenfold("evaluate", bank, "strange.npz", "--json").out)
    assert facts["accuracy"] <= 16 / 24
    assert sum(map(sum, facts["confusion"]["counts"])) == 24
    assert "s99" in facts["confusion"]["labels"]


def test_impostors_only_can_be_evaluated(tenfold, here, verifier, bank, pixels):
    np.savez("others.npz", X=pixels[:8] / 255, y=["s6"] * 4 + ["stranger"] * 4)
    accepted = library.load_model(verifier).predict(pixels[:8] / 255)
    figures = strict_json(tenfold("evaluate", verifier, "others.npz", "--json").out)
    assert figures["false_accept_rate"] == np.mean(accepted)
    assert figures["false_reject_rate"] is figures["average_precision"] is None
    assert "no samples to count false rejects" in tenfold("evaluate", verifier, "others.npz").out
    np.savez("none.npz", X=pixels[:4], y=list("xxzz"))  # a bank must name them, and cannot
    run = tenfold("evaluate", bank, "none.npz", "--read", "scale=255")
    assert run.code == 2
    assert "labels do not match" in run.err


def test_strangers_are_rejected_if_asked_for(tenfold, npz, pixels, labels):
    run = tenfold(
        "fit", npz, "--method", "csda", "--false-accept-rate", "0.3", "-o", "m.safetensors"
    )
    assert run.code == 0, run.err
    found = library.load_model("m.safetensors")
    bank = library.ClassSpecificClassifier(library.CSDA())
    expected = library.OpenSetClassifier(bank, false_accept_rate=0.3).fit(pixels / 255, labels)
    assert found.threshold_ == expected.threshold_
    columns = strict_json(tenfold("score", "m.safetensors", npz, "--json").out)["columns"]
    assert columns["decision"] == expected.predict(pixels / 255).tolist()
    assert columns["score"] == expected.score_samples(pixels / 255).tolist()
    assert set(columns["threshold"]) == {expected.threshold_}
    is_low = np.array(columns["score"]) < columns["threshold"]
    np.testing.assert_array_equal(np.array(columns["decision"]) == "unknown", is_low)
    figures = strict_json(tenfold("evaluate", "m.safetensors", npz, "--json").out)
    rejected = np.mean(expected.predict(pixels / 255) == "unknown")
    assert figures["strangers"]["false_reject_rate"] == pytest.approx(rejected)
    assert "strangers against known classes" not in tenfold("evaluate", "m.safetensors", npz).out
    np.savez("mixed.npz", X=pixels, y=np.where(np.arange(len(labels)) % 4, labels, "new"))
    mixed = tenfold("evaluate", "m.safetensors", "mixed.npz", "--read", "scale=255").out
    assert "strangers against known classes: equal error rate" in mixed


def test_classes_come_in_natural_order_everywhere(tenfold, here, pixels):
    y = np.repeat(["s10", "s9", "s1"], 8)
    np.savez("ten.npz", X=pixels / 255, y=y)
    said = tenfold("fit", "ten.npz", "--method", "csda", "--ranks", "1", "-o", "m.safetensors").out
    assert "s1 (8 samples), s9 (8), s10 (8)" in said
    header = tenfold("score", "m.safetensors", "ten.npz").out.splitlines()[0]
    shown = tenfold("evaluate", "m.safetensors", "ten.npz").out
    assert header.index("s1") < header.index("s9") < header.index("s10")
    assert shown.index("s1 ") < shown.index("s9 ") < shown.index("s10 ")


def test_a_projector_saved_from_python_scores_without_deciding(tenfold, npz, pixels, labels):
    model = library.MCSDA((3, 3), positive="s7").fit(pixels / 255, labels)
    model.save("bare.safetensors")
    shown = tenfold("score", "bare.safetensors", npz)
    assert shown.code == 0, shown.err
    assert shown.out.startswith("sample,label,score\n")
    written = tenfold("score", "bare.safetensors", npz, "-o", "scores.csv")
    assert written.out == "wrote scores.csv: 24 samples\n"


def test_classes_that_are_true_and_false_are_not_accepted_and_rejected(tenfold, here, pixels):
    np.savez("two.npz", X=pixels[:16] / 255, y=np.arange(16) < 8)
    assert tenfold("fit", "two.npz", "-o", "two.safetensors").code == 0
    said = tenfold("score", "two.safetensors", "two.npz", "-o", "scores.csv").out
    assert "class True: 8 samples" in said
    assert "class False: 8 samples" in said


def test_by_default_there_are_gaussian_classes(tenfold, faces):
    run = tenfold("fit", faces, "--rows", "::2", "-o", "model.safetensors")
    assert run.code == 0, run.err
    assert "weights " in run.out
    assert "log loss" in run.out
    model = library.load_model("model.safetensors")
    assert isinstance(model, library.ProbabilisticLDA)
    words = ("model.safetensors", faces, "--rows", "1::2")
    facts = strict_json(tenfold("evaluate", *words, "--json").out)
    assert 0 <= facts["calibration_error"] <= 1
    assert "expected calibration error" in tenfold("evaluate", *words).out
    columns = strict_json(tenfold("score", *words, "--json").out)["columns"]
    names = ["probability s6", "probability s7", "probability s8"]
    assert list(columns) == ["sample", "label", "decision", *names]
    np.testing.assert_allclose(np.sum([columns[name] for name in names], axis=0), 1)
    facts = strict_json(tenfold("inspect", "model.safetensors", "--json").out)
    assert facts["views"] == model.views_
    assert facts["weights"] == pytest.approx(model.weights_.tolist())
    assert facts["left_out_log_loss"] == pytest.approx(model.loo_log_loss_)
    assert tenfold("report", *words, "-o", "page.html").code == 0
    page = Path("page.html").read_text("utf-8")
    assert "Whether its probabilities hold" in page
    assert "left-out log loss of each alone and of the pool" in page


@pytest.mark.parametrize(
    ("typed", "views"), [("linear", "linear"), ("numbers,rbf", ["numbers", "rbf"])]
)
def test_views_are_named_on_the_command_line(tenfold, faces, typed, views):
    assert tenfold("fit", faces, "--views", typed, "-o", "m.safetensors").code == 0
    assert library.load_model("m.safetensors").views == views
    words = ("--method", "cmda", "--ranks", "2,2", "--views", typed, "-o", "m.safetensors")
    assert tenfold("fit", faces, *words).code == 0
    assert library.load_model("m.safetensors")[-1].views == views


@pytest.mark.parametrize(
    ("words", "projector"),
    [
        (("--ranks", "3,2"), "MPCA"),
        (("--method", "cmda", "--ranks", "3,2", "--set", "ridge=0.2"), "CMDA"),
        (("--method", "MPCA", "--ranks", "0.9"), "MPCA"),  # a share of the scatter
    ],
)
def test_gaussian_classes_in_a_subspace(tenfold, faces, words, projector):
    run = tenfold("fit", faces, *words, "-o", "model.safetensors")
    assert run.code == 0, run.err
    model = library.load_model("model.safetensors")
    assert [type(step).__name__ for _, step in model.steps] == [projector, "ProbabilisticLDA"]


# ── compare ─────────────────────────────────────────────────────────────────────────────────────


def test_compare_judges_all_methods_on_the_same_folds(tenfold, here, pixels, labels):
    rng = np.random.default_rng(5)
    X = pixels / 255 + rng.normal(0, 0.4, pixels.shape)
    np.savez("noisy.npz", X=X, y=labels)
    run = tenfold("compare", "noisy.npz", "--ranks", "2,2", "--cv", "2", "--seed", "3", "--json")
    assert run.code == 0, run.err
    facts = strict_json(run.out)
    found = {one["method"]: one for one in facts["methods"]}
    baselines = {"RidgeClassifier", "LinearSVC", "KNeighborsClassifier", "SVC"}
    baselines.add("LinearDiscriminantAnalysis")
    banks = {M.__name__ for M in CLASS_SPECIFIC_METHODS}
    names = {M.__name__ for M in ALL_METHODS} - banks
    gaussian = {f"{name} + ProbabilisticLDA" for name in names}
    assert set(found) == banks | {"ProbabilisticLDA"} | gaussian | baselines
    assert facts["advice"].startswith(("Use ", "No clear winner: "))
    precisions = [one["average_precision"] for one in facts["methods"]]
    assert precisions == sorted(precisions, reverse=True)
    assert found["CSDA"]["ranks"] == [2]  # of 2 x 2, as many as three class means span

    each = {"MCSDA": [], "CMDA + ProbabilisticLDA": []}
    for train, test in StratifiedKFold(2, shuffle=True, random_state=3).split(X, labels):
        bank = library.ClassSpecificClassifier(library.MCSDA((2, 2))).fit(X[train], labels[train])
        scores = bank.decision_function(X[test])  # classes compete for a sample
        for k, c in enumerate(bank.classes_):
            each["MCSDA"].append(average_precision_score(labels[test] == c, scores[:, k]))
        shared = make_pipeline(library.CMDA((2, 2)), library.ProbabilisticLDA())
        shared.fit(X[train], labels[train])
        shares = shared.predict_log_proba(X[test])
        for k, c in enumerate(shared.classes_):
            found_here = average_precision_score(labels[test] == c, shares[:, k])
            each["CMDA + ProbabilisticLDA"].append(found_here)
    for name, precisions in each.items():
        assert found[name]["average_precision"] == pytest.approx(np.mean(precisions)), name
        assert np.mean(precisions) < 1  # the noise made it worth judging


@pytest.mark.long
@pytest.mark.parametrize("words", [[], ["--positive", "s7"]])
def test_compare_searches_the_ranks_inside_the_training_parts(tenfold, faces, words):
    run = tenfold("compare", faces, "--ranks", "auto", "--cv", "2", "--json", *words)
    assert run.code == 0, run.err
    ranks = {one["method"]: one["ranks"] for one in strict_json(run.out)["methods"]}
    assert len(ranks["MCSDA"]) == 2
    assert len(ranks["CSDA"]) == 1


# ── inspect, export, report ─────────────────────────────────────────────────────────────────────


def test_inspect_tells_what_the_file_holds(tenfold, verifier):
    facts = strict_json(tenfold("inspect", verifier, "--json").out)
    model = library.load_model(verifier)
    assert facts["classes"] == ["s6", "s7", "s8"]
    assert facts["threshold"] == model.threshold_
    assert facts["guaranteed_rate"] == model.guaranteed_rate_ == 1 / 3  # two other persons
    assert facts["positive"] == "s7"
    assert facts["parameters"]["projector__ranks"] == [3, 3]
    assert facts["summary"]["sample_shape"] == [8, 6]
    shown = tenfold("inspect", verifier).out
    assert "MCSDA(ranks=(3, 3))" in shown
    assert "8x6" in shown


def test_a_model_without_labels_has_no_classes(tenfold, npz):
    words = ("--method", "mpca", "--read", "labelled=False", "-o", "m.safetensors")
    assert tenfold("fit", npz, *words).code == 0
    assert strict_json(tenfold("inspect", "m.safetensors", "--json").out)["classes"] is None
    assert "none: no labels were needed" in tenfold("inspect", "m.safetensors").out


def test_an_exported_model_decides_as_the_model_does(tenfold, verifier, pixels):
    onnxruntime = pytest.importorskip("onnxruntime")
    run = tenfold("export", verifier, "--onnx", "s7.onnx")
    assert run.code == 0, run.err
    X = (pixels / 255).astype(np.float32)
    session = onnxruntime.InferenceSession("s7.onnx")
    scores, accepted = session.run(["scores", "accepted"], {"X": X})
    model = library.load_model(verifier)
    np.testing.assert_allclose(scores, model.projector_.decision_function(X), rtol=1e-5)
    assert (accepted == model.predict(X)).all()


# ── demo ───────────────────────────────────────────────────────────────────────────────────────


def test_an_old_page_is_not_the_report_of_a_demo_that_could_not_write(tenfold, here, monkeypatch):
    def refuse(*arguments):
        raise PermissionError("no right to write here")

    (here / "digits.html").write_text("old")
    monkeypatch.setattr("tenfold.app.demo.compare", lambda: ([], None))
    monkeypatch.setattr("tenfold.app.demo.write_report", refuse)
    assert strict_json(tenfold("demo", "-o", "digits.html", "--json").out)["report"] is None


@pytest.mark.parametrize("method", ["plda", "csda"])
def test_samples_with_gaps_are_fitted_and_scored_if_asked_to(tenfold, here, pixels, labels, method):
    X = pixels.astype(float)
    X[:, 2, 3][::3] = np.nan
    np.savez("gaps.npz", X=X, y=labels)
    words = ["fit", "gaps.npz", "--method", method, "-o", "m.safetensors"]
    refused = tenfold(*words)
    assert refused.code == 2
    assert "GaussianImputer" in refused.err
    assert tenfold(*words, "--impute", "--scale-modes", "0,1").code == 0
    lines = tenfold("score", "m.safetensors", "gaps.npz").out.splitlines()
    assert len(lines) == 1 + len(labels)
    assert "nan" not in "".join(lines)
    assert tenfold("evaluate", "m.safetensors", "gaps.npz").code == 0
    export = tenfold("export", "m.safetensors", "--onnx", "m.onnx")
    assert export.code == 2
    assert "GaussianImputer has no ONNX form" in export.err


def test_the_last_columns_of_a_table_are_covariates_if_asked_for(tenfold, here, pixels, labels):
    rng = np.random.default_rng(0)
    age = rng.normal(size=len(labels))
    rows = np.column_stack([pixels.reshape(len(labels), -1) + 9 * age[:, None], age])
    np.savez("rows.npz", X=rows, y=labels)
    run = tenfold(
        "fit",
        "rows.npz",
        "--method",
        "csda",
        "--covariates",
        "1",
        "--ranks",
        "auto",
        "-o",
        "m.safetensors",
    )
    assert run.code == 0
    model = library.load_model("m.safetensors")
    assert model[0].slopes_.shape == (1, pixels[0].size)
    assert tenfold("transform", "m.safetensors", "rows.npz", "-o", "features.npy").code == 0
    moments = tenfold("fit", "m.safetensors", "--from-moments", "--impute", "-o", "n.safetensors")
    assert moments.code == 2
