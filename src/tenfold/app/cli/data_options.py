"""How DATA is to be read: the options, and the samples they give."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenfold.app.cli.command import BadInput
from tenfold.app.cli.options import assignments, option, whole_numbers
from tenfold.datasets.spelling import OWN_OPTIONS
from tenfold.tables import visible

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from tenfold.datasets import TensorDataset
    from tenfold.linalg.algebra import Array

MOST_CLASSES = 12  # that are listed
FEW, MOST_PAIRS, NEAR = 5, 200, 0.1  # NEAR: of the usual squared distance in a class
PARTS = ("train", "test")  # of the samples, for --rows
KNOWN = "known"  # the fact whether a model was fitted on a sample
# What --read takes as it is typed: names of columns, arrays and axes, and characters.
NAMES_OF_READ = ("key", "labels", "groups", "columns", "leave_out", "dims", "delimiter", "decimal")

DataPath = Annotated[Path, typer.Argument(metavar="DATA", hidden=True)]

DataPaths = Annotated[list[Path], typer.Argument(metavar="DATA", hidden=True)]


def one_path(paths: list[Path]) -> Path:
    """The only one of some paths."""
    if len(paths) > 1:
        raise BadInput(
            f"{len(paths)} data sets were named ({paths[0]}, {paths[1]}, ...); expected one; join "
            "them first, or add their moments: tenfold moments, then tenfold fit --from-moments"
        )
    if paths[0].suffix == ".safetensors":
        raise BadInput(
            f"{paths[0]} is a file of a model or of moments, not of samples; for moments add "
            "--from-moments"
        )
    return paths[0]


@dataclass(frozen=True)
class DataOptions:
    """How DATA is to be read; the same for every command."""

    key: Annotated[str | None, option("NAME", "Name of the array of samples.")] = None
    labels: Annotated[str | None, option("NAME|FILE", "Array, column or file of the labels.")] = (
        None
    )
    groups: Annotated[
        str | None, option("NAME|FILE|folder", "Groups (e.g. person IDs) kept in one fold.")
    ] = None
    sample_shape: Annotated[str | None, option("I,J,..", "Fold flat rows to this shape.")] = None
    resize: Annotated[str | None, option("H,W", "Resize images to one size.")] = None
    rows: Annotated[
        str | None, option("A:B:C|train|test", "Use some rows; test: last quarter per class.")
    ] = None
    read: Annotated[
        list[str] | None, option("NAME=VALUE", "How to read: sample_axis=2, grey=False.")
    ] = None

    def load(self, path: Path) -> TensorDataset:
        """Read the data set at `path` as the options say."""
        from tenfold.datasets import load

        options = self.options()
        with _pointing_to_inspect(path):
            data = load(path, **options)
        return self._chosen(_shown(data), path)

    def load_for(
        self, model: object, then: Mapping[str, object], path: Path, *, labels_needed: bool = True
    ) -> TensorDataset:
        """Read the data set at `path` as the samples that a model was fitted on.

        Parameters
        ----------
        model : fitted estimator
            The model.
        then : mapping
            How its samples were read; may be empty.
        path : Path
            The data.
        labels_needed : bool, default=True
            False reads samples without labels if none are found.
        """
        from tenfold.datasets.load_like_training import load_like_training
        from tenfold.methods.saving import sample_shape_of, steps_of

        given = self.options()
        both = self.rows in PARTS and then.get("rows") in PARTS
        if both and self.groups is not None and self.groups != then.get("groups"):
            fitted = f"--groups {then['groups']}" if then.get("groups") else "no --groups"
            raise BadInput(
                f"--rows {self.rows} with --groups {self.groups} leaves other rows than the model "
                f"was fitted without, which was with {fitted}; give the same groups"
            )
        same = path.name.startswith(str(then.get("name", path)))  # maybe the same file
        if self.groups is None and (self.rows in PARTS or (same and then.get("rows") in PARTS)):
            given["groups"] = then.get("groups")
        first = steps_of(model)[0]
        wanted = sample_shape_of(first)
        with _pointing_to_inspect(path):
            shape = () if folds_rows(first) else wanted
            data = load_like_training(path, then, shape, labels_needed=labels_needed, **given)
        if data.y is None and data.X.shape == wanted:
            notes = (*data.notes, f"{path} is read as one sample")
            data = replace(data.select(slice(0, 1)), X=data.X[None], notes=notes)
        came = data.sample_shape
        if came not in (wanted, (prod(wanted),)):
            raise BadInput(
                f"{path} has samples of shape {came}, but the model was fitted on {wanted}; "
                f"{_remedy(data, wanted)}"
            )
        return self._chosen(self._with_known(then, _shown(data)), path)

    @property
    def files(self) -> tuple[Path, ...]:
        """Where labels and groups are read from, if they are files."""
        names = (name for name in (self.labels, self.groups) if name)
        return tuple(Path(name.partition("::")[0]).expanduser() for name in names)

    @property
    def other_rows(self) -> str | None:
        """The rows that ``--rows`` leaves, to test a model on; None if no slice is all of them."""
        beginning = re.fullmatch(r"0?:([0-9]+)", self.rows or "")
        found = {"train": "test", "test": "train", "::2": "1::2", "1::2": "::2"}
        return f"{beginning[1]}:" if beginning else found.get(self.rows or "")

    def options(self) -> dict[str, Any]:
        """What was given, as keyword arguments of `tenfold.datasets.load`."""
        options: dict[str, object] = {
            "key": self.key,
            "labels": self.labels,
            "groups": self.groups,
        }
        for name in ("sample_shape", "resize"):
            text = getattr(self, name)
            if text is not None:
                options[name] = whole_numbers(OWN_OPTIONS[name], text)
        if self.resize is not None and len(whole_numbers("--resize", self.resize)) != 2:
            raise BadInput(
                f"--resize is {self.resize!r}; expected height and width, such as --resize 40,30"
            )
        read = assignments("--read", self.read or [], NAMES_OF_READ)
        if "path" in read:
            raise BadInput("--read has no option path; the data are named before the options")
        for name in ("grey", "labelled", "header"):
            if not isinstance(read.get(name, True), bool):
                raise BadInput(f"--read {name} is {read[name]!r}; expected true or false")
        return options | read

    def _chosen(self, data: TensorDataset, path: Path) -> TensorDataset:
        """The rows that were asked for; the description says which."""
        taken = self._taken(data, self.rows)
        told = {"name": data.name, "of": len(data), "rows": self.rows or ":"}
        told |= {} if self.groups is None else {"groups": self.groups}
        data = replace(data, reading={**data.reading, **told})
        if self.rows is None:
            return data
        chosen = data.select(taken)
        if not len(chosen):
            raise BadInput(f"--rows {self.rows} leaves none of the {len(data)} samples of {path}")
        which = f"Rows {self.rows}: {len(chosen)} of {len(data)} samples."
        return replace(chosen, description=f"{data.description} {which}".strip())

    def _with_known(self, then: Mapping[str, Any], data: TensorDataset) -> TensorDataset:
        """`data` with a fact per sample, whether the model was fitted on it, if that is known."""
        import numpy as np

        same = (then.get("name"), then.get("of")) == (data.name, len(data))
        keys = {then.get("key"), data.reading.get("key")} - {None}
        if not same or len(keys) > 1 or (data.y is None and then["rows"] in PARTS):
            return data
        known = np.zeros(len(data), dtype=bool)
        known[self._taken(data, then["rows"])] = True
        return replace(data, sample_info={**data.sample_info, KNOWN: known})

    @staticmethod
    def _taken(data: TensorDataset, rows: str | None) -> Array | slice:
        """Which of all samples some rows are."""
        if rows in PARTS:
            return data.is_held_out if rows == "test" else ~data.is_held_out
        try:
            parts = [int(part) if part else None for part in (rows or ":").split(":")]
            step = parts[2] if len(parts) > 2 else None
            if not 2 <= len(parts) <= 3 or (step is not None and step < 1):
                raise ValueError(parts)
        except ValueError:
            raise BadInput(
                f"--rows is {rows!r}; expected train, test, or a slice such as ::2 or :100"
            ) from None
        return slice(*parts)


@contextmanager
def _pointing_to_inspect(path: Path) -> Iterator[None]:
    """Let an error about data end with the command that shows what there is."""
    try:
        yield
    except ValueError as error:
        command = typed("tenfold", "inspect", path)
        raise BadInput(f"{error}; {command} shows what it holds") from error


def class_counts(counts: Mapping[str, int]) -> str:
    """Classes with their numbers of samples, at most twelve.

    Examples
    --------
    >>> from tenfold.app.cli.data_options import class_counts
    >>> class_counts({"cat": 20, "dog": 31})
    '2 classes: cat (20 samples), dog (31)'
    """
    shown = [f"{name} ({count})" for name, count in list(counts.items())[:MOST_CLASSES]]
    others = list(counts.values())[MOST_CLASSES:]
    more = ""
    if others:
        least, most = min(others), max(others)
        sizes = f"{least} samples each" if least == most else f"{least} to {most} samples"
        more = f" and {len(others)} more ({sizes})"
    first = ", ".join(shown).replace(")", " samples)", 1) if counts else "none"
    return f"{len(counts)} classes: {first}{more}"


def typed(*words: object) -> str:
    """Words as a command that can be pasted into a shell.

    Examples
    --------
    >>> from tenfold.app.cli.data_options import typed
    >>> typed("tenfold", "fit", "my faces", "--ranks", "3,3")
    "tenfold fit 'my faces' --ranks 3,3"
    """
    return shlex.join(map(str, words))


def labelled(data: TensorDataset, command: str) -> TensorDataset:
    """`data`, or an error when it has no labels, which the command needs."""
    if data.y is None:
        raise BadInput(f"{command} needs labels; pass --labels NAME|FILE")
    return data


def remembered(data: TensorDataset) -> Mapping[str, object]:
    """What a model is to remember of the samples it was fitted on."""
    from tenfold.datasets.load_like_training import usual_size

    return {**data.reading, "usual_size": usual_size(data)}


def near_copies(data: TensorDataset) -> list[str]:
    """A hint where samples that follow one another are far more alike than others of their class.

    Then folds that are drawn at random test a model on near copies of its training samples.
    """
    import numpy as np

    if data.y is None or data.groups is not None or len(data) < 2 * FEW:
        return []
    rng = np.random.default_rng(0)
    first = np.flatnonzero(data.y[1:] == data.y[:-1])
    first = np.sort(rng.permutation(first)[:MOST_PAIRS])
    others = np.array([rng.choice(np.flatnonzero(data.y == data.y[i])) for i in first])
    apart = np.abs(others - first) > FEW
    if apart.sum() < FEW:
        return []

    def squares(second: Array) -> float:
        pairs = zip(first[apart].tolist(), second[apart].tolist(), strict=True)
        differences = [data.X[i].astype(float) - data.X[j] for i, j in pairs]
        return float(np.median([np.nansum(one**2) for one in differences]))

    if squares(first + 1) > NEAR * squares(others):
        return []
    return [
        "hint: samples that follow one another are near copies, as frames of a film are; figures "
        "are too good if these are split at random: pass --groups, or compare --rows train with "
        "evaluate --rows test"
    ]


def warn_if_trained_on(data: TensorDataset) -> TensorDataset:
    """`data` with a note, which is also shown, if a model was fitted on some of the samples."""
    n_known = int(sum(data.sample_info.get(KNOWN, [])))
    if not n_known:
        return data
    note = (
        f"the model was fitted on {n_known} of these {len(data)} samples; expect worse figures on "
        "new ones (fit with --rows train, and test with --rows test)"
    )
    return _shown(replace(data, notes=(note,)))


def _shown(data: TensorDataset) -> TensorDataset:
    """`data` again; what its loader chose without being asked goes to standard error."""
    for note in data.notes:
        sys.stderr.write(f"tenfold: note: {visible(note)}\n")
    return data


def _remedy(data: TensorDataset, wanted: tuple[int, ...]) -> str:
    """How samples could get the shape that a model wants."""
    came = data.sample_shape
    ways = []
    if data.mode_names[:2] == ("row", "column") and (len(wanted) == 2 or wanted[2:] == (3,)):
        if came[:2] != wanted[:2]:
            ways.append(f"pass --resize {wanted[0]},{wanted[1]}")
        if len(came) != len(wanted):
            ways.append(f"{'leave out' if len(wanted) == 2 else 'pass'} --read grey=False")
    elif sorted(came) == sorted(wanted):
        ways.append("transpose the samples")
    return " and ".join(ways) or "fit a model to samples of this shape"


def folds_rows(model: BaseEstimator) -> bool:
    """Whether a parameter of a model folds flat rows."""
    parameters = model.get_params().items()
    return any(name.endswith("sample_shape") and value is not None for name, value in parameters)
