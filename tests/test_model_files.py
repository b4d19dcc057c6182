"""Laws of model files: the same model comes back, or an error that names the problem."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tenfold
from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    Blocks,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    CovariateRemover,
    GaussianImputer,
    KernelCSDA,
    ModeScaler,
    OpenSetClassifier,
    ProbabilisticLDA,
    RankSearchCV,
)
from tenfold.methods import LINEAR_METHODS
from tenfold.methods.base import Savable
from tenfold.system.model_format import HEADER_LIMIT, ModelFileError, _checksum, read
from tenfold.system.plain_values import mapping_of, unpacked_labels

DIGITS = load_digits()
X, Y = DIGITS.images[:600], DIGITS.target[:600]
CUBES = np.random.default_rng(0).normal(size=(60, 4, 3, 5))
CUBE_LABELS = np.tile(["ann", "bob", "cleo"], 20)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture
def small(path):
    """A file with a small model."""
    MCSDA(ranks=2, positive="bob").fit(CUBES, CUBE_LABELS).save(path)
    return path


def through_file(estimator, path, **options):
    estimator.save(path, **options)
    return tenfold.load(path)


def assert_same(came, saved):
    """Equal in every bit, dtype and type; NumPy scalars come back as Python's."""
    came, saved = (v.item() if isinstance(v, np.generic) else v for v in (came, saved))
    assert type(came) is type(saved)
    if isinstance(saved, np.ndarray):
        assert came.dtype == saved.dtype
        assert came.shape == saved.shape
        assert came.tolist() == saved.tolist() if saved.dtype == object else True
        assert came.dtype == object or came.tobytes() == saved.tobytes()
    elif isinstance(saved, list | tuple):
        assert len(came) == len(saved)
        for one, other in zip(came, saved, strict=True):
            assert_same(one, other)
    elif isinstance(saved, ClassMoments | Savable):
        # The stack of a bank's subspaces is made of its learned attributes, and not saved; nor
        # are the moments that a fit has in memory.
        unsaved = {"_stacked"} if getattr(saved, "_is_stream", True) else {"_stacked", "moments_"}
        state = {name: value for name, value in vars(saved).items() if name not in unsaved}
        assert vars(came).keys() - unsaved == state.keys()
        for name, value in state.items():
            assert_same(getattr(came, name), value)
    else:
        assert came == saved


def outputs(model, X):
    for name in (
        "transform",
        "decision_function",
        "predict",
        "distances",
        "similarity",
        "predict_proba",
    ):
        if hasattr(model, name):
            yield getattr(model, name)(X)


ESTIMATORS = [
    *(M(ranks=2) for M in LINEAR_METHODS),
    KernelCSDA(ranks=2),
    MCSDA(ranks=2, orthonormal=False, output="tensor", shrinkage="auto"),
    MCSDA(ranks=2, solver="trace_ratio", ridge=("absolute", 0.01)),
    CSDA(ranks=np.int64(3)),
    ClassSpecificClassifier(MCSDA(ranks=2)),
    ClassSpecificClassifier(CSDA(ranks=4), normalise=False),
    ClassSpecificVerifier(MCSDA(ranks=2), false_accept_rate=0.5),
    ClassSpecificVerifier(CSDA(ranks=4), false_accept_rate="equal"),
    ProbabilisticLDA(),
    ProbabilisticLDA(MPCA(ranks=2), shrinkage=0.2),
    ProbabilisticLDA(CSDA(ranks=4)),
    OpenSetClassifier(ProbabilisticLDA(shrinkage=0.2), false_accept_rate=0.5),
    OpenSetClassifier(ClassSpecificClassifier(CSDA(ranks=4)), false_accept_rate=0.9),
    ModeScaler(),
    ModeScaler(0, keep="both", output="flat"),
    ModeScaler((), per_sample=False),
    GaussianImputer(),
    CovariateRemover(),
    Blocks(MPCA(ranks=1)),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("data", ["cubes", "vectors"])
def test_every_estimator_comes_back_the_same_to_the_last_bit(estimator, data, path):
    batch, labels = CUBES, CUBE_LABELS
    batch = batch.reshape(len(batch), -1) if data == "vectors" else batch
    if isinstance(estimator, ClassSpecificVerifier):
        estimator = clone(estimator).set_params(positive=labels[0])
    estimator.fit(batch, labels)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* will hold .* training samples as they came")
        loaded = through_file(estimator, path)
    assert_same(loaded, estimator)
    for samples in (batch, batch.astype(np.float32), batch[:1]):
        for came, saved in zip(outputs(loaded, samples), outputs(estimator, samples), strict=True):
            assert_same(came, saved)


def test_every_public_estimator_that_learns_a_model_can_be_saved():
    public = {getattr(tenfold, name) for name in tenfold.__all__}
    learners = {kind for kind in public if isinstance(kind, type) and hasattr(kind, "fit")}
    assert {kind.__name__ for kind in learners if not issubclass(kind, Savable)} == {"RankSearchCV"}
    assert {type(estimator) for estimator in ESTIMATORS} == learners - {tenfold.RankSearchCV}


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["zwölf", "a", "長い"]),
        np.array(["with\nline", 'quote"', "\ud800"], dtype=object),
        np.array([-3, 0, 7], dtype=np.int8),
        np.array([1, 2**63, 2**64 - 1], dtype=np.uint64),
        np.array([False, True, True]),
        np.array([0.0, 1.0, 2.0], dtype=np.float32),
        np.array([-1.0, 2.0, 3.0]),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_of_any_plain_kind_keep_their_kind(labels, path):
    y = labels[np.arange(len(CUBES)) % 3]
    positive = labels[1].item() if isinstance(labels[1], np.generic) else labels[1]
    bank = ClassSpecificClassifier(MCSDA(ranks=2, positive=positive)).fit(CUBES, y)
    loaded = through_file(bank, path)
    assert_same(loaded.classes_, bank.classes_)
    assert_same(loaded.predict(CUBES), bank.predict(CUBES))
    assert_same(loaded.projector.positive, positive)


