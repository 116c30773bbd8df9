"""The op-table language and the generator: tracing, derived derivatives, emitted text, and every error message."""

import gc
import math
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.codegen import calls, expressions, files, loops, reading
from adjoint.codegen.cpp import Cpp
from adjoint.codegen.derivatives import strip_conj
from adjoint.codegen.expressions import TraceError, Value, apply, lift, topological
from adjoint.codegen.kernels import kernels_of
from adjoint.codegen.primitives import INFIX, PRIMITIVES
from adjoint.codegen.updates import update_file
from adjoint.ops import declaration

from . import compiled

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def table():
    return reading.read_table()


def generated(table):
    """All text that is generated from an op table without optimizers."""
    return files.generate(table, [])


CORE = """
from .language import elementwise, zeros_like
elementwise("add(input, other)", lambda input, other: input + other,
            input=lambda g: g, other=lambda g: g)
elementwise("mul(input, other)", lambda input, other: input * other,
            input=lambda g, other: g * other.conj(), other=lambda g, input: g * input.conj())
"""


@pytest.fixture
def load(tmp_path):
    """Reads an op table of two files: the core above, and a family given as text with the names it imports."""

    def read(text, names):
        folder = tmp_path / "adjoint" / "ops"
        folder.mkdir(parents=True)
        (folder / "core.py").write_text(CORE)
        (folder / "family.py").write_text(f"from .language import {names}\n{text}")
        return reading.read_table(tmp_path / "adjoint")

    return read


X = Value("input", (), "x")
Y = Value("input", (), "y")

# What the language's functions mean for Python floats.
FLOATS = {
    "where": lambda condition, a, b: a if condition else b,
    "maximum": max,
    "minimum": min,
    "conj": lambda a: a,
    "real": lambda a: a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "sgn": lambda a: (a > 0) - (a < 0),
    "logical_not": lambda a: not a,
    **{name: getattr(math, name) for name in PRIMITIVES if hasattr(math, name)},
    "ldexp": lambda a, b: a * 2**b,
    "digamma": lambda a: (math.lgamma(a + 1e-5) - math.lgamma(a - 1e-5)) / 2e-5,
}


def evaluate(root, leaves):
    """The value of a traced expression for Python floats."""
    values = {}
    for value in topological([root]):
        args = [values[id(a)] for a in value.args]
        if value.kind == "const":
            values[id(value)] = value.payload
        elif value.kind == "item":
            values[id(value)] = args[0]
        elif not value.args:
            values[id(value)] = leaves[value.payload]
        elif value.kind in INFIX:
            values[id(value)] = eval(f"a {INFIX[value.kind]} b", {"a": args[0], "b": args[1]})
        elif value.kind == "neg":
            values[id(value)] = -args[0]
        else:
            values[id(value)] = FLOATS[value.kind](*args)
    return values[id(root)]


# ---- symbolic values


def test_equal_expressions_are_one_object():
    assert X * Y + 1 is X * Y + 1
    assert X * Y is not Y * X


def test_constants_of_different_type_stay_apart():
    assert lift(1) is not lift(1.0)
    assert lift(0.0) is not lift(-0.0)


def test_simplification_changes_no_result():
    assert X * 1 is X
    assert apply("neg", -X) is X
    assert X.conj().conj() is X
    assert lift(2) * 3 is lift(6)
    assert (X * 0).kind == "mul"  # inf * 0 is nan
    assert (X + 0).kind == "add"  # -0.0 + 0 is 0.0


def test_topological_order_puts_arguments_first():
    root = (X + Y) * (X + Y)
    kinds = [value.kind for value in topological([root])]
    assert kinds == ["input", "input", "add", "mul"]


def test_a_deep_expression_does_not_recurse():
    root = X
    for _ in range(20000):
        root = root + 1
    assert len(topological([root])) == 20002


def test_conditions_and_methods_without_meaning_are_refused():
    with pytest.raises(TraceError, match=r"use where\(condition, a, b\)"):
        _ = 1 if X > 0 else 0
    with pytest.raises(TraceError, match=r"\.sum has no meaning for one element"):
        X.sum()
    with pytest.raises(TraceError, match=r"str .* is used as an element's value"):
        X + "1"
    with pytest.raises(TraceError, match="exp takes 1 values; came 2"):
        apply("exp", X, Y)


