"""Time series in the text format of the UEA archive (.ts), and epochs of MNE (.fif)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tenfold.datasets.label_values import as_labels
from tenfold.datasets.locations import reading
from tenfold.datasets.named_arrays import check_count
from tenfold.datasets.tensor_dataset import TensorDataset


def read_ts(
    source: Path, *, labels: np.ndarray | None = None, labelled: bool = True
) -> TensorDataset:
    """Series of one length: a line per sample, channels apart by colons, the class at the end."""
    with reading(source, ".ts file"):
        lines = [line.strip() for line in source.read_text(encoding="utf-8-sig").splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        start = next(i for i, line in enumerate(lines) if line.lower() == "@data")
        told = dict(line[1:].lower().partition(" ")[::2] for line in lines[:start])
        if told.get("timestamps") == "true":
            raise ValueError("series with time stamps are not read; resample them first")
        rows = [line.split(":") for line in lines[start + 1 :]]
        classes = None
        if told.get("classlabel", "false").startswith("true"):
            classes = [row.pop() for row in rows]
        series = [[_numbers(channel) for channel in row] for row in rows]
        sizes = {(len(row), *map(len, row)) for row in series}
        if len(sizes) != 1 or (0,) in sizes:
            raise ValueError(
                "its series differ in length, or it has none; cut or resample them to one length"
            )
        X = np.array(series)
    if labelled and labels is None:
        if classes is None:
            raise ValueError(f"{source} has no classes; pass labels=FILE, or labelled=False")
        labels = as_labels(classes)
    if labelled and labels is not None:
        check_count(source, len(X), labels)
    return TensorDataset(
        X,
        labels if labelled else None,
        name=source.stem,
        description=f"Series of {source.name}.",
        mode_names=("channel", "time"),
    )


def _numbers(channel: str) -> list[float]:
    return [float("nan") if cell.strip() == "?" else float(cell) for cell in channel.split(",")]


def read_fif(
    source: Path, *, labels: np.ndarray | None = None, labelled: bool = True
) -> TensorDataset:
    """Epochs that MNE saved: channels x time, labelled by the names of their events."""
    mne = _mne()
    with reading(source, "file of MNE epochs"):
        epochs = mne.read_epochs(source, preload=True, verbose="error")
        names = {number: name for name, number in epochs.event_id.items()}
        X, classes = epochs.get_data(), [names[number] for number in epochs.events[:, 2]]
    if labelled:
        labels = as_labels(classes) if labels is None else labels
        check_count(source, len(X), labels)
    return TensorDataset(
        X,
        labels if labelled else None,
        name=source.stem,
        description=f"Epochs of {source.name}.",
        mode_names=("channel", "time"),
    )


def _mne() -> Any:
    try:
        import mne
    except ImportError as error:
        raise ImportError("epochs in .fif files need MNE: pip install mne") from error
    return mne
