"""The report says what is so: numbers against scikit-learn, pictures against Pillow."""

import base64
import hashlib
import io
import re
from base64 import b64decode
from html.parser import HTMLParser
from unicodedata import category

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score, average_precision_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import (
    CMDA,
    CSDA,
    DATER,
    MCSDA,
    MPCA,
    ClassSpecificClassifier,
    ClassSpecificVerifier,
    CovariateRemover,
    ProbabilisticLDA,
    RankSearchCV,
    load_model,
)
from tenfold.app.report import write_report
from tenfold.app.report.pictures import SamplePictures
from tenfold.datasets import TensorDataset, load_digits_tensor

DIGITS = load_digits_tensor()
TRAIN, TEST = DIGITS.select(slice(0, 500)), DIGITS.select(slice(500, 800))
MCSDA_4 = MCSDA(ranks=(4, 4), positive=3, tol=1.0)
VOID = {"meta", "link", "img", "br"}


class Outline(HTMLParser):
    """The elements of a page, with their text, and whether all of them are closed."""

    def __init__(self, html):
        super().__init__()
        self.found, self._open = [], []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.found.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.found.append({"tag": tag, "text": "", **dict(attrs)})

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag):
        return [element for element in self.found if element["tag"] == tag]


@pytest.fixture(scope="module")
def bank():
    return ClassSpecificClassifier(MCSDA(ranks=(4, 4), tol=1.0)).fit(*TRAIN)


@pytest.fixture(scope="module")
def models(bank):
    flat = make_pipeline(StandardScaler(), MCSDA_4.__class__(ranks=4, tol=1.0, sample_shape=(8, 8)))
    X = TRAIN.X.reshape(500, -1)
    grid = [(a, b) for a in (2, 4) for b in (2, 4)]
    return {
        "bank": bank,
        "projector": MCSDA_4.fit(*TRAIN),
        "vectorised": CSDA(ranks=5, positive=3).fit(*TRAIN),
        "verifier": ClassSpecificVerifier(
            MCSDA(ranks=4, tol=1.0), positive=8, false_accept_rate=0.1
        ).fit(*TRAIN),
        "search": RankSearchCV(MCSDA_4, ranks=grid, cv=2).fit(*TRAIN),
        "pipeline": flat.fit(X, TRAIN.y),
        "MPCA": MPCA(ranks=(3, 3), tol=1.0).fit(TRAIN.X),
        "DATER": DATER(ranks=(3, 3), tol=1.0).fit(*TRAIN),
    }


KINDS = ["bank", "projector", "vectorised", "verifier", "search", "pipeline", "MPCA", "DATER"]


@pytest.fixture(scope="module")
def pages(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    flat = TensorDataset(TEST.X.reshape(300, -1), TEST.y, name="flat digits")
    return {
        kind: write_report(
            model, flat if kind == "pipeline" else TEST, folder / f"{kind}.html"
        ).read_text(encoding="utf-8")
        for kind, model in models.items()
    }


# ── The page ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_gives_a_whole_page(pages, kind):
    page = Outline(pages[kind])
    assert len(page.all("h1")) == len(page.all("main")) == len(page.all("title")) == 1
    assert all(image.get("alt") for image in page.all("img"))
    assert len(page.all("img")) >= 10
    drawn = [e for e in page.found if e.get("role") == "img"]
    assert all(e["aria-label"] for e in drawn)
    assert len(page.all("svg")) == len(drawn) > 0
    ids = [e["id"] for e in page.found if "id" in e]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for a in page.all("a")]
    assert set(targets) <= set(ids)
    clips = re.findall(r"url\(#([^)]+)\)", pages[kind])
    assert set(clips) <= set(ids)


def test_patterns_stand_beside_the_directions_of_a_method(tmp_path):
    """Not of a bank, whose members keep none."""
    X, y = np.random.default_rng(0).normal(size=(30, 5, 4)), np.arange(30) % 3
    data = TensorDataset(X, y)
    for model, there in ((CMDA(ranks=2), True), (ClassSpecificClassifier(MCSDA(ranks=2)), False)):
        page = write_report(model.fit(X, y), data, tmp_path / "page.html")
        text = page.read_text(encoding="utf-8")
        assert ("Patterns of the same directions" in text) == there
        assert ("pattern of columns 1, 1" in text) == there


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_asks_the_network_for_nothing(pages, kind):
    page = Outline(pages[kind])
    addresses = [e.get(name) for e in page.found for name in ("src", "href", "xlink:href")]
    assert all(a.startswith(("data:", "#")) for a in addresses if a)
    outside = re.findall(r"(?:url\(|@import|fetch\(|src=)[\s\"']*https?:", pages[kind])
    assert outside == []


