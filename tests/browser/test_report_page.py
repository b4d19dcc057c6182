"""The report as a reader meets it: by mouse, keyboard or screen reader, on a phone, on paper."""

import pytest

from paper.orl import load_orl
from tenfold import MCSDA, ClassSpecificClassifier
from tenfold.app.report import write_report

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = pytest.mark.browser

KINDS = ("bank", "projector", "verifier", "search", "MPCA", "run")
AP = 3  # the column of average precision in the table of classes


def column(page, number):
    """What the table of classes shows in one column, from top to bottom."""
    cells = page.locator(f"table >> nth=0 >> tbody tr > :nth-child({number + 1})")
    return [text.strip() for text in cells.all_text_contents()]


def heading(page, number):
    return page.locator(f"table >> nth=0 >> thead th:nth-child({number + 1})")


# ── Everybody ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_a_complaint_and_without_the_network(pages, open_page, kind, scheme):
    page = open_page(pages[kind], scheme=scheme)
    assert page.title() == page.locator("h1").text_content()
    broken = "images => images.filter(i => !i.complete || !i.naturalWidth).length"
    assert page.locator("img").evaluate_all(broken) == 0


def test_scripts_styles_and_images_of_others_do_nothing(pages, chromium, tmp_path):
    """As if markup of a stranger had got into the page after all."""
    evil = (
        "<script>document.title = 'evil'</script>"
        "<img src=x onerror=\"document.title = 'evil'\">"
        "<style>body { background: red !important }</style>"
        "<img src='http://127.0.0.1:9/pixel.png'>"
    )
    html = pages["bank"].read_text("utf-8").replace("</main>", f"{evil}</main>")
    path = tmp_path / "evil.html"
    path.write_text(html, "utf-8")
    page = chromium.new_context(color_scheme="light").new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    assert page.title() != "evil"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert page.get_by_role("button", name="Dark", exact=True).count() == 1  # its own script ran
    assert sum("Content Security Policy" in text for text in refused) >= 4
    page.context.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_axe_finds_nothing_serious(pages, open_page, kind, width, scheme):
    page = open_page(pages[kind], width=width, scheme=scheme)
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    found = axe.Axe().run(page).response
    assert len(found["passes"]) > 15, "axe has not looked at much"
    serious = [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_hangs_over_the_edge_of_a_phone(pages, open_page, kind):
    page = open_page(pages[kind], width=390)
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_light_and_dark_follow_the_system_until_the_reader_chooses(pages, open_page):
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = (
        open_page(pages["bank"], scheme=scheme).evaluate(ground) for scheme in ("light", "dark")
    )
    assert light == "rgb(255, 255, 255)" != dark
    page = open_page(pages["bank"], scheme="light")
    button = page.get_by_role("button", name="Dark", exact=True)
    button.click()
    assert page.evaluate(ground) == dark
    page.reload()
    assert page.evaluate(ground) == dark
    page.get_by_role("button", name="Light", exact=True).click()
    assert page.evaluate(ground) == light


def test_figures_take_the_colours_of_the_page(pages, open_page):
    text = "getComputedStyle(document.querySelector('.chart svg text')).fill"
    light, dark = (
        open_page(pages["bank"], scheme=scheme).evaluate(text) for scheme in ("light", "dark")
    )
    assert (light, dark) == ("rgb(28, 30, 33)", "rgb(232, 234, 237)")


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_round(pages, open_page):
    page = open_page(pages["bank"])
    before = column(page, AP)
    numbers = sorted((float(text) for text in before if text != "–"), reverse=True)
    assert numbers != [float(text) for text in before if text != "–"], "sorted already"
    heading(page, AP).get_by_role("button").click()
    assert heading(page, AP).get_attribute("aria-sort") == "descending"
    assert column(page, AP) == [*(f"{n:.1f}" for n in numbers), "–"]
    heading(page, AP).get_by_role("button").click()
    assert heading(page, AP).get_attribute("aria-sort") == "ascending"
    assert column(page, AP) == [*(f"{n:.1f}" for n in reversed(numbers)), "–"]
    assert page.locator("[aria-sort]").count() == 1


def test_rows_stay_whole_when_sorted(pages, open_page):
    page = open_page(pages["bank"])
    rows = set(zip(*(column(page, c) for c in range(6)), strict=True))
    heading(page, 1).get_by_role("button").click()
    assert set(zip(*(column(page, c) for c in range(6)), strict=True)) == rows


def test_the_keyboard_sorts_and_a_screen_reader_is_told(pages, open_page):
    page = open_page(pages["bank"])
    heading(page, AP).get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("status").text_content() == "Sorted by AP, descending."
    page.keyboard.press("Space")
    assert page.get_by_role("status").text_content() == "Sorted by AP, ascending."


def test_names_sort_as_people_count(face_like, open_page, tmp_path):
    bank = ClassSpecificClassifier(MCSDA(ranks=(3, 3), tol=10.0)).fit(*face_like)
    page = open_page(write_report(bank, face_like, tmp_path / "faces.html"))
    names = [f"s{i}" for i in range(1, 41)]
    assert column(page, 0) == names
    heading(page, AP).get_by_role("button").click()
    heading(page, 0).get_by_role("button").click()
    assert column(page, 0) == names


# ── Details ─────────────────────────────────────────────────────────────────────────────────────


def test_a_class_opens_by_click_and_by_keyboard(pages, open_page):
    page = open_page(pages["bank"])
    detail = page.locator("#detail ~ details").first
    picture = detail.locator("img").first
    assert not picture.is_visible()
    detail.locator("summary").click()
    assert picture.is_visible()
    detail.locator("summary").press("Enter")
    assert not picture.is_visible()
    detail.locator("summary").press("Space")
    assert picture.is_visible()


def test_a_class_in_the_table_leads_to_its_details(pages, open_page):
    page = open_page(pages["bank"])
    page.locator("table >> nth=0").get_by_role("link", name="7", exact=True).click()
    detail = page.locator("details[open]")
    assert detail.locator("summary").inner_text().startswith("Class 7")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_the_first_tab_leads_past_the_head(pages, open_page):
    page = open_page(pages["bank"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MAIN"


def test_headings_come_in_order(pages, open_page):
    for kind in KINDS:
        page = open_page(pages[kind])
        levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => h.tagName)")
        assert levels[0] == "H1"
        assert set(levels[1:]) == {"H2"}


# ── Paper ───────────────────────────────────────────────────────────────────────────────────────


def test_on_paper_everything_is_open_and_light(pages, open_page):
    page = open_page(pages["bank"], scheme="dark")
    page.evaluate("""() => addEventListener("beforeprint", () => {
        window.closedOnPaper = document.querySelectorAll("details:not([open])").length;
    })""")
    assert page.locator("details:not([open])").count() > 0
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("closedOnPaper") == 0
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()


# ── Size ────────────────────────────────────────────────────────────────────────────────────────


def test_400_faces_take_less_than_5_mb(face_like, tmp_path):
    bank = ClassSpecificClassifier(MCSDA(ranks=(7, 7), tol=10.0)).fit(*face_like)
    path = write_report(bank, face_like, tmp_path / "faces.html")
    assert path.stat().st_size < 5e6


@pytest.mark.realdata
def test_the_400_orl_faces_take_less_than_5_mb(data_root, open_page, tmp_path):
    orl = load_orl(data_root)
    bank = ClassSpecificClassifier(MCSDA(ranks=(7, 7), tol=10.0)).fit(*orl)
    path = write_report(bank, orl, tmp_path / "orl.html")
    assert path.stat().st_size < 5e6
    page = open_page(path)
    assert page.locator("#detail ~ details").count() == 40
    field = page.get_by_label("Find one of 40 classes")
    field.fill("s17")
    assert page.locator("#detail ~ details:visible").count() == 1
    field.fill("")
    assert page.locator("#detail ~ details:visible").count() == 40