@pytest.mark.parametrize("labels", [[b"a", b"b", b"c"], np.array([1, 2, 3], "M8[D]")])
def test_labels_of_another_kind_are_refused_before_anything_is_written(labels, path):
    bank = ClassSpecificClassifier(MCSDA(ranks=2)).fit(CUBES, CUBE_LABELS)
    bank.classes_ = np.array(labels)
    with pytest.raises(ValueError, match=r"classes_=.* of ClassSpecificClassifier cannot be saved"):
        bank.save(path)
    assert os.listdir(path.parent) == []


def test_ranks_for_every_label_and_column_names_come_back(path):
    frame = pd.DataFrame(X.reshape(len(X), -1)).add_prefix("pixel")
    model = MCSDA(ranks=dict.fromkeys(range(10), (2, 3)), sample_shape=[8, 8])
    bank = ClassSpecificClassifier(model).fit(frame, Y)
    loaded = through_file(bank, path)
    assert_same(loaded, bank)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"pixel0": "other"}))


def test_the_memory_order_of_arrays_is_kept(path):
    model = MCSDA(ranks=4).fit(X, Y)
    first, second = model.projections_
    model.projections_ = [np.asfortranarray(first), second[:, ::1]]
    model.mean_ = np.ones((8, 16))[:, ::2]  # neither order
    loaded = through_file(model, path)
    assert loaded.projections_[0].flags.f_contiguous
    assert loaded.projections_[1].flags.c_contiguous
    assert_same(loaded.transform(X), model.transform(X))


# ── partial_fit goes on ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "make",
    [
        MPCA,
        MCSDA,
        lambda **kw: ClassSpecificClassifier(MCSDA(**kw)),
        lambda **kw: ProbabilisticLDA(),
        lambda **kw: ProbabilisticLDA(MPCA(**kw), shrinkage=0.3),
    ],
)
@pytest.mark.parametrize("first", [4, 300])
def test_a_saved_stream_goes_on_as_if_never_saved(make, first, path):
    """With 4 samples there is nothing to solve yet for most, and only moments are saved."""
    model = make(ranks=2)
    model.partial_fit(X[:first], Y[:first], classes=np.arange(10))
    loaded = through_file(model, path, moments=True)
    assert_same(loaded, model)
    assert_same(loaded.partial_fit(X[first:], Y[first:]), model.partial_fit(X[first:], Y[first:]))


def test_a_saved_model_enrols_as_if_never_saved(path):
    model = ProbabilisticLDA().fit(CUBES, CUBE_LABELS)
    loaded = through_file(model, path)
    assert_same(loaded.enrol(CUBES[:3], ["dora"] * 3), model.enrol(CUBES[:3], ["dora"] * 3))
    assert_same(through_file(model, path), model)


