"""The picture of the gait experiment: how often the right person comes first, probe by probe."""

from __future__ import annotations

from typing import Any

from paper.tables import published
from tenfold.app.report.page import Figure
from tenfold.app.report.pictures import figure
from tenfold.plots.display import COLOURS, OTHERS, OWN, tidy

PROBES = "ABCDEFG"
Summary = tuple[str, list[tuple[str, str]], list[Figure]]


def chosen_rates(records: list[dict[str, Any]], centre: str, rank: int = 1) -> dict[str, Any]:
    """The record of what was chosen on the gallery, counted as the published figures are."""
    return next(
        r
        for r in records
        if r["chosen"] and r["everyone"] and r["centre"] == centre and r["rank"] == rank
    )


def draw_gait(ax: Any, records: list[dict[str, Any]]) -> None:
    """Percent of sequences whose person comes first, per probe set."""
    places = range(len(PROBES))
    ax.plot(places, published("gait")["rank-1"], "--o", color=OTHERS, label="MPCA + LDA, published")
    for centre, name, colour in (
        ("plain", "ours, one sequence at a time", OWN),
        ("adapted", "ours, adapted", COLOURS[2]),
    ):
        ax.plot(places, chosen_rates(records, centre)["rates"], "-o", color=colour, label=name)
    ax.set_xticks(places, PROBES)
    ax.set(xlabel="probe set", ylabel="person comes first, percent", ylim=(0, 105))
    tidy(ax)
    ax.legend(frameon=False, fontsize="small")


def summary_of_gait(records: list[dict[str, Any]]) -> Summary:
    """Summary, headline and picture for the page of a run."""
    alone, moved = (chosen_rates(records, centre)["mean"] for centre in ("plain", "adapted"))
    theirs = published("gait")["rank-1 mean"]
    summary = (
        f"The right person comes first for {alone:.1f} % of sequences, one sequence at a time, and "
        f"for {moved:.1f} % when the model is adapted to each probe set without labels; "
        f"{theirs:.1f} % were published."
    )
    headline = [(f"{alone:.1f} %", "one sequence at a time"), (f"{moved:.1f} %", "adapted")]
    drawn = figure(
        lambda ax: draw_gait(ax, records),
        (5.6, 3.6),
        "Percent of sequences whose person comes first in seven probe sets, ours and published.",
        "Percent of sequences whose person comes first. Dashed: published.",
    )
    return summary, headline, [drawn]