def test_labels_and_names_cannot_smuggle_markup_in(tmp_path):
    evil = '<script>alert("x")</script>'
    y = np.where(TRAIN.y == 3, evil, np.where(TRAIN.y == 1, "a&b", "rest")).astype(object)
    data = TensorDataset(TRAIN.X, y, name=evil, description=evil)
    model = ClassSpecificClassifier(MCSDA(ranks=(4, 4), tol=1.0)).fit(TRAIN.X, y)
    page = Outline(write_report(model, data, tmp_path / "page.html", title=evil).read_text())
    assert len(page.all("script")) == 1
    assert page.all("h1")[0]["text"] == evil
    assert any(evil in e["text"] for e in page.all("summary"))


def test_characters_that_cannot_be_seen_are_shown_as_escapes(tmp_path):
    turned, joined, mark = "three\u202eeerht", "o\u200bne", "\u2066rest\ufeff"
    y = np.where(TRAIN.y == 3, turned, np.where(TRAIN.y == 1, joined, mark))
    data = TensorDataset(TRAIN.X, y, name="digits\u202e", description="from\u2067 here")
    model = ClassSpecificClassifier(MCSDA(ranks=(4, 4), tol=1.0)).fit(TRAIN.X, y)
    text = write_report(model, data, tmp_path / "page.html").read_text("utf-8")
    unseen = {one for one in text if category(one) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
    assert unseen == {"\n"}
    for shown in (r"three\u202eeerht", r"o\u200bne", r"\u2066rest\ufeff", r"digits\u202e"):
        assert shown in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_runs_its_own_script_and_loads_nothing(pages, kind):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', pages[kind])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    (script,) = re.findall(r"<script>(.*?)</script>", pages[kind], re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert "unsafe-inline" not in rules["style-src-elem"]
    assert pages[kind].index("Content-Security-Policy") < pages[kind].index("<title>")


def test_a_page_is_replaced_whole_or_not_at_all(tmp_path, models):
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="samples have shape"):
        write_report(models["projector"], (TEST.X[:, :5], TEST.y), path)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "before"
    write_report(models["projector"], (TEST.X, TEST.y), path)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_wrong_arguments_say_what_to_pass(tmp_path, models):
    with pytest.raises(TypeError, match="pass a TensorDataset"):
        write_report(models["projector"], TEST.X, tmp_path / "page.html")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_report(models["projector"], TEST, tmp_path / "missing" / "page.html")
    with pytest.raises(ValueError, match="has no labels"):
        write_report(models["projector"], (TEST.X, None), tmp_path / "page.html")
    with pytest.raises(TypeError, match="has no projections"):
        write_report(StandardScaler().fit([[0.0], [1.0]]), TEST, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


# ── What it says ────────────────────────────────────────────────────────────────────────────────


def rows_of(page, caption_starts):
    """The rows of the table with this caption, cell by cell."""
    (table,) = re.findall(rf"<caption[^>]*>{caption_starts}.*?</table>", page, flags=re.DOTALL)
    body = table[table.index("<tbody>") :]
    return [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    ]


def test_the_table_of_a_bank_holds_scikit_learns_numbers(pages, bank):
    scores, taken = bank.decision_function(TEST.X), bank.predict(TEST.X)
    rows = rows_of(pages["bank"], "Every class")
    assert [row[0] for row in rows] == [str(c) for c in range(10)]
    for c, row in enumerate(rows):
        own = TEST.y == c
        expected = [
            str(own.sum()),
            f"{100 * (taken[own] == c).mean():.1f}",
            f"{100 * average_precision_score(own, scores[:, c]):.1f}",
            f"{100 * roc_auc_score(own, scores[:, c]):.1f}",
        ]
        assert row[1:5] == expected
    right = accuracy_score(TEST.y, taken)
    summary = next(e for e in Outline(pages["bank"]).all("p") if e.get("class") == "summary")
    n_right = int((taken == TEST.y).sum())
    expected = f"classifies {n_right} of 300 samples correctly ({100 * right:.1f} %)"
    assert expected in summary["text"].replace("\xa0", " ")  # the space that may not break


def test_every_mistake_is_in_the_table_of_mistakes(pages, bank):
    taken = bank.predict(TEST.X)
    rows = rows_of(pages["bank"], "Percent is of the class")
    counts = {(int(a), int(b)): int(n) for a, b, n, _ in rows}
    wrong = [(a, b) for a, b in zip(TEST.y, taken, strict=True) if a != b]
    assert counts == {pair: wrong.count(pair) for pair in wrong}


def test_the_hardest_samples_are_the_mistakes_and_then_the_closest_calls(pages, bank):
    scores, taken = bank.decision_function(TEST.X), bank.predict(TEST.X)
    own = scores[np.arange(300), TEST.y]
    rest = scores.copy()
    rest[np.arange(300), TEST.y] = -np.inf
    margin = own - rest.max(axis=1)
    assert ((margin < 0) == (taken != TEST.y)).all()
    rows = TEST.row_numbers  # of the file, not of the selection
    expected = [f"row {rows[i]} of class {TEST.y[i]}" for i in np.argsort(margin)[:24]]
    gallery = pages["bank"].split("Mistakes first")[1].split("</figure>")[0]
    assert [alt.split(",")[0] for alt in re.findall(r'alt="([^"]*)"', gallery)] == expected
    n_wrong = int((taken != TEST.y).sum())
    assert gallery.count('class="wrong"') == min(24, n_wrong)
    assert "Number of classes" in pages["bank"]


def test_the_summary_of_a_verifier_counts_its_decisions(pages, models):
    verifier = models["verifier"]
    accepted = verifier.decision_function(TEST.X) >= 0
    own = TEST.y == 8
    text = " ".join(Outline(pages["verifier"]).all("header")[0]["text"].split())
    assert (
        f"At its threshold, it accepts {accepted[own].sum()} of {own.sum()} samples of the class, "
        f"and {accepted[~own].sum()} of {(~own).sum()} others."
    ) in text


def test_samples_of_unknown_classes_count_as_others(tmp_path):
    known = TRAIN.y < 5
    bank = ClassSpecificClassifier(MCSDA(ranks=(4, 4), tol=1.0)).fit(TRAIN.X[known], TRAIN.y[known])
    page = write_report(bank, TEST, tmp_path / "page.html").read_text()
    n_known = int((TEST.y < 5).sum())
    text = " ".join(Outline(page).all("header")[0]["text"].split())
    assert f"of {n_known} samples correctly" in text
    assert f"{300 - n_known} samples of classes that it does not know count as others" in text
    scores = bank.decision_function(TEST.X)
    ap = average_precision_score(TEST.y == 2, scores[:, 2])
    assert rows_of(page, "Every class")[2][3] == f"{100 * ap:.1f}"


def test_samples_of_one_class_say_how_many_are_right(tmp_path, bank):
    eights = TEST.select(TEST.y == 8)
    page = write_report(bank, eights, tmp_path / "page.html").read_text()
    right = int((bank.predict(eights.X) == 8).sum())
    assert f"classifies {right} of {len(eights)} samples correctly" in " ".join(page.split())
    n_close = min(24, len(eights)) - (len(eights) - right)
    assert page.count(', right, but close"') == n_close > 0
    assert "nan" not in re.sub(
        r"<(style|script|svg).*?</\1>|data:[^\"]*", "", page, flags=re.DOTALL
    )


def test_different_ranks_of_many_classes_are_said_from_the_smallest_to_the_largest(tmp_path):
    few = np.concatenate([np.flatnonzero(TRAIN.y == label)[: 4 + label] for label in range(10)])
    projector = CSDA(ranks=60, solver="null_space", decision="distance")
    bank = ClassSpecificClassifier(projector).fit(*TRAIN.select(few))
    ranks = [member.ranks_[0] for member in bank.members_]
    page = write_report(bank, TEST, tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"8×8 → {min(ranks)} to {max(ranks)}" in page


@pytest.mark.parametrize("model", [ProbabilisticLDA(), ClassSpecificClassifier(CSDA())])
def test_a_model_may_see_fewer_numbers_than_a_sample_has(tmp_path, model):
    X, y = TRAIN.X.reshape(500, -1)[:, 20:38], TRAIN.y
    pipeline = make_pipeline(CovariateRemover(last=1), clone(model)).fit(X, y)
    page = write_report(pipeline, TensorDataset(X, y), tmp_path / "page.html").read_text()
    assert len(Outline(page).all("img")) >= 10


@pytest.mark.parametrize("second", [LinearDiscriminantAnalysis(), KNeighborsClassifier()])
def test_a_bank_with_a_second_classifier_is_measured_by_its_decisions(tmp_path, second):
    bank = ClassSpecificClassifier(MCSDA(ranks=(4, 4), tol=1.0), classifier=second).fit(*TRAIN)
    page = write_report(bank, TEST, tmp_path / "page.html").read_text()
    right = int((bank.predict(TEST.X) == TEST.y).sum())
    assert f"classifies {right} of 300 samples correctly" in " ".join(page.split())
    scores = getattr(bank, "decision_function", lambda X: -bank.distances(X))(TEST.X)
    ap = average_precision_score(TEST.y == 2, scores[:, 2])
    assert rows_of(page, "Every class")[2][3] == f"{100 * ap:.1f}"


def test_a_saved_model_has_the_same_report(tmp_path, models, pages):
    for kind in ("bank", "verifier", "MPCA"):
        models[kind].save(tmp_path / "model.safetensors")
        loaded = load_model(tmp_path / "model.safetensors")
        page = write_report(loaded, TEST, tmp_path / "page.html")
        assert page.read_text(encoding="utf-8") == pages[kind]


def test_a_data_frame_keeps_its_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"pixel {i}" for i in range(64)]
    frames = [pandas.DataFrame(d.X.reshape(-1, 64), columns=names) for d in (TRAIN, TEST)]
    for model in (MCSDA_4, MPCA(ranks=(3, 3), tol=1.0)):
        model = clone(model).set_params(sample_shape=(8, 8)).fit(frames[0], TRAIN.y)
        page = write_report(model, (frames[1], pandas.Series(TEST.y)), tmp_path / "page.html")
        assert len(Outline(page.read_text()).all("img")) >= 10


def test_mpca_keeps_in_the_report_what_it_says_it_captured(models, tmp_path):
    # On the samples it was fitted on, the share kept about their mean is captured_.
    for model in (models["MPCA"], MPCA(ranks=(8, 8)).fit(TRAIN.X)):
        page = write_report(model, TRAIN, tmp_path / "page.html").read_text(encoding="utf-8")
        said = f"keeps {100 * model.captured_:.1f} % of the scatter of 500 samples"
        assert said in page.replace("\xa0", " ")


def test_windows_that_are_no_array_are_reported_like_the_array(tmp_path):
    from tenfold.datasets import SegmentedWindows

    rng = np.random.default_rng(0)
    windows = SegmentedWindows(rng.normal(size=(400, 6)), [(0, 150), (150, 400)], 5)
    y = rng.integers(0, 2, len(windows))
    model = MCSDA(ranks=(2, 2), tol=1.0).fit(np.asarray(windows), y)
    names = {"name": "book", "mode_names": ("feature", "time")}
    lazy = write_report(model, TensorDataset(windows, y, **names), tmp_path / "lazy.html")
    whole = write_report(
        model, TensorDataset(np.asarray(windows), y, **names), tmp_path / "whole.html"
    )
    assert lazy.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("shape", [(30,), (12, 7), (9, 8, 3), (6, 5, 4), (4, 3, 2, 2)])
def test_samples_of_any_order_are_drawn(tmp_path, shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, *shape)), np.arange(80) % 4
    bank = ClassSpecificClassifier(MCSDA(ranks=2, tol=1.0)).fit(X, y)
    page = Outline(write_report(bank, (X, y), tmp_path / "page.html").read_text())
    # 24 hardest; and per class the mean, up to 8 directions, 6 of the class and 6 others.
    n_directions = min(8, 2 ** len(shape))
    assert len(page.all("img")) == 24 + 4 * (1 + n_directions + 6 + 6)