# ── Pipelines ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "last",
    [
        MCSDA(ranks=2, positive=3),
        ClassSpecificClassifier(MCSDA(ranks=2)),
        ProbabilisticLDA(MPCA(ranks=3)),
        ClassSpecificVerifier(MCSDA(ranks=2), positive=3, false_accept_rate=0.5),
    ],
    ids=str,
)
def test_a_pipeline_comes_back_the_same_to_the_last_bit(last, path):
    model = Pipeline([("scale", ModeScaler(0)), ("none", "passthrough"), ("model", clone(last))])
    model.fit(X, Y)
    tenfold.save(model, path, reading={"scale": 16})
    loaded = tenfold.load(path)
    assert isinstance(loaded, Pipeline)
    assert [name for name, _ in loaded.steps] == ["scale", "none", "model"]
    for came, saved in zip(outputs(loaded, X), outputs(model, X), strict=True):
        assert_same(came, saved)
    summary = read(path)[0]["summary"]
    assert summary["steps"] == ["ModeScaler"]
    assert summary["method"] == type(last).__name__
    assert summary["sample_shape"] == [8, 8]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(StandardScaler(), CSDA(ranks=2)), r"ModeScaler\(\(\), per_sample=False\)"),
        (make_pipeline(PCA(9), CSDA(ranks=2)), r"PCA is not part of tenfold.*joblib"),
        (RankSearchCV(CSDA(), [1, 2], cv=2), "save its best_estimator_"),
        (ClassSpecificClassifier(CSDA(ranks=2), classifier=SVC()), "classifier=SVC.*joblib"),
    ],
    ids=["StandardScaler", "PCA", "search", "second classifier"],
)
def test_what_would_need_pickle_is_refused_with_advice(model, message, path):
    model.fit(X.reshape(len(X), -1), Y == 3)
    with pytest.raises(ValueError, match=message):
        tenfold.save(model, path)
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda steps: steps.clear(), "no steps"),
        (lambda steps: steps.append(steps[0]), "two of one name"),
        (lambda steps: steps[0].append(1), "where a str should be"),
        (lambda steps: steps[1][1]["learned"].clear(), "step 'csda' of its pipeline is not fitted"),
    ],
    ids=["empty", "twice", "triple", "unfitted"],
)
def test_a_forged_pipeline_is_refused(change, message, path):
    tenfold.save(make_pipeline(ModeScaler(), CSDA(ranks=2)).fit(X, Y == 3), path)
    rewrite(path, lambda header, _: change(header["model"]["pipeline"]))
    with pytest.raises(ModelFileError, match=message):
        tenfold.load(path)


# ── What cannot be saved ────────────────────────────────────────────────────────────────────────


def test_a_reading_is_words_and_numbers(path):
    model = MCSDA(ranks=2).partial_fit(X, Y)
    for value in (np.zeros((8, 8)), [model.moments_], {"mean": 1}):
        with pytest.raises(ValueError, match=r"reading\['mean_'\] is "):
            model.save(path, reading={"mean_": value})
        with pytest.raises(ValueError, match=r"reading\['mean_'\] is "):
            tenfold.save_moments(model.moments_, path, reading={"mean_": value})
    assert not path.exists()


def test_an_unfitted_estimator_cannot_be_saved(path):
    with pytest.raises(NotFittedError):
        MCSDA().save(path)


# ── The file ────────────────────────────────────────────────────────────────────────────────────


def test_the_file_is_an_ordinary_safetensors_file(path):
    """An answer from outside: the library's own reader finds the same numbers."""
    model = MCSDA(ranks=4).partial_fit(X, Y)
    model.save(path, moments=True)
    arrays = safetensors.numpy.load_file(path)
    assert_same(arrays["projections_.1"], np.ascontiguousarray(model.projections_[1]))
    assert_same(arrays["moments_.scatters"], model.moments_.scatters)
    assert_same(arrays["mean_"], model.mean_)
    with safetensors.safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["tenfold"])
    assert header == read(path)[0]


def test_the_header_tells_what_a_person_wants_to_know(path):
    weight = np.ones(len(Y))
    weight[Y == 9] = 0
    bank = ClassSpecificClassifier(MCSDA(ranks=2)).fit(X, Y, weight)
    bank.save(path)
    header, _ = read(path)
    assert header["format"] == "3.0"
    assert header["versions"]["tenfold"] == tenfold.__version__
    assert header["versions"]["numpy"] == np.__version__
    assert header["labels"] == [{"dtype": "<i8", "values": list(range(9))}]
    members = bank.projectors_
    assert header["summary"] == {
        "method": "ClassSpecificClassifier",
        "steps": [],
        "projector": "MCSDA",
        "sample_shape": [8, 8],
        "n_classes": 9,
        "ranks": [[2, 2]] * 9,
        "n_iter": [member.n_iter_ for member in members],
        "converged": [member.converged_ for member in members],
        "objective": [member.objective_[-1] for member in members],
        "counts": np.bincount(Y)[:9].tolist(),
    }


