"""Time series in the text format of the UEA archive (.ts), and epochs of MNE (.fif)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np

from tenfold.datasets.labels import as_labels
from tenfold.datasets.locations import reading
from tenfold.datasets.named_arrays import Arrays, in_memory

DIMS = {"series": ("sample", "channel", "time")}


def open_ts(source: Path) -> Arrays:
    """Series of one length: a line per sample, channels apart by colons, the class at the end."""
    with reading(source, ".ts file"):
        lines = [line.strip() for line in source.read_text(encoding="utf-8-sig").splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        start = next(i for i, line in enumerate(lines) if line.lower() == "@data")
        told = dict(line[1:].lower().partition(" ")[::2] for line in lines[:start])
        if told.get("timestamps") == "true":
            raise ValueError("series with time stamps are not read; resample them first")
        rows = [line.split(":") for line in lines[start + 1 :]]
        found = {}
        if told.get("classlabel", "false").startswith("true"):
            found["class"] = as_labels([row.pop() for row in rows])
        series = [[_numbers(channel) for channel in row] for row in rows]
        sizes = {(len(row), *map(len, row)) for row in series}
        if len(sizes) != 1 or (0,) in sizes:
            raise ValueError(
                "its series differ in length, or it has none; cut or resample them to one length"
            )
        found["series"] = np.array(series)
    labels = "class" if "class" in found else None
    about = f"Series of {source.name}."
    return replace(in_memory(found), dims=DIMS, samples="series", labels=labels, description=about)


def _numbers(channel: str) -> list[float]:
    return [float("nan") if cell.strip() == "?" else float(cell) for cell in channel.split(",")]


def open_fif(source: Path) -> Arrays:
    """Epochs that MNE saved: channels x time, labelled by the names of their events."""
    mne = _mne()
    with reading(source, "file of MNE epochs"):
        epochs = mne.read_epochs(source, preload=True, verbose="error")
        names = {number: name for name, number in epochs.event_id.items()}
        events = as_labels([names[number] for number in epochs.events[:, 2]])
        found = {"series": epochs.get_data(), "class": events}
    about = f"Epochs of {source.name}."
    return replace(in_memory(found), dims=DIMS, samples="series", labels="class", description=about)


def _mne() -> ModuleType:
    try:
        import mne
    except ImportError as error:
        raise ImportError("epochs in .fif files need MNE: pip install mne") from error
    return mne
