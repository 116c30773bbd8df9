"""The rooms of csrc, read as text: which may know which, what csrc/ops may not touch, and that no op is known by name.

Each check takes the path and the text of a file and gives the lines that break a rule, so that the tests at the end can
plant some. Files that do not hold yet are listed in KNOWN; one that holds again must leave the list.
"""

import re
from pathlib import Path

import pytest

from adjoint.ops.language import COMPOSITES, TABLE

ROOT = Path(__file__).resolve().parent.parent

# room -> the rooms whose headers it may include, beside its own. What lies in no room joins them all.
ROOMS = {
    "core": (),
    "types": ("core",),
    "kernels": ("core",),
    "cpu": ("core", "kernels"),
    "meta": ("core", "kernels"),
    "batched": ("core", "kernels"),
    "sparse": ("core", "kernels"),
    "cuda": ("core", "kernels", "cuda/device"),
    "cuda/device": ("core", "cpu"),  # texts for the run-time compiler, which is given files of the CPU's, too
    "ops": ("core", "kernels"),
    "op": ("core", "types", "kernels", "ops", "tape"),
    "tape": ("core", "types", "kernels", "ops", "op"),
    "transforms": ("core", "types", "kernels", "ops", "op", "tape"),
    "python": ("core", "types", "kernels", "cpu", "cuda", "meta", "ops", "op", "tape", "transforms"),
    "": ("core", "types", "kernels", "cpu", "cuda", "meta", "batched", "sparse", "ops", "op", "tape"),
}
MADE = {"ops_headers.h": "ops"}  # by the build

KNOWN = {
    "includes": set(),
    "touches": set(),
    "compares": set(),
    "defined_elsewhere": set(),
}


def sources():
    """Path below csrc -> text without comments, of every file."""
    paths = (path for path in (ROOT / "csrc").rglob("*") if path.suffix in (".h", ".cpp", ".c", ".inc"))
    return {path.relative_to(ROOT / "csrc").as_posix(): without_comments(path.read_text()) for path in paths}


def without_comments(text):
    """The text with as many lines and no comments; // within a string stays."""
    quoted_or_comment = r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/'

    def kept(match):
        return match[0] if match[0].startswith('"') else "\n" * match[0].count("\n")

    return re.sub(quoted_or_comment, kept, text, flags=re.DOTALL)


def room_of(path):
    return next(
        (room for room in ("cuda/device",) if path.startswith(f"{room}/")), path.rpartition("/")[0].partition("/")[0]
    )


def matches(text, pattern):
    """'12: the text' of every place where the pattern is found."""
    for match in re.finditer(pattern, text, re.MULTILINE):
        yield f"{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}"


# ---- The checks


def includes(path, text):
    """Headers of rooms that this one must not know."""
    allowed = {room_of(path), *ROOMS[room_of(path)]}
    for header in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
        room = MADE.get(header, room_of(header))
        if room and room in ROOMS and room not in allowed:
            yield f"includes {header}"


def touches(path, text):
    """What csrc/ops must not touch: memory, Python and the tape."""
    if room_of(path) != "ops":
        return
    yield from matches(text, r"(?:->|\.)(?:data\b(?!\s*\()|as<)")
    yield from matches(text, r"\bPython\.h\b|\bPy(?:Object|_?[A-Z]\w*)\b")
    yield from matches(text, r"\b(?:Node|NodePtr|NodeKind|grad_fn|requires_grad|set_history|rebase_history)\b")


# A name of an op in quotes may be a value of an argument (reduce="sum"), a keyword of a call (index=1), a device or a
# word of an option (kind="view").
OPS = {*TABLE, *COMPOSITES, *(f"{name}_" for name in (*TABLE, *COMPOSITES))}
ARGUMENTS = {argument for item in TABLE.values() for argument in item.arguments}
OTHERS = {"device", "family", "key", "kind", "kwnames", "promote", "spelled", "word"}
LITERAL = r'(?:std::string_view\()?"(\w+)"\)?'
COMPARED = (
    rf"(?P<what>\w+)(?:\(\)|_)?\)*\s*[=!]=\s*{LITERAL}",
    rf"{LITERAL}\s*[=!]=\s*(?P<what>[a-z_]\w*)",
    rf"(?P<what>\w+)(?:\(\))?\)*\.(?:starts_with|ends_with|compare|find|contains)\({LITERAL}",
    rf"(?:strcmp|strncmp|strstr|CompareWithASCIIString)\((?P<what>\w+)[^\"\n;]*{LITERAL}",
)