# ── Whole or not at all ─────────────────────────────────────────────────────────────────────────


SAVE_FOR_EVER = """
import signal, sys, warnings
import numpy as np, tenfold
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(60, 12, 10))
model = tenfold.MCSDA(ranks=2).partial_fit(X, np.arange(60) % 20)
model.save(sys.argv[1], moments=True)
print("ready", flush=True)
while True:
    model.save(sys.argv[1], moments=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_ctrl_c_leaves_a_whole_file(path):
    command = [sys.executable, "-c", SAVE_FOR_EVER, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.013)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert b"KeyboardInterrupt" in errors
    assert os.listdir(path.parent) == [path.name]
    assert tenfold.load(path).ranks_ == (2, 2)


def test_saving_follows_a_link_and_respects_the_umask(small, tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(small)
    MPCA(ranks=2).fit(X).save(link)
    assert link.is_symlink()
    assert isinstance(tenfold.load(small), MPCA)
    (tmp_path / "plain").touch()
    assert small.stat().st_mode == (tmp_path / "plain").stat().st_mode


# ── Versions ────────────────────────────────────────────────────────────────────────────────────


def rewrite(path, edit, sign=True):
    """Change the header and arrays of a file by hand, as someone else's program might."""
    header, arrays = read(path)
    header = json.loads(json.dumps(header))
    edit(header, arrays)
    rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if sign:
        header["checksum"] = _checksum(header, rows)
    path.write_bytes(safetensors.numpy.save(rows, {"tenfold": json.dumps(header)}))
    return path


def test_a_newer_minor_version_loads_and_says_what_it_left_out(small):
    model = tenfold.load(small)

    def age(header, arrays):
        header["format"] = "3.7"
        header["mood"] = "good"
        arrays["shine_"] = np.ones(3)
        header["model"]["parameters"]["polish"] = {"new": "kind"}
        header["model"]["learned"]["shine_"] = {"array": "shine_"}

    rewrite(small, age)
    with pytest.warns(UserWarning, match=r"left out (polish|shine_) of MCSDA") as told:
        newer = tenfold.load(small)
    assert len(told) == 2
    assert_same(newer, model)


def test_a_newer_major_version_asks_for_an_upgrade(small):
    rewrite(small, lambda header, _: header.update(format="4.0", checksum="blake3:..."), sign=False)
    with pytest.raises(ModelFileError, match=r"model\.safetensors.*format 4\.0.*upgrade tenfold"):
        tenfold.load(small)


def test_a_file_of_before_is_refused_in_words(small):
    rewrite(small, lambda header, _: header.update(format="1.1"))
    with pytest.raises(ModelFileError, match=r"format 1\.1.*no longer read; fit the model again"):
        tenfold.load(small)


# ── Damaged, foreign and hostile files ──────────────────────────────────────────────────────────


def test_other_numbers_are_never_returned_silently(small):
    """A single bit of a single number: without the checksum nothing would show it."""
    data = bytearray(small.read_bytes())
    data[-3] ^= 1
    small.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"model\.safetensors.*checksum is wrong"):
        tenfold.load(small)


FOREIGN = {
    "empty": (b"", "not a safetensors file"),
    "pickle": (pickle.dumps(SVC()), "not a safetensors file"),
    "length": (b"\xff" * 8 + b"{}", "declares a header of 18446744073709551615 bytes"),
    "cut": ((50).to_bytes(8, "little") + b"{}", "cut short"),
    "utf8": ((3).to_bytes(8, "little") + b"{\xff}", "not valid JSON"),
    "weights": (safetensors.numpy.save({"w": np.ones(3)}), "another program"),
    "metadata": (safetensors.numpy.save({}, {"tenfold": "[]"}), "not a JSON object"),
    "nan": (safetensors.numpy.save({}, {"tenfold": '{"a": NaN}'}), "NaN is not JSON"),
}


@pytest.mark.parametrize(("data", "message"), FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_file_is_named_and_explained(data, message, path):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=rf"model\.safetensors: .*{message}"):
        tenfold.load(path)


