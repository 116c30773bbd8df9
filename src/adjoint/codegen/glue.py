"""The generated file glue.cpp: Python arguments into the C++ functions of the ops that are not elementwise."""

from . import BANNER


def glue_file(items):
    """Functions that call each op's C++ function with its Python arguments, and their table, keyed by op name."""
    lines = [f"// {BANNER}", '#include "op/glue.h"', "", "namespace adjoint {"]
    entries = []
    for item in items:
        if item.native is None:
            continue
        names = ", ".join(f'"{name}"' for name in item.arguments)
        lines += [
            "",
            f"static Object glue_{item.name}(PyObject* const* slots) {{",
            f"  static constexpr const char* names[] = {{{names}}};",
            f'  return call_native(ops::{item.native}, "{item.shown}", names, slots);',
            "}",
        ]
        entries.append(f'    {{"{item.name}", glue_{item.name}}},')
    lines += [
        "",
        "extern const GlueEntry kGlue[];",
        "const GlueEntry kGlue[] = {",
        *entries,
        "    {nullptr, nullptr},",
        "};",
    ]
    return "\n".join([*lines, "", "}  // namespace adjoint", ""])