def compares(path, text):
    """Names of ops that something is compared with, or looked up among."""
    for pattern in COMPARED:
        for match in re.finditer(pattern, text):
            name = next(group for group in match.groups() if group and group != match["what"])
            if name in OPS and match["what"] not in ARGUMENTS | OTHERS:
                yield f"compares {match[0]}"
    for match in re.finditer(r"(?:string_view|char\s*\*(?:\s*const)?)\s+(\w+)\[\]\s*=\s*\{(.*?)\}", text, re.DOTALL):
        names = re.findall(r'"(\w+)"', match[2])
        if len(OPS.intersection(names)) > len(names) / 2:
            yield f"lists {match[1]} = {names}"
    for words in re.findall(r'"([\w ]+)"', text):
        if len(words.split()) > 2 and OPS.issuperset(words.split()):
            yield f"lists {words!r}"


# At the beginning of a line: within a namespace, and not within a class or a function.
FUNCTION = r"^(?:\[\[[^\]]*\]\]\s*)?{words}[A-Za-z_][\w:<>,&*\[\] ]*?[\s&*](?:\w+::)*(\w+)\([^;{{}}]*\)(?: const)?{end}"
PLAIN = r"(?!inline|template|static|constexpr|using|class|struct|extern|typedef|enum|namespace|return|friend)"
DECLARED = re.compile(FUNCTION.format(words=PLAIN, end=";"), re.MULTILINE)
DEFINED = re.compile(FUNCTION.format(words="", end=r"\s*(?:\{|:)"), re.MULTILINE)


def defined_elsewhere(path, text, rooms):
    """Functions that a header declares and no file of its room defines; `rooms`: those that define a name."""
    for name in DECLARED.findall(text) if path.endswith(".h") else ():
        if rooms.get(name) and room_of(path) not in rooms[name]:
            yield f"declares {name}, which is defined in {', '.join(sorted(rooms[name]))}"


def rooms_that_define(files):
    rooms = {}
    for path, text in files.items():
        for name in DEFINED.findall(text):
            rooms.setdefault(name, set()).add(room_of(path))
    return rooms


# ---- The sources as they are


@pytest.fixture(scope="module")
def broken():
    """Check -> path -> what is found there."""
    files = sources()
    rooms = rooms_that_define(files)
    found = {
        check.__name__: {path: list(check(path, text)) for path, text in files.items()}
        for check in (includes, touches, compares)
    }
    found["defined_elsewhere"] = {path: list(defined_elsewhere(path, text, rooms)) for path, text in files.items()}
    return {check: {path: lines for path, lines in paths.items() if lines} for check, paths in found.items()}


@pytest.mark.parametrize("check", KNOWN)
def test_rooms_hold(broken, check):
    assert {path: lines for path, lines in broken[check].items() if path not in KNOWN[check]} == {}


@pytest.mark.parametrize("check", KNOWN)
def test_what_is_known_is_still_so(broken, check):
    """A file that holds again leaves the list."""
    assert KNOWN[check] - broken[check].keys() == set()


def test_every_room_is_known():
    assert {room_of(path) for path in sources()} == ROOMS.keys()


# ---- That the checks find what is planted


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("core/shape.cpp", "types/types.h"),
        ("core/shape.cpp", "kernels/backend.h"),
        ("core/tensor.h", "kernels/memory.h"),
        ("types/types.h", "ops/memory.h"),
        ("kernels/matmul.h", "cpu/blas.h"),
        ("cpu/copy.cpp", "meta/backend.h"),
        ("meta/backend.cpp", "cpu/backend.h"),
        ("ops/views.h", "cpu/copy.h"),
        ("ops/views.h", "types/types.h"),
        ("ops/views.h", "tape/node.h"),
        ("op/op.cpp", "python/creation.h"),
        ("op/op.cpp", "cpu/copy.h"),
        ("tape/node.cpp", "python/creation.h"),
        ("kernels/matmul.h", "ops_headers.h"),
        ("devices.cpp", "python/creation.h"),
    ],
)
def test_an_arrow_that_points_the_wrong_way_is_found(path, header):
    assert list(includes(path, f'#include <vector>\n#include "{header}"\n')) == [f"includes {header}"]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("core/tensor.h", "core/shape.h"),
        ("cpu/copy.cpp", "kernels/memory.h"),
        ("cpu/math.h", "cpu/special_tables.h"),
        ("ops/views.cpp", "kernels/backend.h"),
        ("op/glue.h", "ops_headers.h"),
        ("tape/history.cpp", "op/op.h"),
        ("python/module.cpp", "cpu/parallel.h"),
        ("devices.cpp", "cpu/backend.h"),
    ],
)
def test_an_arrow_that_points_the_right_way_is_none(path, header):
    assert list(includes(path, f'#include "{header}"\n')) == []