def test_what_is_no_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tenfold.load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="not a regular file"):
        tenfold.load(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
        with pytest.raises(ModelFileError, match="not a regular file"):
            tenfold.load(tmp_path / "pipe")


def raw(table, data=b""):
    head = json.dumps(table).encode()
    return len(head).to_bytes(8, "little") + head + data


def entry(**changes):
    return {"dtype": "F64", "shape": [2], "data_offsets": [0, 16], **changes}


TABLES = {
    "huge shape": ({"a": entry(shape=[2**40, 2**40])}, "does not fit its 16 bytes"),
    "huge offset": ({"a": entry(shape=[2**44], data_offsets=[0, 2**47])}, "cut short"),
    "beyond int": ({"a": entry(shape=[2**100])}, "that no array can have"),
    "bool": ({"a": entry(shape=[True, 2])}, "that no array can have"),
    "empty, yet huge": (
        {"a": entry(shape=[2**40, 2**40, 2**40, 0], data_offsets=[0, 0])},
        "array is too big|Maximum allowed",
    ),
    "overlap": ({"a": entry(), "b": entry(data_offsets=[8, 24])}, "overlap or leave a gap"),
    "gap": ({"a": entry(), "b": entry(data_offsets=[24, 40])}, "overlap or leave a gap"),
    "backwards": ({"a": entry(data_offsets=[16, 0])}, "does not fit its -16 bytes"),
    "dtype": ({"a": entry(dtype="BF16")}, "dtype 'BF16'"),
    "object": ({"a": entry(dtype={"evil": 1})}, "expected F64 or F32"),
    "list": ({"a": [1, 2]}, "no proper dtype"),
    "too long": ({}, "too long: its arrays take 0 bytes, but 16"),
}


@pytest.mark.parametrize(("table", "message"), TABLES.values(), ids=TABLES.keys())
def test_sizes_are_checked_before_anything_is_allocated(table, message, path):
    header = json.dumps({"format": "3.0"})
    size = 0 if "too big" in message else 16
    path.write_bytes(raw({"__metadata__": {"tenfold": header}, **table}, bytes(size)))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            tenfold.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


ROOM = HEADER_LIMIT - 100
HOSTILE = {
    "deep lists": lambda: "[" * (ROOM // 2) + "]" * (ROOM // 2),
    "deep objects": lambda: '{"a":' * (ROOM // 6) + "1" + "}" * (ROOM // 6),
    "lists": lambda: "[" + ",".join(["[[]]"] * (ROOM // 5)) + "]",
    "objects": lambda: "[" + ",".join(['{"":{}}'] * (ROOM // 8)) + "]",
    "keys": lambda: "{" + ",".join(f'"{i:x}":{i}' for i in range(ROOM // 14)) + "}",
    "digits": lambda: "9" * ROOM,
    "words": lambda: '"' + "\\u00e9" * (ROOM // 6) + '"',
}


@pytest.mark.parametrize("place", ["outside", "inside"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_header_costs_less_than_200_megabytes(kind, place, path):
    text = HOSTILE[kind]()
    if place == "inside":
        text = json.dumps({"tenfold": f'{{"format":"3.0","x":{text}}}'})
    head = f'{{"__metadata__":{text}}}'.encode()[:HEADER_LIMIT]
    path.write_bytes(len(head).to_bytes(8, "little") + head)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            tenfold.load(path)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


def learned(name, value):
    return lambda header, _: header["model"]["learned"].update({name: value})


def array(name, value):
    def edit(header, arrays):
        arrays[name] = np.asarray(value)

    return edit


def labels(dtype, values):
    return lambda header, _: header.update(labels=[{"dtype": dtype, "values": values}])


FORGERIES = {
    "unknown method": (lambda h, _: h["model"].update(method="os.system"), "does not know"),
    "no model": (lambda h, _: h.pop("model"), "does not say of which method"),
    "no labels": (lambda h, _: h.pop("labels"), "lists no labels"),
    "parameter": (lambda h, _: h["model"]["parameters"].update(evil=1), "no parameters named evil"),
    "attribute": (learned("__class__", 1), "no learned named __class__"),
    "missing": (lambda h, _: h["model"]["learned"].pop("mean_"), "lacks mean_"),
    "reference": (learned("mean_", {"array": "nowhere"}), "'nowhere' that is not there"),
    "kind": (learned("mean_", {"import": "os"}), "stands for nothing"),
    "bare dict": (learned("mean_", {}), "stands for nothing"),
    "text mean": (learned("mean_", "0"), "its mean_ is '0'"),
    "wide shape": (learned("sample_shape_", [4, 3, 6]), "n_features_in_ has 60, but"),
    "other ranks": (learned("ranks_", [2, 2, 3]), "projections_ has"),
    "few modes": (learned("ranks_", [2, 2]), "projections_ has"),
    "label index": (learned("classes_", {"labels": 7}), "labels 7 that are not there"),
    "positive": (lambda h, _: h["model"]["parameters"].update(positive="eve"), "positive is 'eve'"),
    "mean": (array("mean_", np.ones((3, 4, 5))), "mean_ has"),
    "mean dtype": (array("mean_", np.ones((4, 3, 5), dtype=np.float32)), None),
    "objective": (array("objective_", np.ones(1000)), "objective_ has"),
    "infinite": (array("mean_", np.full((4, 3, 5), np.inf)), "'mean_' holds NaN or infinity"),
    "nan": (array("projections_.0", np.full((4, 2), np.nan)), "holds NaN or infinity"),
    "huge words": (labels("<U99999999", ["a", "b", "c"]), "take more than"),
    "mixed": (labels("<U4", ["ann", 1, "cleo"]), "must not be of types"),
    "cut words": (labels("<U2", ["ann", "bob", "cleo"]), "do not fit their dtype"),
    "overflow": (labels("|i1", [1, 2, 300]), "out of bounds|do not fit"),
    "void": (labels("V8", ["ann", "bob", "cleo"]), "not of a plain kind"),
    "commas": (labels("i4,i4", ["ann", "bob", "cleo"]), "not of a plain kind"),
    "objects": (labels("|O", [["ann"], ["bob"], ["cleo"]]), "must not be of types|plain"),
    "one label": (labels("<U4", ["ann"]), "positive is 'bob'"),
}


@pytest.mark.parametrize(("edit", "message"), FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_model_must_fit_together(edit, message, small):
    """The checksum is right, so only what the file says can give it away."""
    rewrite(small, edit)
    if message is None:
        assert tenfold.load(small).transform(CUBES).shape == (60, 8)
        return
    with pytest.raises(ModelFileError, match=rf"model\.safetensors: .*({message})"):
        tenfold.load(small)


def forged_bank(edit, path):
    bank = ClassSpecificClassifier(MCSDA(ranks=2, decision="distance"))
    bank.fit(CUBES, CUBE_LABELS).save(path)
    return rewrite(path, edit)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda h, _: h["model"]["learned"]["projectors_"]["list"].pop(), "projectors_ has"),
        (lambda h, _: h["model"]["parameters"].update(projector=3), "its projector is 3"),
        (array("spreads_", [1.0, 0.0, 1.0]), "spreads_ are not all above 0"),
        (array("spreads_", [1.0, 1.0]), "spreads_ has"),
        (learned("projectors_", {"list": [1, 2, 3]}), "projectors_ has"),
    ],
)
def test_a_forged_bank_must_fit_together(edit, message, path):
    with pytest.raises(ModelFileError, match=message):
        tenfold.load(forged_bank(edit, path))


WATCHED_LOAD = """
import sys
from tenfold import load

seen = []
quiet = {"object.__getattr__", "object.__setattr__", "object.__delattr__", "builtins.id"}
sys.addaudithook(lambda event, args: seen.append(event) if watching else None)
watching = True
model = load(sys.argv[1])
watching = False
print([event for event in seen if event not in quiet])
watching = True
__import__("pickle").loads(b"cos\\ngetcwd\\n.")
watching = False
print(seen)
"""


def test_loading_runs_no_code_imports_nothing_and_opens_one_file(small):
    """Python's own audit events: no import, compile, exec, pickle or process; one open."""
    code = "watching = False\n" + WATCHED_LOAD
    run = subprocess.run([sys.executable, "-c", code, small], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded, unpickled = run.stdout.splitlines()
    assert loaded == "['open']"
    assert "pickle.find_class" in unpickled  # the watchman would see it


def test_keys_of_a_mapping_that_collide_are_refused_at_once():
    modulus = 2**61 - 1  # of the hash of an int
    with pytest.raises(ValueError, match="keys that collide"):
        mapping_of([(k * modulus, (1, 1)) for k in range(40_000)])
    assert mapping_of([(k, k) for k in range(1000)]) == {k: k for k in range(1000)}


def test_labels_that_claim_to_be_long_take_no_memory():
    with pytest.raises(TypeError, match="take more than"):
        unpacked_labels({"dtype": "<U16777216", "values": ["a"] * 64})
