"""How the site is built: ``make docs``. Nothing is fetched from the network."""

import sys
import warnings
from pathlib import Path

import matplotlib

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
matplotlib.use("Agg")

sys.path.insert(0, str(HERE))

import make_pictures
import method_lists

import tenfold

project = "tenfold"
author = "The tenfold developers"
copyright = author
version = release = tenfold.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # a copy of MathJax in the site itself
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "house",
    "pictures",
]
exclude_patterns = [
    "_build",
    "_ext",
    "_static",
    "README.md",
    "auto_examples/*.ipynb",
    "generated/methods.md",
]
templates_path = ["_templates"]
nitpicky = True
# What numpydoc writes into the bases of a class, and types of other libraries.
nitpick_ignore_regex = [
    (r"py:.*", r"(sklearn|numpy|np|typing|collections|abc|dask|os)\..*"),
    (r"py:class", r"(optional|Array|array-like|BaseEstimator)"),
]
default_role = "name"

# ── Text and formulas ───────────────────────────────────────────────────────────────────────────
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
mathjax3_config = {"chtml": {"displayAlign": "left", "displayIndent": "1.5em"}}

# ── API ─────────────────────────────────────────────────────────────────────────────────────────
# The list of the methods is written anew from ALL_METHODS; api/index.md includes it.
(HERE / "generated").mkdir(exist_ok=True)
(HERE / "generated" / "methods.md").write_text(method_lists.reference(), encoding="utf-8")
autosummary_generate = ["api/index.md", "generated/methods.md"]
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings say types and shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# ── Pictures of the landing page ────────────────────────────────────────────────────────────────
make_pictures.draw_landing()

# ── Examples that run ───────────────────────────────────────────────────────────────────────────
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("tenfold",),
    "write_computation_times": False,  # its table comes from a foreign host
    "matplotlib_animations": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": (),
}

# ── Look ────────────────────────────────────────────────────────────────────────────────────────
html_theme = "pydata_sphinx_theme"
html_title = "tenfold"
html_static_path = ["_static"]
html_css_files = ["tenfold.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "install", "which_method", "results")}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


# ── Pages that runs write, and that need not be there ───────────────────────────────────────────
MADE = ("results", "benchmarks")


def leave_out_missing(app, docname, source):
    if docname == "evidence":
        for page in MADE:
            if not (HERE / f"{page}.md").exists():
                source[0] = source[0].replace(f"\n{page}\n", "\n")


def setup(app):
    app.connect("source-read", leave_out_missing)
    app.connect("env-get-outdated", lambda *_: ["evidence"])
