"""Small errors that a person could make, one at a time, in the syntax tree of a module.

`mutants(source)` gives every one of them as a `Mutant`, in the order of the text. Left out is what
no test should see:

- text: docstrings, f-strings, the arguments of `raise` and of `warnings.warn`, functions that
  return a text; how many of a list they show, `", ".join(names[:5])`, and the dots after it;
- types: annotations, aliases such as `Array | None`, `if TYPE_CHECKING`, the decorators of classes
  and functions;
- `zip(..., strict=True)` and `stacklevel`, which guard against errors of ours; `copy`, `optimize`;
- swapped arguments of symmetric functions, and of those that choose a path (`CHOICES`);
- None for False where a function answers yes or no (True for False is an error);
- the -1 of `reshape`: NumPy takes every negative number for the size that is left;
- speed and memory, which choose between paths that give the same model: expressions with a
  constant of `mathematics.tuning`, the calls in `SIZES`, and the functions in `CHOICES`.
"""

import ast
import copy
from dataclasses import dataclass
from pathlib import Path

ROOM = Path(__file__).parents[2] / "src" / "tenfold" / "mathematics"
TUNING = {
    target.id
    for statement in ast.parse((ROOM / "tuning.py").read_text(encoding="utf-8")).body
    if isinstance(statement, ast.Assign)
    for target in statement.targets
}

COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
TWINS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("zeros", "ones"),
    ("floor", "ceil"),
    ("sum", "mean"),
]
OTHER_NAME = {a: b for pair in TWINS for a, b in (pair, pair[::-1])}
SYMMETRIC = {
    "min", "max", "minimum", "maximum", "vdot", "vecdot", "union1d", "intersect1d", "array_equal",
    "logaddexp", "hypot", "suppress", "check_consistent_length", "_same_entries",
}  # fmt: skip
GUARDS = {"strict", "stacklevel", "copy", "optimize"}
SIZES = {"row_blocks", "Workload", "check_tables_fit", "check_kernel_fits", "memory_budget"}
CHOICES = {
    "tables_fit",
    "workload",
    "_tables_are_smaller",
    "_is_ready",
    "row_blocks",
    "table_bytes",
}


@dataclass(frozen=True)
class Mutant:
    """One change of a module: where, of what kind, and the changed tree."""

    line: int
    touched: range  # lines of which a test must touch one to see it
    kind: str
    before: str
    after: str
    number: int  # of the node in the walk of the tree, with `change` what `mutated` needs
    change: int
    inside: bool  # a function, so that its code can be changed in place

    def __str__(self):
        before, after = " ".join(self.before.split()), " ".join(self.after.split())
        return f"{self.line}: {self.kind}: {before[:70]}  ->  {after[:70]}"


def mutants(source):
    """All mutants of a module's text."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    number = {id(node): n for n, node in enumerate(nodes)}
    found = []
    for node, function in _visited(tree, None):
        inside = function is not None and node not in ast.walk(function.args)
        last = node.test.end_lineno if isinstance(node, ast.If) else node.end_lineno
        touched = range(node.lineno, last + 1)
        if not inside:  # it runs at import: its users are those of the function, or of the module
            touched = range(function.lineno, function.end_lineno + 1) if function else range(10**6)
        for change, (kind, new) in enumerate(changes(node)):
            texts = ast.unparse(node), ast.unparse(new)
            found.append(
                Mutant(node.lineno, touched, kind, *texts, number[id(node)], change, inside)
            )
    return sorted(found, key=lambda m: (m.line, m.number, m.change))


def mutated(source, mutant):
    """The syntax tree of the mutant."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[mutant.number]
    new = ast.copy_location(list(changes(node))[mutant.change][1], node)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(child is node for child in value):
                value[[child is node for child in value].index(True)] = new
    return ast.fix_missing_locations(tree)