def test_types_of_results():
    results = {
        "same": (X, lift(2) - 1, X + abs(Y), apply("where", X > 0, 1, 0), 2 * apply("exp", X)),
        "bool": (X > 0, (X > 0) | apply("isnan", Y), lift(True), apply("where", X > 0, X < Y, True)),
        "real": (abs(X), 2 * abs(X) + apply("imag", Y), apply("sqrt", abs(X)), apply("where", X == 0, abs(Y), 1)),
    }
    for expected, values in results.items():
        assert [expressions.result_type(value) for value in values] == [expected] * len(values)


def test_strip_conj():
    assert strip_conj((X.conj() * Y).conj()) is X * Y


# ---- the op table itself


def test_every_elementwise_op_is_traced(table):
    kernels = [k for item in table.unique("elementwise") for k in kernels_of(table, item)]
    names = {kernel.name for kernel in kernels}
    assert {"mul", "mul.input", "mul.other", "gelu.input", "eq", "polygamma_of.input"} <= names
    assert "eq.input" not in names
    assert "add.input" not in names  # the rule is g itself
    assert all(len(kernel.inputs) <= 8 for kernel in kernels)


# Where an op is not defined, or its derivative jumps, the numeric check uses these points instead.
POINTS = {"acosh": (1.7, 2.9), "polygamma": None, "erfinv": None, "angle": None, "sgn": None, "hypot": (0.4, 0.7)}
POINTS["_uniform_log_density"] = (0.37, -0.71, 1.23)  # from low to high
SMOOTH = (0.37, 0.71, 0.23)


def test_rules_match_numeric_derivatives(table):
    checked = 0
    for item in table.unique("elementwise"):
        points = POINTS.get(item.name, SMOOTH)
        if not item.differentiable or points is None:
            continue
        kernels = kernels_of(table, item)
        leaves = dict(zip(item.operands, points, strict=False)) | item.defaults
        forward = kernels[0].value
        for kernel in kernels[1:]:
            step = 1e-6

            def at(value, argument=kernel.argument, leaves=leaves, forward=forward):
                return evaluate(forward, leaves | {argument: value})

            try:
                numeric = (at(leaves[kernel.argument] + step) - at(leaves[kernel.argument] - step)) / (2 * step)
                got = evaluate(kernel.value, leaves | {"g": 1.5, "out": evaluate(forward, leaves)})
            except KeyError:
                continue  # a primitive without a counterpart in Python's math module
            assert got == pytest.approx(1.5 * numeric, rel=1e-4, abs=1e-6), kernel.name
            checked += 1
    assert checked > 60


def test_derived_rules_run_as_python(table, monkeypatch):
    language = types.ModuleType("language_of_floats")
    vars(language).update(FLOATS)
    monkeypatch.setitem(sys.modules, "language_of_floats", language)
    namespace = {}
    exec(generated(table)["derived.py"].replace(".language", "language_of_floats"), namespace)
    rule = namespace["RULES"]["gelu"]["input"]
    for x in (-3.0, -0.5, 0.0, 0.7, 4.0):
        density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        expected = 0.5 * (1 + math.erf(x / math.sqrt(2))) + x * density
        assert rule(2.0, x) == pytest.approx(2 * expected, rel=1e-12, abs=1e-15)


def test_an_op_inlines_another(load):
    table = load(
        'elementwise("twice(input)", lambda input: input + input, input=lambda g: g + g)\n'
        'elementwise("scaled(input, *, by=3)", lambda input, by: by * input)\n'
        'elementwise("both(input)", lambda input: scaled(twice(input), by=5))\n',
        names="elementwise, scaled, twice",
    )
    forward, rule = kernels_of(table, table.ops["both"])
    assert repr(forward.value) == "mul(5, add(input, input))"
    assert evaluate(rule.value, {"g": 1.0, "input": 7.0}) == 10.0
    assert rule.inputs == ["g"]


