"""The page of a run: our figures beside the paper's, and nothing else."""

import re

from paper.results_page import results_page
from paper.tables import Table
from tenfold.app.report.page import as_html

TABLE = Table(
    "Table <1>",
    ["", "k=0.1", "k=0.5", "t"],
    [
        ["CSDA", "77.81 (76.81; +1.0)", "97.31 (97.81; -0.5)", 12.0],
        ["MCSDA", "67.20 (72.20; -5.0)", "95.69 (95.69; +0.0)", None],
    ],
    ["A note & more."],
)


def face_record(row, k, oracle, paper):
    difference = None if paper is None else oracle - paper
    return {"row": row, "k": k, "oracle": oracle, "paper": paper, "difference": difference}


FACES = [
    face_record("CSDA", 0.1, 77.81, 76.81),
    face_record("CSDA", 0.5, 97.31, 97.81),
    face_record("MCSDA", 0.1, 67.20, 72.20),
    face_record("MCSDA", 0.5, 95.69, 95.69),
    face_record("pixels", 0.5, 90.0, None),
]


def book_record(row, variant, metric, mean, paper):
    return {
        "row": row,
        "variant": variant,
        "metric": metric,
        "mean": mean,
        "std": 1.0,
        "folds": [mean - 1.0, mean + 1.0],
        "paper": paper,
    }


BOOK = [
    book_record("MCSDA", "plain", "F1", 44.0, 46.72),
    book_record("MCSDA", "normalised", "F1", 47.5, 46.72),
    book_record("MCSDA", "plain", "accuracy", 70.0, 83.66),
    book_record("LDA", "", "F1", 48.25, None),
    {**book_record("N-BoF", "", "F1", 0.0, 41.63), "mean": None, "std": None, "folds": []},
]


def page_of(records):
    facts = {"date": "Finished on 2026-11-15."}
    return results_page("Tables <1>", [TABLE], records, facts, quick=False)


def test_the_summary_counts_the_figures_that_agree():
    page = page_of(FACES)
    assert page.summary == (
        "Of 4 figures that the paper prints, 3 are met within 3 points of mean average precision; "
        "ours minus the paper's is −1.1 on average and −5.0 at its largest."
    )
    assert page.headline[0] == ("3 of 4", "within 3 points of the paper")
    assert page.headline[2] == ("95.7", "MCSDA at k = 0.5; paper 95.7")


def test_the_order_book_is_summed_up_by_its_f1():
    page = page_of(BOOK)
    assert page.summary == (
        "Over 2 folds, LDA has the highest mean F1, 48.2 %. MCSDA reaches 47.5 %; the paper "
        "prints 46.7 %."
    )


def test_a_table_on_the_page_is_the_table_of_the_run():
    html = as_html(page_of(FACES))
    body = re.search(r"<tbody>(.*?)</tbody>", html, flags=re.DOTALL).group(1)
    rows = [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    ]
    assert rows == [
        ["CSDA", "77.81 (76.81; +1.0)", "97.31 (97.81; −0.5)", "12.00"],
        ["MCSDA", "67.20 (72.20; −5.0)", "95.69 (95.69; +0.0)", "–"],
    ]
    values = re.findall(r'data-value="([^"]*)"', body)
    assert list(map(float, values)) == [77.81, 97.31, 12.0, 67.20, 95.69]
    assert "A note &amp; more." in html
    assert "Finished on 2026-11-15." in html
