"""Moments on the command line: several sites, one model."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from tenfold import (
    CMDA,
    CSDA,
    ClassMoments,
    ClassSpecificClassifier,
    ProbabilisticLDA,
    load_model,
    load_moments,
    save_moments,
)
from tenfold.methods import LINEAR_METHODS


@pytest.fixture
def sites(here, pixels, labels, tenfold):
    """Moments of two sites: every second face, and the others."""
    for name, rows in {"one": slice(0, None, 2), "two": slice(1, None, 2)}.items():
        np.savez(here / f"{name}.npz", X=pixels[rows] / 255, y=labels[rows])
        run = tenfold("moments", f"{name}.npz", "-o", f"{name}.safetensors")
        assert run.code == 0, run.err
        assert "next: tenfold fit --from-moments" in run.out
    return "one.safetensors", "two.safetensors"


def test_moments_of_a_file_are_those_of_its_samples(sites, pixels, labels):
    found = load_moments(*sites)
    expected = ClassMoments.from_batch(pixels / 255, labels)
    assert found.classes.tolist() == ["s6", "s7", "s8"]
    assert_allclose(found.scatters, expected.scatters, atol=1e-12)


@pytest.mark.parametrize("name", [M.__name__.lower() for M in LINEAR_METHODS])
def test_every_method_is_fitted_from_moments(tenfold, sites, name, npz):
    words = ["--ranks", "5"] if name in ("csda", "csrda") else ["--ranks", "2,2"]
    run = tenfold("fit", "--from-moments", *sites, "--method", name, *words, "-o", "m.safetensors")
    assert run.code == 0, run.err
    run = tenfold("evaluate", "m.safetensors", npz)
    assert run.code == 0, run.err


def _of_projected_moments(X, labels):
    cmda = CMDA(ranks=(2, 2)).fit(X, labels)
    projected = ClassMoments.from_batch(cmda.transform(X), labels)
    return make_pipeline(cmda, ProbabilisticLDA().fit_moments(projected))


def test_the_models_are_those_of_all_samples(tenfold, sites, pixels, labels):
    X = pixels / 255
    for words, expected in {
        ("--method", "csda", "--ranks", "3"): ClassSpecificClassifier(CSDA(ranks=3)).fit(X, labels),
        (): ProbabilisticLDA().fit_moments(ClassMoments.from_batch(X, labels)),
        ("--method", "cmda", "--ranks", "2,2"): _of_projected_moments(X, labels),
    }.items():
        run = tenfold("fit", "--from-moments", *sites, *words, "-o", "m.safetensors")
        assert run.code == 0, run.err
        found = load_model("m.safetensors")
        scores = expected.decision_function(X)
        atol = 1e-8 * np.abs(scores).max()
        assert_allclose(found.decision_function(X), scores, atol=atol)


def test_tables_of_sites_are_scaled_as_one_table_is(tenfold, here):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 20)
    X = rng.normal(size=(60, 4)) + 2 * (y[:, None] == ["a", "b", "c", "c"])
    X = np.c_[np.full(60, 3.0), X * [1e-3, 1.0, 50.0, 1e4] + [5.0, 0.0, -7.0, 1e5]]
    rows = ["p,q,r,s,t,label"]
    rows += [",".join([*map(repr, x.tolist()), label]) for x, label in zip(X, y, strict=True)]
    (here / "all.csv").write_text("\n".join(rows))
    (here / "one.csv").write_text("\n".join([rows[0], *rows[1::2]]))
    (here / "two.csv").write_text("\n".join([rows[0], *rows[2::2]]))
    for name in ("one", "two"):
        assert tenfold("moments", f"{name}.csv", "-o", f"{name}.st.safetensors").code == 0
    sites = ["one.st.safetensors", "two.st.safetensors"]
    for words in (
        ["--method", "csda", "--ranks", "2"],
        ["--method", "cmda", "--ranks", "2"],
        ["--method", "csda", "--ranks", "2", "--scale-modes", "none"],
        ["--method", "csda", "--ranks", "2", "--covariates", "1"],
    ):
        run = tenfold("fit", "--from-moments", *sites, *words, "-o", "sites.safetensors")
        assert run.code == 0, run.err
        assert tenfold("fit", "all.csv", *words, "-o", "all.safetensors").code == 0
        found, expected = (load_model(f"{name}.safetensors") for name in ("sites", "all"))
        if "cmda" in words:  # what follows chooses differently, without samples
            found, expected = found[:-1], expected[:-1]
            assert_allclose(found.transform(X), expected.transform(X), atol=1e-7)
        else:
            scores = expected.decision_function(X)
            atol = 1e-7 * np.abs(scores).max()
            assert_allclose(found.decision_function(X), scores, atol=atol)
    run = tenfold("fit", "--from-moments", *sites, "-o", "sites.safetensors")
    assert run.code == 0, run.err
    assert tenfold("evaluate", "sites.safetensors", "all.csv").code == 0
    run = tenfold("fit", "--from-moments", *sites, "--scale-modes", "0", "-o", "x.safetensors")
    assert run.code == 2
    assert "scale samples before tenfold moments, or pass each" in run.err


def test_a_model_from_moments_reads_samples_as_the_sites_did(tenfold, here, pixels, labels):
    for name, rows in {"one": slice(0, None, 2), "two": slice(1, None, 2)}.items():
        flat = pixels[rows].reshape(len(pixels[rows]), -1)
        np.savez(here / f"{name}.npz", X=flat, y=labels[rows])
        how = ["--sample-shape", "8,6", "--read", "scale=255"]
        assert tenfold("moments", f"{name}.npz", *how, "-o", f"{name}.safetensors").code == 0
    words = ["one.safetensors", "two.safetensors", "-o", "m.safetensors"]
    assert tenfold("fit", "--from-moments", *words).code == 0
    run = tenfold("evaluate", "m.safetensors", "one.npz", "--json")
    assert run.code == 0, run.err
    assert "scale=255" in run.err  # read as the samples that the model was fitted on
    run = tenfold("moments", "one.npz", "--sample-shape", "8,6", "-o", "other.safetensors")
    run = tenfold(
        "fit", "--from-moments", "two.safetensors", "other.safetensors", "-o", "x.safetensors"
    )
    assert run.code == 2
    assert "scale=255, but those of other.safetensors have scale=None" in run.err


def test_tables_that_memory_cannot_hold_are_refused_before_the_work(tenfold, npz):
    with config_context(working_memory=0.01):
        run = tenfold("moments", npz, "-o", "x.safetensors")
    assert run.code == 2
    assert "make the samples smaller first" in run.err


def test_inspect_shows_moments(tenfold, sites):
    run = tenfold("inspect", "one.safetensors")
    assert run.code == 0
    assert "of 12 samples of 8x6" in run.out
    assert "4 to 4" in run.out
    facts = json.loads(tenfold("inspect", "one.safetensors", "--json").out)
    assert facts["classes"] == ["s6", "s7", "s8"]
    assert facts["counts"] == [4, 4, 4]
    words = ("moments", "one.npz", "-o", "x.safetensors")
    facts = json.loads(tenfold(*words, "--minimum-count", "2", "--json").out)
    assert (facts["samples"], facts["sample_shape"], facts["minimum_count"]) == (12, [8, 6], 2)
    run = tenfold(*words, "--read", "labelled=False")
    assert "the samples have no labels" in run.out
    assert "in a class" not in run.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["moments", "one.npz", "-o", "x.safetensors", "--minimum-count", "5"], "minimum_count=5"),
        (["moments", "one.npz", "-o", "x.safetensors", "--minimum-count", "0"], "number from 1"),
        (["moments", "one.npz", "-o", "x.npz"], "should end in .safetensors"),
        (["fit", "--from-moments", "one.npz", "-o", "x.safetensors"], "not a safetensors file"),
        (["fit", "--from-moments", "no.st", "-o", "x.safetensors"], "does not exist"),
        (["fit", "one.safetensors", "-o", "x.safetensors"], "for moments add --from-moments"),
        (["fit", "one.npz", "two.npz", "-o", "x.safetensors"], "2 data sets were named"),
        (["evaluate", "one.safetensors", "one.npz"], "it holds moments, not a model"),
    ],
)
def test_what_cannot_be_done_is_said(tenfold, sites, here, words, said):
    run = tenfold(*words)
    assert run.code == 2
    assert said in run.err
    assert not (here / "x.safetensors").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "auto"], "name the ranks"),
        (["--positive", "s7"], "--positive needs samples"),
        (["--rows", "::2"], "--rows needs samples"),
        (["--sample-shape", "4,12"], "--sample-shape needs samples"),
        (["one.safetensors"], "named twice"),
        (["--cv", "3"], "--cv needs samples"),
        (["--views", "rbf"], "--views needs samples"),
        (["--set", "views=rbf"], "--views needs samples"),
        (["--impute"], "fill in gaps before tenfold moments"),
        (["--method", "kernelcsda"], "learns from all samples at once"),
    ],
)
def test_what_needs_samples_is_refused(tenfold, sites, words, said):
    run = tenfold("fit", "--from-moments", *sites, *words, "-o", "x.safetensors")
    assert run.code == 2
    assert said in run.err


def test_counts_are_sums_of_weights(tenfold, here, pixels, labels):
    weight = np.where(labels == "s6", 0.02, 1e10)
    save_moments(ClassMoments.from_batch(pixels / 255, labels, weight), here / "w.safetensors")
    words = ["--method", "csda", "--ranks", "2", "-o", "m.safetensors", "--json"]
    run = tenfold("fit", "--from-moments", "w.safetensors", *words)
    assert run.code == 0, run.err
    facts = json.loads(run.out)
    assert facts["counts"] == {"s6": 1, "s7": 80000000000, "s8": 80000000000}
    assert facts["samples"] == 160000000000


def test_samples_without_labels_are_no_class_and_give_a_subspace(tenfold, npz):
    def fit(*words):
        return tenfold("fit", "--from-moments", *words, "-o", "m.safetensors")

    assert tenfold("moments", npz, "--read", "labelled=False", "-o", "u.safetensors").code == 0
    assert tenfold("moments", npz, "-o", "l.safetensors").code == 0
    assert fit("u.safetensors", "--method", "mpca").code == 0
    for words, said in {
        ("u.safetensors",): "needs labels of two classes or more",
        ("u.safetensors", "l.safetensors"): "u.safetensors is of samples without labels",
        ("u.safetensors", "--method", "hoda"): "--method mpca",
    }.items():
        run = fit(*words)
        assert run.code == 2
        assert said in run.err
