"""What the pages say of all methods, read from the methods: no page lists them by hand."""

from tenfold.methods import ALL_METHODS
from tenfold.methods.class_specific import ClassSpecificProjector

COLUMNS = ("method", "in a sentence", "labels", "solver", "modes", "columns", "ridge")


def rows():
    """One row per method; the words are those of its docstring and of its defaults."""
    return [
        (M.__name__, sentence(M), labels(M), solver(M), modes(M), columns(M), ridge(M))
        for M in ALL_METHODS
    ]


def sentence(method):
    """The first sentence of the docstring, after the full name of the method."""
    first = " ".join(method.__doc__.partition("\n\n")[0].split())
    return (first.partition(": ")[2] or first).replace("`", "")


def labels(method):
    if issubclass(method, ClassSpecificProjector):
        return "one class against the rest"
    return "all classes" if method._needs_labels else "none"


def solver(method):
    return method()._recipe().solver.__name__.replace("_", " ")


def modes(method):
    if method._flattens:
        return "one: samples as vectors"
    return "alternating" if method()._alternates else "each once"


def columns(method):
    return "orthonormal" if method().orthonormal else "scaled"


def reference():
    """The methods' part of the API reference, in MyST: Sphinx makes a page for each name."""
    names = "\n".join(f"   {M.__name__}" for M in ALL_METHODS)
    options = ".. currentmodule:: tenfold\n\n.. autosummary::\n   :toctree: ../generated\n"
    return f"```{{eval-rst}}\n{options}\n{names}\n```\n"


def ridge(method):
    """Its default, or a dash where there is no such parameter."""
    return str(method().get_params().get("ridge", "–"))