def test_derived_rule_of_two_operands_keeps_params(load):
    table = load(
        'elementwise("mix(input, other, *, w=2)", lambda input, other, w: w * input * other)\n', names="elementwise"
    )
    _, first, second = kernels_of(table, table.ops["mix"])
    assert (first.name, first.inputs) == ("mix.input", ["g", "other"])
    assert (second.name, second.inputs) == ("mix.other", ["g", "input"])
    assert evaluate(first.value, {"g": 1.0, "other": 3.0, "w": 2}) == 6.0


# ---- emitted text


def test_loops_compute_shared_parts_once(load):
    table = load(
        'elementwise("f(input)", lambda input: exp(input) + exp(input) * 0.5, input=lambda g: zeros_like(g))\n',
        names="elementwise, exp, zeros_like",
    )
    text = "\n".join(generated(table).values())
    body = text[text.index("forward_f") : text.index("rule_f_input")]
    assert body.count("fn::lone_exp") == 1
    assert "fn::store(result, i, fn::cast<T>(fn::Real<T>(0)));" in text
    assert '{"f.input", ResultKind::Same, 1, 0, DType::Float32, rule_f_input<float>},' in text
    assert "Complex64, forward_f" not in text


def test_type_families(load):
    table = load(
        'elementwise("bits(input)", lambda input: ~input, types="only integer")\n'
        'elementwise("promoted(input)", lambda input: 1 / input, types="complex", promote="float",'
        " input=lambda g, out: -g * out * out)\n",
        names="elementwise",
    )
    (bits,) = kernels_of(table, table.ops["bits"])
    forward, rule = kernels_of(table, table.ops["promoted"])
    assert bits.families() == {"integer"}
    assert forward.families() == rule.families() == {"float", "complex", "bfloat16"}


def test_constants_in_loops():
    constant = Cpp().constant
    assert constant(2) == "fn::Real<T>(2)"
    assert constant(-0.5) == "fn::Real<T>(-0.5)"
    assert constant(float("inf")) == "fn::Real<T>(INFINITY)"
    assert constant(float("-inf")) == "fn::Real<T>(-INFINITY)"
    assert constant(float("nan")) == "fn::Real<T>(NAN)"
    assert constant(1j) == "fn::constant<T>(0.0, 1.0)"
    assert constant(True) == "true"


def test_glue_is_keyed_by_op_name(load):
    table = load(
        'op("sum(input, dim=None, keepdim=False)", native="sum_dims",'
        " input=lambda g, input_meta, dim, keepdim: spread(g, input_meta.shape, dim, keepdim))\n"
        'view("t(input)", native="transpose_last", shown="mT", input=lambda g: g)\n'
        'op("loss(input)", forward=lambda input: input, input=lambda g: g)\n'
        'op("put(input, value)", native="put", shown="puts", inplace=True, inplace_native="put_")\n'
        'op("flat(input)", composed="flatten")\n'
        'op("clear(input)", inplace="only", inplace_native="clear_")\n'
        '@composite(alias=("sum_of_all",))\ndef total(input):\n    return spread(input)\n',
        names="composite, op, spread, view",
    )
    text = generated(table)["glue.cpp"]
    assert 'names[] = {"input", "dim", "keepdim"};' in text
    assert 'call_native(ops::sum_dims, "sum", names, slots)' in text
    assert '{"sum", glue_sum, nullptr, ' in text
    assert 'call_native(ops::transpose_last, "mT", names, slots)' in text
    assert '{"t", glue_t, nullptr, ' in text
    assert 'change_native<2>(ops::put_, "puts_", names, slots)' in text
    assert 'call_native(composed::flatten, "flat", names, slots)' in text
    assert '{"put", glue_put, change_put, nullptr, memory_slots(ops::put) | memory_slots(ops::put_)},' in text
    assert '{"clear", nullptr, change_clear, nullptr, memory_slots(ops::clear_)},' in text
    assert "loss" not in text
    assert text.index("{nullptr, nullptr, nullptr, nullptr, 0}") > text.index('{"clear", ')


