"""What is an error, and what is the same program and left out."""

import ast

import pytest

from mutation.operators import mutants, mutated


def changed(code):
    """Kind and new text of every mutant of a function's body."""
    lines = ["def f(a, b, c, names):", *(f"    {line}" for line in code.splitlines())]
    return [(mutant.kind, mutant.after) for mutant in mutants("\n".join(lines))]


@pytest.mark.parametrize(
    "code",
    [
        "np.array_equal(a, b)",
        "np.hypot(a, b)",
        "suppress(TypeError, ValueError)",
        "max(a, b)",
        "a.swapaxes(-1, -2)",
        "self._is_ready(a, b)",
    ],
)
def test_arguments_that_may_be_swapped_are_not(code):
    kinds = {kind for kind, _ in changed(f"c = {code}")}
    assert "arguments" not in kinds
    assert ("arguments", "np.less(b, a)") in changed("c = np.less(a, b)")


def test_how_many_names_a_message_shows_is_no_law():
    code = """shown = ', '.join(str(c + name) for name in names[:5])
shown += ', ...' if len(names) > 5 else ''
"""
    assert changed(code) == [
        ("arithmetic", "c - name"),  # which ones they are is one
        ("arithmetic", "shown -= ', ...' if len(names) > 5 else ''"),
        ("removed", "pass"),
    ]
    assert {("slice", ":"), ("constant", "6")} <= set(changed("c = names[:5]"))


def test_none_is_as_false_as_false():
    assert changed("return False") == [("constant", "True")]
    assert changed("return None") == []
    assert changed("return a") == [("returned", "return None")]
    assert ("returned", "return None") in changed("return 0")


def test_a_mutant_differs_from_the_module_in_one_place():
    source = "def f(a, b):\n    if a < b and a > 0:\n        return a - b\n    return min(a, b)\n"
    found = mutants(source)
    texts = {ast.unparse(mutated(source, mutant)) for mutant in found}
    assert len(texts) == len(found)
    assert source.strip() not in texts
