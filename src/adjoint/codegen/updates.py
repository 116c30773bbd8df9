"""Update rules of optimizers in C++: for each choice of its flags, a rule becomes one loop over all of its arrays.

What depends on numbers alone is computed once, in double precision as Python would, by a function that precedes the
loop: powers of betas, step sizes, and the new values of 0-d states, which compute in their own type.
"""

import itertools

from . import BANNER
from .cpp import Cpp
from .expressions import TraceError, Value, lift, topological
from .primitives import PRIMITIVES

MAX_ARRAYS = 8  # kMaxUpdateArrays in csrc/cpu/update.h
MAX_NUMBERS = 16  # kMaxUpdateNumbers


class Update:
    """A rule traced for one choice of flags. `place` tells for each value what it depends on: array, kept or number."""

    def __init__(self, rule, flags, results):
        self.name = rule.kernel(flags)
        self.function = self.name.replace(".", "_")
        self.rule = rule
        targets = (*rule.kept, *(name for name in rule.arrays if name != "grad"))
        if not isinstance(results, tuple) or len(results) != len(targets):
            raise TraceError(f"{self.name}: the rule returns {results}; expected a tuple of {', '.join(targets)}")
        self.results = {name: lift(value) for name, value in zip(targets, results, strict=True)}
        changed = [value for name, value in self.results.items() if value is not leaf(rule, name)]
        self.order = topological(changed)
        used = {value.payload for value in self.order if value.kind == "input"}
        self.arrays = [name for name in rule.arrays if name in used or name in ("param", "grad")]
        self.place = {}
        for value in self.order:
            self.place[id(value)] = self._place(value)
        for name in rule.kept:
            if self.place.get(id(self.results[name])) == "array":
                raise TraceError(f"{self.name}: the 0-d state {name!r} cannot depend on the elements of an array")
        if len(self.arrays) > MAX_ARRAYS or max(len(rule.numbers), len(self.uniforms())) > MAX_NUMBERS:
            raise TraceError(f"{self.name}: more arrays or numbers than csrc/cpu/update.h has room for")

    def _place(self, value):
        if value.kind == "input":
            return "array"
        if not value.args:
            return "kept" if value.kind == "kept" else "number"
        if value.kind == "item":
            return "number"
        places = {self.place[id(a)] for a in value.args}
        return next(place for place in ("array", "kept", "number") if place in places)

    def uniforms(self):
        """Values that do not depend on arrays, and that what does depend on arrays uses."""
        users = [value for value in self.order if self.place[id(value)] == "array"]
        found = {id(a): a for value in users for a in value.args if a.kind != "const" and self.place[id(a)] != "array"}
        return list(found.values())


def leaf(rule, name):
    """The symbol for a parameter of a rule."""
    kind = "kept" if name in rule.kept else "input" if name in rule.arrays else "param"
    return Value(kind, (), name)


def trace_rule(table, rule):
    """The rule for every choice of its flags."""
    for choice in itertools.product((False, True), repeat=len(rule.flags)):
        flags = dict(zip(rule.flags, choice, strict=True))
        keywords = {name: leaf(rule, name) for name in (*rule.numbers, *(["first"] if rule.wants_first else []))}
        table.tracing.append(rule)
        try:
            results = rule.function(*(leaf(rule, name) for name in (*rule.kept, *rule.arrays)), **keywords, **flags)
        except (TraceError, TypeError, AttributeError, NameError, ArithmeticError) as error:
            raise TraceError(f"{rule.name}: the rule cannot be traced with {flags}: {error}") from None
        finally:
            table.tracing.pop()
        yield Update(rule, flags, results)