def test_files_are_written_only_when_changed(tmp_path):
    files.write({"a.cpp": "1", "b.cpp": "2"}, tmp_path / "new")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "new").iterdir()}
    files.write({"a.cpp": "1", "b.cpp": "3"}, tmp_path / "new")
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "new").iterdir()}
    assert before["a.cpp"] == after["a.cpp"]
    assert (tmp_path / "new" / "b.cpp").read_text() == "3"


# ---- at build time and at run time


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The generated files, as the build writes them: by a script that cannot import the extension."""
    folder = tmp_path_factory.mktemp("generated")
    program = "import runpy, sys; del sys.argv[0]; sys.modules['adjoint._C'] = None\n"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    arguments = [str(ROOT / "tools" / "generate.py"), "--out", str(folder)]
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_build_needs_no_extension(built):
    assert {"kernels_real_0.cpp", "kernels_other_3.cpp", "kernels_registration.cpp", "glue.cpp"} <= set(built)


def test_code_generated_at_run_time_is_that_of_the_build(built, table):
    assert files.generate(table, reading.read_updates(table), ROOT / "csrc") == built
    derived = Path(adjoint.ops.__file__).with_name("derived.py")
    assert derived.read_text() == built["derived.py"]


def test_reading_the_table_leaves_the_running_package_alone():
    before = dict(sys.modules)
    reading.read_table()
    assert {name for name in sys.modules if sys.modules[name] is not before.get(name)} == set()
    assert set(before) == set(sys.modules)


def test_what_was_traced_can_be_forgotten():
    gc.collect()
    before = len(expressions._interned)
    item = declaration.elementwise("f(x)", lambda x: 1.0625 * x + 17 * x, x=lambda g: 18.0625 * g)
    kernels = kernels_of(reading.Table(), item)
    assert len(expressions._interned) > before
    del kernels
    gc.collect()
    assert len(expressions._interned) == before


def test_an_expression_of_a_program_becomes_a_loop(table, tmp_path):
    """A function that is in no table, with its derived rules, from Python to numbers."""
    words = table.language
    item = declaration.elementwise(
        "gate(x, y, *, steep=2.0)",
        lambda x, y, steep: words.where(x > 0, words.silu(steep * x), words.expm1(x)) * words.tanh(y) + y,
    )
    kernels = kernels_of(table, item)
    assert [(kernel.name, kernel.inputs) for kernel in kernels] == [
        ("gate", ["x", "y"]),
        ("gate.x", ["g", "x", "y"]),
        ("gate.y", ["g", "x", "y"]),
    ]
    text = loops.loop_file("real_0", kernels, loops.REAL)
    forward = text[text.index("forward_gate(") : text.index("rule_gate_x(")]
    assert forward.count("fn::tanh(y_)") == 1
    assert "const T steep_ = fn::param<T>(params[0]);" in forward
    assert "gate" not in table.ops
    if compiled.compiler() is None:  # the text is all that can be had
        return
    compiled.compile_loops(text, tmp_path)
    library = compiled.load_loops(tmp_path)
    x, y, g = (adjoint.randn(101, dtype=adjoint.float64, requires_grad=name != "g") for name in "xyg")
    expected = adjoint.where(x > 0, adjoint.nn.functional.silu(1.5 * x), adjoint.expm1(x)) * adjoint.tanh(y) + y
    expected.backward(g)
    arrays = {"x": x.detach().numpy(), "y": y.detach().numpy(), "g": g.numpy()}
    for kernel, wanted in zip(kernels, (expected.detach(), x.grad, y.grad), strict=True):
        got = compiled.call_loop(library, kernel.name, [arrays[name] for name in kernel.inputs], [1.5])
        np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-13, atol=1e-14)


# ---- errors of tracing: they name the op, the argument and the file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'elementwise("f(input)", lambda input: matmul(input, input))',
            r"f: the expression cannot be traced: matmul is neither a primitive nor an elementwise op.*family\.py:2",
        ),
        (
            'elementwise("f(input)", lambda input: input, input=lambda g, out: g * matmul(out))',
            r"f: the rule for 'input' cannot be traced: matmul is neither.*family\.py:2",
        ),
        (
            'elementwise("f(input)", lambda input: input if input > 0 else 0)',
            r"f: the expression cannot be traced: a Python condition.*use where",
        ),
        ('elementwise("f(input)", lambda input: f(input))', "f is used in its own expression"),
        ('elementwise("f(input)", lambda input: mul(input, by=input))', "mul is called with other arguments than"),
        ('elementwise("f(input)", lambda input: matmul.T(input))', r"matmul\.T has no meaning in a kernel"),
        ('elementwise("f(input)", lambda input: missing(input))', "name 'missing' is not defined"),
    ],
)
def test_trace_errors(load, text, message):
    table = load(text + "\n", names="elementwise, f, matmul, mul")
    with pytest.raises(TraceError, match=message):
        generated(table)


def test_too_many_operands(load):
    names = ", ".join(f"x{i}" for i in range(9))
    table = load(
        f'elementwise("f({names})", lambda {names}: {names.replace(", ", " + ")}, types="integer")\n',
        names="elementwise",
    )
    with pytest.raises(ValueError, match="f: f reads 9 arrays; a kernel can read 8"):
        generated(table)


def test_the_declared_result_is_that_of_the_expression(load):
    table = load('elementwise("f(input)", lambda input: input > 0, gradient=False)\n', names="elementwise")
    with pytest.raises(ValueError, match="f: the type of the expression is 'bool'; write result='bool'"):
        generated(table)


def test_no_rule_to_derive_from(load):
    table = load('elementwise("f(input)", lambda input: tanh(input))\n', names="elementwise, tanh")
    with pytest.raises(ValueError, match="f: no rule can be derived: tanh has none; write the rules of f"):
        generated(table)


# ---- errors of declarations


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('elementwise("f input", lambda input: input)', "'f input': expected a signature such as"),
        ('elementwise("f(input, =)", lambda input: input)', "the argument list is not valid Python"),
        ('elementwise("f(input, input)", lambda input: input)', "the argument list is not valid Python at 'input'"),
        ('elementwise("f(input, a=1, b)", lambda input: input)', "the argument list is not valid Python at 'b'"),
        ('elementwise("f(input, a=b)", lambda input: input)', "defaults must be literals"),
        ('elementwise("f(input)", 3)', "f: the second argument must be the expression"),
        ('elementwise("f(input)", lambda other: other)', r"f: the expression's parameters are \(other\)"),
        ('elementwise("f(input)", lambda input, x: x)', "f: the expression uses 'x'; expected only input"),
        ('elementwise("f(input, a=None)", lambda input: input)', "f: the default of 'a' must be a number"),
        ('elementwise("f(input)", lambda input: input, result="int")', "f: result='int' is not one of"),
        ('elementwise("f(input)", lambda input: input, promote="up")', "f: promote='up' is not one of"),
        ('elementwise("f(input)", lambda input: input, types="quad")', "f: types names quad; expected words of"),
        ('elementwise("f(input)", lambda input: input, alias="g")', r"f: alias='g' must be a tuple"),
        ('op("f(input, dim)", native="f", batch="dims?")', r"f: batch has the word 'dims\?'; arguments are input, dim"),
        ('op("f(input)", native="f", linear="inputs")', "f: linear names 'inputs'; arguments are input"),
        (
            'op("f(input)", native="f", linear="input * input")',
            r"f: linear has the term 'input \* input', which is not",
        ),
        (
            'op("f(input, end, weight)", native="f", linear="input + input * weight + end * weight")',
            "f: linear has the term 'input', which would stay in the tangent of weight; leave arguments out",
        ),
        (
            'elementwise("f(input)", lambda input: input, other=None)',
            "f: 'other' is neither an option nor an argument; arguments are input",
        ),
        (
            'elementwise("f(input, other)", lambda input, other: input, input=lambda g: g)',
            "f: the rule for 'other' is missing; write None if it is not differentiable",
        ),
        (
            'elementwise("f(input)", lambda input: input, input=lambda g, inputs: g)',
            "f: the rule for 'input' uses 'inputs'; expected only g, input, out",
        ),
        (
            'elementwise("f(input, a=1)", lambda input: input, input=lambda g: g, a=lambda g: g)',
            "f: 'a' is a number, not a tensor, and can have no rule",
        ),
        (
            'elementwise("f(input)", lambda input: input > 0, result="bool", input=lambda g: g)',
            "f: a rule for 'input' is given, but the results can carry no gradient",
        ),
        (
            'elementwise("f(input)", lambda input: input, input=lambda g, out: g)',
            "f: the rule for 'input' does not use its parameter 'out'; remove it",
        ),
        (
            'elementwise("f(input, other)", lambda input, other: input, input=lambda g: g, other=None)',
            "f: the expression does not use its parameter 'other'",
        ),
        ('elementwise("mul(input)", lambda input: input)', r"mul: declared twice: also in core\.py"),
        ('op("f(input)", input=lambda g: g)', "f: give either native=, composed= or forward="),
        ('view("f(input)", native="f", forward=3, input=None)', "f: give either native=, composed= or forward="),
        (
            'op("f(input)", native="f", input=lambda g, inpt_meta: g)',
            "f: the rule for 'input' uses 'inpt_meta'; expected only g, gs, input, input_meta, out, out_meta",
        ),
        (
            'op("f(input)", native="f", outputs=("values", "indices"), input=lambda g, g_value: g)',
            "uses 'g_value'; expected only g, g_indices, g_values, gs, indices",
        ),
        (
            'op("f(input)", native="f", input=lambda g: g, fused={"input": lambda g, inpt: g})',
            "f: the fused form for 'input' uses 'inpt'; expected only g, gs, input, input_meta, out, out_meta",
        ),
        (
            'op("f(input)", native="f", input=None, fused={"input": lambda g: g})',
            "f: a fused form for 'input' is given, but no rule in Python that it could stand for",
        ),
        (
            'op("f(input)", native="f", input=lambda g: g, fused={"input": lambda g, out: g})',
            "f: the fused form for 'input' does not use its parameter 'out'; remove it",
        ),
        (
            'elementwise("f(input)", lambda input: input, refuse={"bools": "..."})',
            "f: refuse has the key 'bools'; expected 'bool', 'any bool', 'bool input' or the like, or 'mixed'",
        ),
        (
            'elementwise("f(input)", lambda input: input, refuse={"bool other": "..."})',
            "f: refuse has the key 'bool other'; expected",
        ),
        (
            'elementwise("f(input)", lambda input: input, refuse={"mixed": "..."})',
            "f: refuse has the key 'mixed', but the operands are promoted",
        ),
        ('op("f(input)", inplace=True, inplace_native="f_")', "f: give either native=, composed= or forward="),
        ('op("f(input)", composed="f", input=lambda g: g)', "f: a composite records through the ops it calls"),
        ('op("f(input)", composed="f", inplace=True)', r"f: .*; declare it by op\(\), without rules and inplace"),
        ('view("f(input)", composed="f")', "f: a composite records through the ops it calls"),
        ('op("f(input)", native="f", inplace_native="f_")', "f: inplace_native is given, but the op has no in-place"),
        ('view("f(input)", native="f", inplace=True, inplace_native="f_")', "f: inplace_native is given, but the op"),
        ('op("f(input)", native="f", refuse={"bool": "..."})', "f: refuse is for elementwise ops"),
        ('op("f(input)", native="f", out_words="...")', "f: out_words is given, but the op takes no out="),
        (
            'elementwise("f(input, a=1)", lambda input, a: a * input, factor="b")',
            "f: factor names 'b'; parameters are a",
        ),
        ('elementwise("f(a, b)", lambda a, b: a**b, powers=("squared",))', "f: powers=.* must name four ops"),
        (
            'elementwise("f(input)", lambda input: input, input=lambda g: g, fused={"input": lambda g: g})',
            "f: a fused form for 'input' is given, but no rule in Python that it could stand for",
        ),
    ],
)
def test_declaration_errors(load, text, message):
    with pytest.raises(ValueError, match=message):
        load(text + "\n", names="elementwise, op, view")


def test_default_node_names():
    name = declaration.node_name
    assert name("mul") == "MulBackward0"
    assert name("leaky_relu") == "LeakyReluBackward0"


def test_declaration_attributes(load):
    item = load(
        'elementwise("f(input, other, *, alpha=1)", lambda input, other, alpha: input + alpha * other,'
        ' types="integer", input=lambda g: g, other=None)\n',
        names="elementwise",
    ).ops["f"]
    assert item.operands == ("input", "other")
    assert item.params == ("alpha",)
    assert item.defaults == {"alpha": 1}
    assert item.positional == 2
    assert item.types == {"float", "half", "integer"}
    assert item.uses == {"input": ("g",)}
    assert item.inplace
    assert item.out
    assert item.shown == "f"
    assert not item.derived


def test_what_is_refused_in_words(load):
    item = load(
        'elementwise("f(input, other)", lambda input, other: input * other, promote="never",'
        ' refuse={"any bool": "a", "integer input other": "b", "complex": "c", "mixed": "d"})\n',
        names="elementwise",
    ).ops["f"]
    assert item.refused == {("bool", "any"): "a", ("integer", "input", "other"): "b", ("complex",): "c"}
    assert item.mixed == "d"


@pytest.mark.parametrize(
    ("linear", "substitutions"),
    [
        ("", ()),
        ("a", ((("a",), ()),)),
        ("a + b", ((("a", "b"), ()),)),
        ("a * b", ((("a",), ()), (("b",), ()))),
        ("a + b * c", ((("a", "b"), ()), (("c",), ("a",)))),
        ("a * b + c", ((("a", "c"), ()), (("b",), ("c",)))),
        ("a * b + a * c", ((("a",), ()), (("b", "c"), ()))),
    ],
)
def test_substitutions_of_linear_ops(load, linear, substitutions):
    item = load(f'op("f(a, b, c)", native="f", linear={linear!r})\n', names="op").ops["f"]
    assert item.substitutions == substitutions


# ---- updates of optimizers


@pytest.fixture
def load_rule(tmp_path):
    """Reads a package whose one optimizer has the rule given as text; the traced updates."""

    def read(text):
        for name, content in (("ops/core.py", CORE), ("optim/family.py", f"{text}\n")):
            path = tmp_path / "adjoint" / name
            path.parent.mkdir(parents=True)
            path.write_text(content)
        return reading.read_updates(reading.read_table(tmp_path / "adjoint"), tmp_path / "adjoint")

    return read


RULE = """
from .language import item, rule, where
from .elementwise import Elementwise

