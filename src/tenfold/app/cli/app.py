"""The commands of `tenfold`."""

from __future__ import annotations

from typing import Annotated

import typer

from tenfold import __version__
from tenfold.app.cli.command import command
from tenfold.app.cli.compare import compare
from tenfold.app.cli.fit import fit, moments
from tenfold.app.cli.inspect import export, inspect
from tenfold.app.cli.report import demo, report
from tenfold.app.cli.score import evaluate, score, transform

COMMANDS = (demo, compare, fit, evaluate, score, transform, report, moments, inspect, export)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: it fits on a screen and goes through a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tenfold {__version__}")
        raise typer.Exit


@app.callback()
def tenfold(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Learn to tell classes apart: of images, matrices, series or rows of a table.

    tenfold fit learns a model that gives a new sample a probability per class; with --positive
    CLASS it says whether the sample is of that class.

    DATA is a folder (or .zip) of images by class, a file of arrays (.npz, .npy, .mat, .h5, .nc), a
    table (.csv, .xlsx, .parquet, ...) or a Zarr store; file.h5::/path names an array inside. Start
    with tenfold demo, or tenfold inspect DATA and tenfold compare DATA.
    """


for work in COMMANDS:
    app.command(work.__name__)(command(work))