def prepare_lines(update, function):
    """The function, under a name, that computes ahead of the loop what does not depend on arrays."""
    rule, names, cpp = update.rule, {}, Cpp()
    lines = [
        "template <class S>",
        f"void {function}([[maybe_unused]] double* kept, [[maybe_unused]] bool first,",
        "    [[maybe_unused]] const double* numbers, [[maybe_unused]] double* uniforms) {",
        "  using T = double;",
    ]
    for value in update.order:
        place = update.place[id(value)]
        if place == "array":
            continue
        if value.kind == "const":
            names[id(value)] = cpp.constant(value.payload)
            continue
        name = names[id(value)] = f"n{len(names)}"
        if value.kind == "kept":
            text = f"S(kept[{rule.kept.index(value.payload)}])"
        elif value.kind == "param":
            text = "first" if value.payload == "first" else f"numbers[{rule.numbers.index(value.payload)}]"
        elif value.kind == "item":
            text = f"T({names[id(value.args[0])]})"
        else:
            args = [f"S({names[id(a)]})" if place == "kept" else names[id(a)] for a in value.args]
            text = cpp.call(value.kind, args)
        lines.append(f"  const auto {name} = {text};")
    for i, value in enumerate(update.uniforms()):
        lines.append(f"  uniforms[{i}] = {names[id(value)]};")
    for i, name in enumerate(rule.kept):
        value = update.results[name]
        if value is not leaf(rule, name):
            # Computed in double, it is rounded when it is written.
            lines.append(f"  kept[{i}] = {names[id(value)]};")
    return [*lines, "}"]


def is_condition(value):
    """Whether a number is one of two: whether something holds."""
    return value.payload == "first" or (value.kind in PRIMITIVES and PRIMITIVES[value.kind].result == "bool")


def _loop(update):
    """The loop over the elements."""
    names, cpp = {}, Cpp()
    lines = [
        "template <class T>",
        f"void loop_{update.function}(char* const* arrays, int64_t n, [[maybe_unused]] const double* uniforms) {{",
    ]
    for i, name in enumerate(update.arrays):
        constant = "const " if name == "grad" else ""
        lines.append(f"  {constant}T* const {name}_array = reinterpret_cast<{constant}T*>(arrays[{i}]);")
    for i, value in enumerate(update.uniforms()):
        names[id(value)] = f"u{i}"
        text = f"uniforms[{i}] != 0" if is_condition(value) else f"T(uniforms[{i}])"
        lines.append(f"  const auto u{i} = {text};")
    lines += ["  ADJOINT_INDEPENDENT", "  for (int64_t i = 0; i < n; ++i) {"]
    for value in update.order:
        if value.kind == "input":
            names[id(value)] = f"{value.payload}_"
            lines.append(f"    const T {value.payload}_ = {value.payload}_array[i];")
        elif value.kind == "const":
            names[id(value)] = cpp.constant(value.payload)
        elif update.place[id(value)] == "array":
            text = cpp.call(value.kind, [names[id(a)] for a in value.args])
            name = names[id(value)] = f"v{len(names)}"
            lines.append(f"    const auto {name} = {text};")
    for name in update.arrays:
        if name != "grad" and update.results[name] is not leaf(update.rule, name):
            lines.append(f"    {name}_array[i] = {names[id(update.results[name])]};")
    return [*lines, "  }", "}"]


def update_file(updates):
    """One C++ file with the loops of all updates, and the function that registers them."""
    lines = [f"// {BANNER}", '#include "cpu/loops.h"', '#include "cpu/update.h"', ""]
    lines += ["namespace adjoint {", "namespace {"]
    entries = []
    for update in updates:
        name, rule = update.function, update.rule
        lines += ["", *prepare_lines(update, f"prepare_{name}"), "", *_loop(update)]
        for what, words in (("states", (*rule.kept, *update.arrays[2:])), ("numbers", rule.numbers)):
            quoted = "".join(f'"{word}", ' for word in words)
            lines.append(f"constexpr const char* {what}_{name}[] = {{{quoted}nullptr}};")
        counts = f"{len(rule.kept)}, {len(update.arrays)}, {len(rule.numbers)}"
        entries.append(
            f'    {{"{update.name}", states_{name}, numbers_{name}, {counts}, '
            f"{{prepare_{name}<float>, prepare_{name}<double>}}, {{loop_{name}<float>, loop_{name}<double>}}}},"
        )
    lines += ["", "}  // namespace", "", "template <Isa>", "void register_updates() {"]
    lines += ["  static constexpr Update entries[] = {", *entries, "  };"]
    lines += ["  for (const Update& entry : entries) register_update(&entry);", "}"]
    lines += ["template void register_updates<kIsa>();", "", "}  // namespace adjoint", ""]
    return "\n".join(lines)
