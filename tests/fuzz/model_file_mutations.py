"""Ways to damage and to forge files of models and of moments, for hostile_files.py."""

import json
import re
import tempfile
import warnings
from contextlib import suppress

import mutations as ways
import numpy as np
from mutations import flip_bits, lengthen, truncate
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import (
    CSDA,
    MCSDA,
    MPCA,
    ClassMoments,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    ModeScaler,
    ProbabilisticLDA,
    gather_moments,
    save,
    save_moments,
)
from tenfold.serialization.model_format import ModelFileError, _checksum, read


def flip_bits_of_the_header(data, other, dice):
    length = int.from_bytes(data[:8], "little")
    return flip_bits(data[: 8 + length], other, dice) + data[8 + length :]


def take_the_header_of_another(data, other, dice):
    a, b = (8 + int.from_bytes(d[:8], "little") for d in (data, other))
    return other[:b] + data[a:]


def declare_a_huge_header(data, other, dice):
    length = dice.choice([2**63, 2**64 - 1, 2**40, 2**31, len(data), len(data) - 8, 0, 1])
    return length.to_bytes(8, "little") + data[8:]


def declare_huge_numbers(data, other, dice):
    head, rest = split(data)
    numbers = list(re.finditer(rb"\d+", head))
    for spot in sorted(dice.sample(numbers, dice.choice([1, 1, 2, 4])), key=lambda m: -m.start()):
        value = dice.choice([0, 1, 7, 2**31, 2**40, 2**62, 2**64, 10**30, -1])
        head = head[: spot.start()] + str(value).encode() + head[spot.end() :]
    return joined(head, rest)