# ── Its parts ───────────────────────────────────────────────────────────────────────────────────


def test_a_sample_is_drawn_as_it_is():
    image = pytest.importorskip("PIL.Image")
    album = SamplePictures(0.0, 1.0, "grey")
    picture = album.picture(TEST.X[0], "a digit")
    assert (picture.width, picture.height) == (8, 8)
    pixels = np.asarray(image.open(io.BytesIO(b64decode(picture.uri.partition(",")[2]))))
    np.testing.assert_allclose(pixels / 255, TEST.X[0], atol=0.5 / 255)


@pytest.mark.filterwarnings("ignore::tenfold.FalseAcceptRateWarning")
def test_a_class_may_be_called_like_a_formula(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["US$$", r"$\frac", "a$b$c_^", "d", "e"], 12)
    codes = np.unique(y, return_inverse=True)[1]
    X = rng.normal(size=(len(y), 5, 4)) + codes[:, None, None]
    for model in (
        ClassSpecificVerifier(MCSDA(ranks=2), positive="US$$").fit(X, y),
        ClassSpecificClassifier(MCSDA(ranks=2)).fit(X, y),
    ):
        page = write_report(model, TensorDataset(X, y), tmp_path / "page.html")
        assert "US$$" in page.read_text(encoding="utf-8")
