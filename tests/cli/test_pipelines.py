"""Pipelines that were saved in Python are models like others for the command line."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import tenfold as library
from tenfold.datasets import load


@pytest.mark.parametrize(
    "last",
    [
        library.ProbabilisticLDA(),
        library.ClassSpecificClassifier(library.MCSDA(ranks=2)),
        library.ClassSpecificVerifier(library.MCSDA(2), positive="s7", false_accept_rate=0.5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_command_takes_a_pipeline(tenfold, npz, last):
    data = load(npz)
    model = make_pipeline(library.ModeScaler((0, 1)), last).fit(*data)
    library.save(model, "pipe.safetensors", reading=data.reading)
    shown = tenfold("inspect", "pipe.safetensors")
    assert shown.code == 0, shown.err
    assert "modescaler" in shown.out.lower()
    for words in (
        ("evaluate", "pipe.safetensors", npz),
        ("score", "pipe.safetensors", npz),
        ("transform", "pipe.safetensors", npz, "-o", "features.npz"),
        ("report", "pipe.safetensors", npz, "-o", "report.html"),
        ("export", "pipe.safetensors", "--onnx", "pipe.onnx"),
    ):
        run = tenfold(*words)
        assert run.code == 0, run.err
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession("pipe.onnx")
    found = dict(
        zip(
            [output.name for output in session.get_outputs()],
            session.run(None, {"X": np.asarray(data.X, dtype=np.float32)}),
            strict=True,
        )
    )
    if "accepted" in found:  # scores are above the threshold, on the scale of `threshold_`
        np.testing.assert_array_equal(found["accepted"], model.decision_function(data.X) >= 0)
    else:
        np.testing.assert_array_equal(found["label"], model.predict(data.X))