@rule
def drift(step, /, param, grad, mean, largest, *, lr, beta, maximize, keep=False):
    step = step + 1
    grad = where(maximize, -grad, grad)
    mean = mean * beta + grad * (1 - beta)
    if keep:
        largest = where(mean > largest, mean, largest)
    return step, param - lr / (1 - beta ** item(step)) * (largest if keep else mean), mean, largest

class Drift(Elementwise):
    _rule = drift
"""


def test_a_rule_is_traced_for_each_choice_of_its_flags(load_rule):
    plain, keeping = load_rule(RULE)
    assert (plain.name, plain.arrays) == ("drift", ["param", "grad", "mean"])
    assert (keeping.name, keeping.arrays) == ("drift.keep", ["param", "grad", "mean", "largest"])
    leaves = {"step": 2, "param": 1.0, "grad": 0.5, "mean": 0.25, "lr": 0.1, "beta": 0.9, "maximize": False}
    results = [evaluate(plain.results[name], leaves) for name in ("step", "mean", "param")]
    mean = 0.25 * 0.9 + 0.5 * (1 - 0.9)
    assert results == [3, mean, 1.0 - 0.1 / (1 - 0.9**3) * mean]


def test_what_does_not_depend_on_elements_is_computed_ahead(load_rule):
    text = update_file(load_rule(RULE))
    loop = text[text.index("void loop_drift(") :]
    loop = loop[: loop.index("\n}")]
    assert "fn::pow" not in loop
    assert "fn::div" not in loop
    prepare = text[text.index("void prepare_drift(") : text.index("void loop_drift(")]
    assert "S(kept[0])" in prepare  # the 0-d state computes in its own type
    assert prepare.count("fn::pow") == 1
    assert 'states_drift[] = {"step", "mean", nullptr};' in text
    assert "largest" not in loop


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(param, grad, *, lr):\n    return param - lr * grad.sum()", "f: the rule cannot be traced with"),
        ("def f(param, grad, m):\n    return param - grad", "f: the rule returns .*; expected a tuple of param, m"),
        ("def f(step, /, param, grad):\n    return step + grad, param", "the 0-d state 'step' cannot depend on"),
        ("def f(param, grad, *, lr):\n    return (param if lr else grad,)", "a Python condition on an element's value"),
        (
            f"def f(param, grad, {', '.join('abcdefg')}):\n    return ({', '.join(f'{x} + 1' for x in 'gabcdefg')})",
            "more arrays or numbers",
        ),
    ],
)
def test_rule_errors(load_rule, text, message):
    with pytest.raises(TraceError, match=message):
        load_rule(f"from .language import rule\n@rule\n{text}")


def test_a_rule_begins_with_parameter_and_gradient(load_rule):
    with pytest.raises(TypeError, match="f: a rule begins with param and grad"):
        load_rule("from .language import rule\n@rule\ndef f(grad, param):\n    return param")


def test_every_optimizer_has_its_updates(table):
    names = [update.name for update in reading.read_updates(table)]
    assert len(names) == len(set(names))
    assert {"sgd", "sgd.with_momentum", "adam", "adam.amsgrad", "rmsprop.with_momentum.centered"} <= set(names)


# ---- Rules that are calls of other ops

CALLS = """
def halved(g, dim):
    return part(g, dim)

