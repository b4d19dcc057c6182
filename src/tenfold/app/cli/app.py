"""The commands of `tenfold`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tenfold import __version__
from tenfold.app.cli.command import BAD_INPUT, command, complain, print_error_as_json
from tenfold.app.cli.compare import compare
from tenfold.app.cli.fit import fit, moments
from tenfold.app.cli.inspect import export, inspect
from tenfold.app.cli.report import demo, report
from tenfold.app.cli.score import evaluate, score, transform

COMMANDS = (demo, compare, fit, evaluate, score, transform, report, moments, inspect, export)

# Of Click, which typer brings along since 0.20.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """The commands; words that are no command or option are JSON under ``--json``, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember what was typed."""
        ctx.meta["tenfold.typed"] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> object:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if "--json" not in ctx.meta["tenfold.typed"]:
                raise
            said = ValueError(error.format_message())
            complain(said)
            print_error_as_json(said, BAD_INPUT)
            raise typer.Exit(BAD_INPUT) from None


app = typer.Typer(
    cls=Commands,
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
    """Classify and verify images, matrices, series or rows of a table.

    tenfold fit learns a model that gives a new sample a probability per class. With --positive
    CLASS the model accepts or rejects a sample for that class.

    DATA is a folder (or .zip) of images by class, a file of arrays (.npz, .npy, .mat, .h5, .nc), a
    table (.csv, .xlsx, .parquet, ...) or a Zarr store; file.h5::/path names an array inside. Start
    with tenfold demo, or tenfold inspect DATA and tenfold compare DATA.
    """


for work in COMMANDS:
    app.command(work.__name__)(command(work))
