"""The directive ``picture``: code of a page, and the figure that it draws when the site is built.

    ```{picture} What the picture shows, for those who cannot see it
    ScoresDisplay.from_estimator(verifier, X_test, y_test)
    ```

All code of the page before it has run, so it continues with the same names. The figures of a page
are drawn again when its code, or the library, has changed.
"""

import contextlib
import hashlib
import io
import os
import sys
import tempfile
import types
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import page_code
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
DRAWN = ROOT / "docs" / "_build" / "pictures"


class Picture(SphinxDirective):
    """The code, and the figure below it."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        page = Path(self.env.doc2path(self.env.docname))
        code = "\n".join(self.content)
        drawn = figures(page)[code.strip()]
        uri = os.path.relpath(drawn, page.parent).replace(os.sep, "/")
        block = nodes.literal_block(code, code, language="python")
        image = nodes.image(uri=uri, alt=self.arguments[0], classes=["on-white", "picture"])
        return [block, image]


def figures(page: Path) -> dict[str, Path]:
    """The file of the figure of each picture of a page, by its code."""
    found = page_code.blocks(page)
    digest = hashlib.sha256(repr(found).encode() + source_digest()).hexdigest()[:16]
    wanted = {
        text.strip(): DRAWN / f"{page.stem}-{digest}-{number}.png"
        for number, (language, text) in enumerate(found)
        if language == "{picture}"
    }
    if not all(target.exists() for target in wanted.values()):
        draw(page, found, wanted)
    return wanted


def draw(page: Path, found: list[tuple[str, str]], wanted: dict[str, Path]) -> None:
    """Run the blocks up to the last picture in an empty folder; save what each picture draws."""
    DRAWN.mkdir(parents=True, exist_ok=True)
    last = max(place for place, (language, _) in enumerate(found) if language == "{picture}")
    module = types.ModuleType("__page__")  # functions for other processes must be found again
    sys.modules["__page__"] = module
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for language, text in found[: last + 1]:
            plt.close("all")
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                page_code.run(language, text, page, vars(module))
            if language == "{picture}":
                if not plt.get_fignums():
                    raise ValueError(f"a picture of {page.name} draws no figure")
                plt.gcf().savefig(wanted[text.strip()], dpi=130, bbox_inches="tight")
    plt.close("all")
    del sys.modules["__page__"]


def source_digest() -> bytes:
    """A digest of the library, so that its changes are seen in pictures."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def setup(app):
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