op("part(input, dim, index=0)", native="part", input=lambda g, input_meta, dim: spread(g, input_meta.shape, dim))
op("spread(input, size, dim, *, step=1)", native="spread", input=lambda g, dim, step: g.part(dim, index=step))
op("turned(input, dims)", native="turned", varargs="dims", input=lambda g, dims: turned(g, dims))
op("by_helper(input, dim)", native="by_helper", input=lambda g, dim: halved(g, dim))
op("computed(input, dim)", native="computed", input=lambda g, dim: part(g, dim + 1))
op("of_two(input, dim)", native="of_two", input=lambda g, dim: part(part(g, dim), dim))
op("opened(input, dims)", native="opened", input=lambda g, dims: part(g, *dims))
op("collected(input, dim)", native="collected", input=lambda g, dim: turned(g, dim))
op("too_few(input, dim)", native="too_few", input=lambda g: part(g))
op("unlike(input)", native="unlike", input=lambda g: part(g.t(), 0))
op("either(input, dim)", native="either", input=lambda g, dim: part(g, dim) if dim else g)
"""


def test_rules_that_are_calls_of_ops_are_found(load):
    table = load(CALLS, "op, part, spread, turned")
    found = {item.name: calls.calls_of(table, item) for item in table.unique("op")}
    assert {name: found.pop(name) for name in ("part", "spread", "turned")} == {
        "part": {"input": ("spread", ["g", "input_meta.shape", "dim", ""])},
        "spread": {"input": ("part", ["g", "dim", "step"])},
        "turned": {"input": ("turned", ["g", "dims"])},
    }
    assert not any(found.values()), found
    assert '{"part", glue_part, nullptr, "input=spread(g,input_meta.shape,dim,);", ' in generated(table)["glue.cpp"]


def test_a_rule_that_is_a_call_of_an_op_runs_without_python():
    def rules_called(run):
        called = []
        sys.setprofile(lambda frame, event, _: event == "call" and called.append(frame.f_code))
        try:
            run()
        finally:
            sys.setprofile(None)
        return [code for code in called if code.co_filename.endswith("ops/views.py")]

    x = adjoint.rand(4, requires_grad=True)
    permuted, part = x.view(2, 2).permute(1, 0).sum(), x[1:].sum()
    assert rules_called(permuted.backward)  # its rule computes an order
    assert not rules_called(part.backward)
    x.grad = None
    x[1:3].mul(x[:2]).sum().backward()
    assert x.grad.tolist() == [x[1], x[0] + x[2], x[1], 0]