def swap_parts(data, other, dice):
    a, b, c = sorted(dice.sample(range(len(data)), 3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def erase_a_part(data, other, dice):
    a, b = sorted(dice.sample(range(len(data)), 2))
    return data[:a] + bytes(b - a) + data[b:]


def exchange_arrays(data, other, dice):
    head, rest = split(data)
    table = json.loads(head)
    a, b = dice.sample([name for name in table if name != "__metadata__"], 2)
    table[a], table[b] = table[b], table[a]
    return joined(json.dumps(table).encode(), rest)


def edit_the_table(data, other, dice):
    head, rest = split(data)
    return joined(json.dumps(edited(json.loads(head), dice)).encode(), rest)


def edit_the_tenfold_header(data, other, dice):
    head, rest = split(data)
    table = json.loads(head)
    header = edited(json.loads(table["__metadata__"]["tenfold"]), dice)
    table["__metadata__"]["tenfold"] = json.dumps(header)
    return joined(json.dumps(table).encode(), rest)


def write_the_same_differently(data, other, dice):
    """Other spacing and order of keys: not damage, so it must load."""
    head, rest = split(data)
    table = json.loads(head)
    header = json.loads(table["__metadata__"]["tenfold"])
    table["__metadata__"]["tenfold"] = json.dumps(dict(reversed(header.items())), indent=2)
    return joined(json.dumps(dict(reversed(table.items()))).encode(), rest)


MUTATIONS = [
    flip_bits,
    flip_bits_of_the_header,
    truncate,
    lengthen,
    take_the_header_of_another,
    declare_a_huge_header,
    declare_huge_numbers,
    swap_parts,
    erase_a_part,
    exchange_arrays,
    edit_the_table,
    edit_the_tenfold_header,
    write_the_same_differently,
]


def forge(path, dice):
    """A changed header with the right checksum: what an attacker would write."""
    header, arrays = read(path)
    table, position = {}, 0
    for name, array in arrays.items():
        span = [position, position + array.nbytes]
        table[name] = {"dtype": "F64", "shape": array.shape, "data_offsets": span}
        position = span[1]
    main = "model" if "model" in header else "moments"
    part = dice.choice([main, "labels", "summary", main, main, *sorted(header.keys() & OPTIONAL)])
    header[part] = edited(header[part], dice)
    if main == "moments" and dice.random() < 0.5:
        header = json.loads(json.dumps(read(path)[0]))  # its own header, and other numbers
        name = dice.choice(list(arrays))
        number = dice.choice([0.0, -1.0, 1e308, -1e-300, 1e30, 3.0])
        arrays[name].reshape(-1)[dice.randrange(arrays[name].size)] = number
    rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header["checksum"] = _checksum(header, rows)
    table["__metadata__"] = {"tenfold": json.dumps(header)}
    return joined(json.dumps(table).encode(), b"".join(a.tobytes() for a in rows.values()))


OPTIONAL = {"reading", "mode_names", "folds"}


def forged_bytes(data, other, dice):
    """As `forge`, of the bytes of a file; bytes that no model file has stay as they are."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(data)
        file.flush()
        try:
            return forge(file.name, dice)
        except (ModelFileError, LookupError, TypeError, AttributeError):
            return flip_bits(data, other, dice)


STRANGE = [
    *ways.STRANGE,
    *([[]], {"array": "?"}, {"list": 3}, {"pairs": [1]}, {"labels": 10**9}, {"dtype": "<U9999999"}),
    *({"estimator": {}}, {"moments": {}}, json.loads("[" * 500 + "]" * 500)),
]


def edited(value, dice):
    return ways.edited(value, dice, STRANGE)


def split(data):
    length = int.from_bytes(data[:8], "little")
    return data[8 : 8 + length], data[8 + length :]


def joined(head, rest):
    return len(head).to_bytes(8, "little") + head + rest


def fingerprint(model):
    """All that a model consists of, as bytes and words."""
    if isinstance(model, np.ndarray):
        return model.dtype.str, model.shape, model.tobytes() if model.dtype != object else [*model]
    if isinstance(model, list | tuple):
        return type(model).__name__, [fingerprint(part) for part in model]
    if isinstance(model, dict):
        return "dict", {key: fingerprint(value) for key, value in model.items()}
    if isinstance(model, ClassMoments) or hasattr(model, "get_params"):
        return type(model).__name__, {k: fingerprint(v) for k, v in sorted(vars(model).items())}
    return type(model).__name__, repr(model)


def write_models(folder):
    """One file of each kind, small, with words as labels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5, 4)), np.array(["ann", "bob", "cleo", "dora"] * 10)
    scaled = make_pipeline(StandardScaler(), PCA(3), CSDA(ranks=2, positive="bob"))
    models = [
        scaled.fit(X.reshape(40, -1), y),
        MPCA(ranks=2).partial_fit(X),
        MCSDA(ranks=(3, 2), positive="cleo").fit(X, y),
        ClassSpecificVerifier(MCSDA(ranks=2), positive="bob", false_accept_rate="equal").fit(X, y),
        ClassSpecificClassifier(MCSDA(ranks=2)).fit(X, y),
        ProbabilisticLDA().fit(X, y),
        ProbabilisticLDA([MPCA(ranks=2), "rbf"], priors=[0.1, 0.2, 0.3, 0.4]).fit(X, y),
        ModeScaler(keep="both").fit(X),
    ]
    paths = [folder / f"{i}.safetensors" for i in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*training samples")
            save(model, path, moments=getattr(model, "_is_stream", False))
    return paths, X


def write_moments(folder):
    """Files of moments, small, with labels of every kind."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5, 4)), np.arange(40) % 4
    reading = {"scale": 255, "sample_shape": (5, 4), "order": "F", "usual_size": 1.0}
    saved = [
        (ClassMoments.from_batch(X, np.array(["ann", "bob", "cleo", "dora"])[y]), {}),
        (ClassMoments.from_batch(2 * X, y), {"reading": reading, "mode_names": ("row", "column")}),
        (ClassMoments.from_batch(3 * X.reshape(40, 20), y / 2), {"reading": reading}),
        (ClassMoments.from_batch(X[y < 2], y[y < 2] == 1, classes=np.array([False, True])), {}),
        (ClassMoments.from_batch(X), {"mode_names": ("a", "b")}),
        (gather_moments(X, y), {}),
    ]
    paths = [folder / f"{i}.safetensors" for i in range(len(saved))]
    for (moments, more), path in zip(saved, paths, strict=True):
        save_moments(moments, path, **more)
    return paths, X


def use(model, X):
    """A forged model may be useless, but it must say so as any model would."""
    if isinstance(model, ClassMoments):
        for method in (MPCA(ranks=2), ProbabilisticLDA()):
            with suppress(ValueError):
                method.fit_moments(model)
        return
    names = [
        name
        for name in ("transform", "predict", "decision_function", "predict_proba")
        if hasattr(model, name)
    ]
    for name in names:
        for samples in (X, X.reshape(len(X), -1)):  # pipelines of scikit-learn take rows
            with suppress(ValueError):
                getattr(model, name)(samples)
