"""The generated file glue.cpp: Python arguments into the C++ functions of the ops that are not elementwise."""

from . import BANNER
from .calls import calls_of


def glue_file(table):
    """Functions that call each op's C++ functions with its Python arguments, and their table, keyed by op name."""
    lines = [f"// {BANNER}", '#include "op/glue.h"', "", "namespace adjoint {"]
    entries = []
    for item in table.unique("op", "view"):
        run = change = "nullptr"
        functions = []
        # Functions that make tensors say where a wrong argument stood; methods do not count the tensor they are of.
        places = f"<Places{{{item.positional}, {int(not item.function)}}}>" if item.creates else ""
        if item.native is not None or item.composed is not None:
            run = f"glue_{item.name}"
            function = f"ops::{item.native}" if item.composed is None else f"composed::{item.composed}"
            call = f'return wrap(call_native{places}({function}, "{item.shown}", names, slots));'
            lines += _function(f"Object {run}", item, call)
            functions.append(function)
        if item.inplace_native is not None:
            change = f"change_{item.name}"
            function = f"ops::{item.inplace_native}"
            call = f'change_native<{item.positional}>({function}, "{item.shown}_", names, slots);'
            lines += _function(f"void {change}", item, call)
            functions.append(function)
        if (run, change) != ("nullptr", "nullptr"):
            rules = calls_of(table, item).items()
            calls = "".join(f"{argument}={op}({','.join(sources)});" for argument, (op, sources) in rules)
            calls = f'"{calls}"' if calls else "nullptr"
            memory = " | ".join(f"memory_slots({function})" for function in functions)
            entries.append(f'    {{"{item.name}", {run}, {change}, {calls}, {memory}}},')
    lines += [
        "",
        "extern const GlueEntry kGlue[];",
        "const GlueEntry kGlue[] = {",
        *entries,
        "    {nullptr, nullptr, nullptr, nullptr, 0},",
        "};",
    ]
    return "\n".join([*lines, "", "}  // namespace adjoint", ""])


def _function(declared, item, call):
    names = ", ".join(f'"{name}"' for name in item.arguments)
    return [
        "",
        f"static {declared}(PyObject* const* slots) {{",
        f"  static constexpr const char* names[] = {{{names}}};",
        f"  {call}",
        "}",
    ]
