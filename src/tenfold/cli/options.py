"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenfold.cli.errors import BadInput
from tenfold.cli.values import assignments, whole_numbers

if TYPE_CHECKING:
    from tenfold.datasets import TensorDataset

DataPath = Annotated[
    Path, typer.Argument(metavar="DATA", help="Images by class, .npz, .npy, .mat, .csv or Zarr.")
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="What tenfold fit wrote.")]


def option(*names: str, metavar: str | None, text: str, **more: Any) -> Any:
    """An option of a command; `text` names its default, where it matters."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, **more)


@dataclass(frozen=True)
class DataOptions:
    """How DATA is to be read; the same for every command."""

    key: Annotated[str | None, option("--key", metavar="NAME", text="Array of the samples.")] = None
    labels: Annotated[
        str | None,
        option("--labels", metavar="NAME|FILE", text="Array, column or file of the labels."),
    ] = None
    no_labels: Annotated[
        bool,
        option("--no-labels", metavar=None, text="As --read labelled=False.", hidden=True),
    ] = False
    sample_shape: Annotated[
        str | None, option("--sample-shape", metavar="I,J,..", text="Fold flat rows to this shape.")
    ] = None
    resize: Annotated[
        str | None, option("--resize", metavar="H,W", text="Bring images to one size.")
    ] = None
    rows: Annotated[
        str | None, option("--rows", metavar="A:B:C", text="Use a slice of the samples: ::2.")
    ] = None
    read: Annotated[
        list[str] | None,
        option("--read", metavar="NAME=VALUE", text="sample_axis=2, order=F or grey=False."),
    ] = None

    def load(self, path: Path) -> TensorDataset:
        """Read the data set at `path` as the options say."""
        from tenfold.datasets import load

        options = {
            "key": self.key,
            "labels": None if self.no_labels else self.labels,
            "labelled": False if self.no_labels else None,
            "sample_shape": _sizes("--sample-shape", self.sample_shape),
            "resize": _sizes("--resize", self.resize),
        }
        data = load(path, **options | self._read())
        if self.rows is None:
            return data
        chosen = data.select(self._slice())
        if not len(chosen):
            raise BadInput(f"--rows {self.rows} leaves none of the {len(data)} samples of {path}")
        return chosen

    def load_for(self, model: Any, path: Path) -> TensorDataset:
        """Read the data set at `path`, if its samples have the shape that a model learned."""
        data = self.load(path)
        came, wanted = data.sample_shape, tuple(model.sample_shape_)
        if came == wanted or came == (prod(wanted),):
            return data
        raise BadInput(
            f"{path} has samples of shape {came}, but the model was fitted on {wanted}; "
            f"{_advice(data, wanted)}"
        )

    def _read(self) -> dict[str, Any]:
        """What --read says, if it has a value that a loader can take."""
        given = assignments("--read", self.read or [])
        for name in ("grey", "labelled"):
            if not isinstance(given.get(name, True), bool):
                raise BadInput(f"--read {name} is {given[name]!r}; expected true or false")
        return given

    def _slice(self) -> slice:
        try:
            parts = [int(part) if part else None for part in str(self.rows).split(":")]
            step = parts[2] if len(parts) > 2 else None
            if not 2 <= len(parts) <= 3 or (step is not None and step < 1):
                raise ValueError(parts)
        except ValueError:
            raise BadInput(
                f"--rows is {self.rows!r}; expected a slice such as ::2, 1::2 or :100"
            ) from None
        return slice(*parts)


def _sizes(name: str, text: str | None) -> tuple[int, ...] | None:
    return None if text is None else whole_numbers(name, text)


def labelled(data: TensorDataset, command: str) -> TensorDataset:
    """`data`, or an error when it has no labels, which the command needs."""
    if data.y is None:
        raise BadInput(f"{command} needs labels; leave out --no-labels, or pass --labels")
    return data


def _advice(data: TensorDataset, wanted: tuple[int, ...]) -> str:
    """How samples could get the shape that a model wants."""
    came = data.sample_shape
    if data.mode_names[:2] == ("row", "column"):  # images, which can be read in other ways
        ways = [f"--resize {wanted[0]},{wanted[1]}"] if came[:2] != wanted[:2] else []
        if (len(came), wanted[2:]) == (2, (3,)):
            return f"pass {' '.join([*ways, '--read grey=False'])}"
        if (came[2:], len(wanted)) == ((3,), 2):
            return " and ".join(["leave out --read grey=False", *(f"pass {way}" for way in ways)])
        if came[2:] == wanted[2:]:
            return f"pass {ways[0]}"
    if sorted(came) == sorted(wanted):
        return "transpose the samples"
    return "fit a model to samples of this shape"


FoldCount = Annotated[int, option("--cv", metavar="N", text="Folds of the cross-validation; 5.")]


def require(what: str, extra: str, *libraries: str) -> None:
    """Complain before the work, not after it, if a library of an extra is missing."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise ImportError(f'{what} needs {missing[0]}; pip install "tenfold[{extra}]"')


def load_model(path: Path, *, scalers: bool = False) -> Any:
    """The model of a file; with `scalers` also a ModeScaler, which says nothing of samples."""
    from tenfold.files.loading import load

    if not path.exists():
        raise BadInput(f"{path} does not exist; expected a model that tenfold fit wrote")
    model = load(path)
    if type(model).__name__ == "ModeScaler" and not scalers:
        raise BadInput(
            f"{path} holds a ModeScaler, which scales samples and says nothing of them; name a "
            "model that tenfold fit wrote, or use tenfold.load and transform in Python"
        )
    return model


def scoring_model(path: Path) -> Any:
    """The model of a file, if it is of a kind that gives scores."""
    from tenfold.decisions.members import answer_of

    model = load_model(path)
    if answer_of(model) == "projection":
        raise BadInput(
            f"{path} holds a {type(model).__name__} subspace, which gives no scores; fit with "
            "--method plda, mcsda or csda, or use tenfold.load and transform in Python"
        )
    return model


def output_file(path: Path, *suffixes: str, inputs: tuple[Path, ...] = ()) -> Path:
    """`path`, when a file can be written there; to be asked before the work starts.

    Parameters
    ----------
    path : Path
        Where the user wants the output.
    *suffixes : str
        Endings it may have; none means any.
    inputs : tuple of Path, default=()
        Files that must not be replaced.

    Returns
    -------
    Path
        The same path.
    """
    if suffixes and path.suffix.lower() not in suffixes:
        raise BadInput(f"{path} should end in {' or '.join(suffixes)}, to say what to write")
    if path.is_dir():
        raise BadInput(f"{path} is a folder; name a file to write")
    if not path.absolute().parent.is_dir():
        raise BadInput(f"the folder {path.parent} does not exist; make it first")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise BadInput(f"{path} is read and would be replaced; choose another name for the output")
    return path