@pytest.mark.parametrize(
    "line",
    [
        "float* x = tensor->as<float>();",
        "auto* x = view.as<T>();",
        "std::memcpy(out->data, in, n);",
        "char* first = view.data + 3;",
        "#include <Python.h>",
        "void f(PyObject* object);",
        "if (PyTuple_Check(size)) return;",
        "Py_RETURN_NONE;",
        "NodePtr node;",
        "out->grad_fn = nullptr;",
    ],
)
def test_what_ops_must_not_touch_is_found(line):
    assert [found.partition(":")[0] for found in touches("ops/views.cpp", f"\n{line}\n")] == ["2"]
    assert list(touches("cpu/copy.cpp", line)) == []


@pytest.mark.parametrize(
    "line", ["f(sizes.data(), sizes.size());", "database.size();", "as_tensor(x);", "// view.data"]
)
def test_what_ops_may_touch(line):
    assert list(touches("ops/views.cpp", without_comments(line))) == []


@pytest.mark.parametrize(
    "line",
    [
        'if (name == "pow") return;',
        'if (op.name != "copy") return;',
        'std::string shown = name == "overwrite" ? "fill_" : name + "_";',
        'if (options.name == std::string_view("heaviside")) return;',
        'if (std::string_view("add") == op) return;',
        'if (std::string_view(op_) == "index") return;',
        'if (op == "sub" || op == "subtraction") return;',
        'if (op.starts_with("clamp_")) return;',
        'if (std::strcmp(op, "cat") == 0) return;',
        'if (std::strstr(op, "stack")) return;',
        'constexpr std::string_view kByValue[] = {"nonzero", "masked_select",\n "bincount"};',
        'static const char* const functions[] = {"clamp", "sum"};',
        '{" fft ifft rfft ", "expects a complex output"},',
    ],
)
def test_a_name_of_an_op_that_is_compared_is_found(line):
    assert len(list(compares("op/op.cpp", line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        'if (reduce == "sum") return Reduction::Sum;',
        'Op& op = require_op("add");',
        'if (kind == "view") return Op::Kind::View;',
        'if (PyUnicode_CompareWithASCIIString(key, "index") == 0) return;',
        'fail("add: expected a tensor");',
        'fail_not_implemented("cat", dtype);',
        'if (name == "AccumulateGrad") return;',
        'constexpr std::string_view names[] = {"alpha", "beta", "value"};',
    ],
)
def test_names_that_are_no_comparison_with_an_op(line):
    assert list(compares("op/op.cpp", line)) == []


def test_a_function_that_is_defined_in_another_room_is_found():
    header = (
        "[[noreturn]] void refuse(int place);\nTensorPtr sum_to(const Tensor* tensor,\n                 Sizes sizes);\n"
    )
    files = {
        "tape/history.h": header,
        "tape/history.cpp": "void refuse(int place) {\n  f(place);\n}\n",
        "op/recorded.cpp": "TensorPtr sum_to(const Tensor* tensor, Sizes sizes) {\n  return {};\n}\n",
    }
    rooms = rooms_that_define(files)
    assert rooms == {"refuse": {"tape"}, "sum_to": {"op"}}
    assert list(defined_elsewhere("tape/history.h", header, rooms)) == ["declares sum_to, which is defined in op"]
    assert list(defined_elsewhere("op/recorded.h", header.partition("\n")[2], rooms)) == []


def test_comments_are_left_out():
    text = 'a("//"); // b\n/* c\n d */ e\n'
    assert without_comments(text) == 'a("//"); \n\n e\n'