def _visited(node, function):
    """The nodes that may be changed, and the function that each is in."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Raise) or _is_warning(node):
        yield node, function
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if function is None and isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.expr) and (_is_size(node) or _is_rest_of_list(node)):
        return
    if isinstance(node, ast.FunctionDef):
        if node.name in CHOICES or node.name.endswith(("_flops", "_pay", "_pays")):
            return
        if node.returns is not None and ast.unparse(node.returns) == "str":
            return
        function = node if function is None else function
        defaults = (*node.args.defaults, *node.args.kw_defaults)
        children = [*(default for default in defaults if default is not None), *node.body]
    elif isinstance(node, ast.ClassDef):
        children = node.body
    elif isinstance(node, ast.AnnAssign):
        children = [node.value] if node.value is not None else []
    elif _is_prose(node):
        return
    elif hasattr(node, "lineno") and not (isinstance(node, ast.If) and _is_size(node.test)):
        yield node, function
    folds = isinstance(node, ast.Call) and _name(node.func) == "reshape"
    cut = _cut_of_list(node)
    for child in children:
        guard = isinstance(child, ast.keyword) and child.arg in GUARDS
        if not guard and not (folds and ast.unparse(child) == "-1"):
            yield from (found for found in _visited(child, function) if found[0] not in cut)


def _is_size(node):
    """Whether an expression depends on a number that is there for speed or memory alone."""
    names = {getattr(part, "id", "") for part in ast.walk(node)}
    called = isinstance(node, ast.Call) and _name(node.func) in SIZES
    return called or (not isinstance(node, ast.Name) and bool(names & TUNING))


def _is_rest_of_list(node):
    """Whether an expression is the dots of a list in a message that is cut."""
    match node:
        case ast.IfExp(body=ast.Constant(value=", ..."), orelse=ast.Constant(value="")):
            return True
    return False


def _cut_of_list(node):
    """The parts of an expression that say how many names a list in a message has."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=", "), attr="join")):
            cuts = [part for part in ast.walk(node) if isinstance(part, ast.Slice)]
            return [part for cut in cuts for part in ast.walk(cut)]
    return []


def _is_prose(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_warning(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "warnings.warn"
    )


def changes(node):
    """Kinds of error at one node, each with the node that takes its place."""
    match node:
        case ast.Compare():
            for place, op in enumerate(node.ops):
                for other in COMPARED[type(op)]:
                    new = copy.deepcopy(node)
                    new.ops[place] = other()
                    yield "comparison", new
        case ast.BinOp(op=ast.MatMult()):
            yield "operands", ast.BinOp(node.right, node.op, node.left)
        case ast.BinOp() if type(node.op) in COMPUTED and not _is_text(node):
            yield "arithmetic", ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
        case ast.AugAssign():
            if other := COMPUTED.get(type(node.op)):
                yield "arithmetic", ast.AugAssign(node.target, other(), node.value)
            yield "removed", ast.Pass()
        case ast.UnaryOp():
            yield "unary", node.operand
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "boolean", ast.BoolOp(other, node.values)
        case ast.Constant(value=bool()):
            yield "constant", ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield "constant", ast.Constant(node.value + 1)
            if node.value == 1:
                yield "constant", ast.Constant(type(node.value)(0))
        case ast.If():
            yield "condition", ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.IfExp():
            yield "condition", ast.IfExp(node.test, node.orelse, node.body)
        case ast.Return(value=value) if value is not None and not _is_false(value):
            yield "returned", ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "removed", ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "removed", ast.Pass()
        case ast.Break():
            yield "removed", ast.Continue()
        case ast.Continue():
            yield "removed", ast.Break()
        case ast.Call(args=[first, second, *rest]) if not (
            {type(first), type(second)} & {ast.Starred}
            or _name(node.func) in SYMMETRIC | CHOICES
            or (_name(node.func) == "swapaxes" and not rest)
            or ast.unparse(first) == ast.unparse(second)
        ):
            yield "arguments", ast.Call(node.func, [second, first, *rest], node.keywords)
        case ast.Slice():
            for part in ("lower", "upper", "step"):
                if getattr(node, part) is not None:
                    yield (
                        "slice",
                        ast.Slice(
                            **{
                                name: None if name == part else getattr(node, name)
                                for name in ("lower", "upper", "step")
                            }
                        ),
                    )
    if isinstance(node, ast.Call) and _name(node.func) in OTHER_NAME:
        func, name = copy.deepcopy(node.func), OTHER_NAME[_name(node.func)]
        setattr(func, "id" if isinstance(func, ast.Name) else "attr", name)
        yield "name", ast.Call(func, node.args, node.keywords)


def _name(func):
    return getattr(func, "id", None) or getattr(func, "attr", None)


def _is_false(node):
    """Whether an expression is None or False, one as false as the other."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _is_text(node):
    parts = (node.left, node.right)
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in parts
    )
