"""The generated file of device code: texts that the run-time compiler gets, and the names of all kernels.

An elementwise kernel is a function of one element, `body`; what loads and stores elements is csrc/cuda/device.
"""

import re

from . import BANNER
from .cpp import Cpp
from .cuda_updates import update_text
from .expressions import leaves, primitives_of

# What device code includes by these names: files of csrc, some of them in the place of others.
STANDARD = "algorithm array bit cmath complex cstddef cstdint cstring limits type_traits utility"
HEADERS = {
    "core/dtype.h": "cuda/device/dtype.h",
    "core/legendre.h": "core/legendre.h",
    "core/scalar.h": "core/scalar.h",
    "cpu/attention_drops.h": "cpu/attention_drops.h",
    "cpu/float_exp.h": "cpu/float_exp.h",
    "cpu/isa.h": "cuda/device/isa.h",
    "cpu/math.h": "cpu/math.h",
    "cpu/math_types.h": "cpu/math_types.h",
    "cpu/slopes.h": "cpu/slopes.h",
    "cpu/special.h": "cpu/special.h",
    "cpu/special_airy.cpp": "cpu/special_airy.cpp",
    "cpu/special_gamma.cpp": "cpu/special_gamma.cpp",
    "cpu/special_inline.h": "cpu/special_inline.h",
    "cpu/special_polynomials.cpp": "cpu/special_polynomials.cpp",
    "cpu/special_series.h": "cpu/special_series.h",
    "cpu/special_tables.h": "cpu/special_tables.h",
    "cpu/vector_math.h": "cuda/device/vector_math.h",
}
# Files with primitives that are too long to stand in math.h.
_LONG = {
    "special_airy": "airy_ai",
    "special_gamma": "zeta igamma igammac polygamma",
    "special_polynomials": "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
    "chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p",
}
_SPECIAL = {name: file for file, names in _LONG.items() for name in names.split()}


def body_of(kernel):
    """The computation of one element, for elements of any type T."""
    used, params = set(leaves(kernel.value, "input")), leaves(kernel.value, "param")
    statements, result = Cpp().statements(kernel.value)
    inputs = "".join(f", T {name}_" if name in used else ", T" for name in kernel.inputs)
    lines = ["template <class T>", f"inline auto body([[maybe_unused]] const Scalar* params{inputs}) {{"]
    for i, name in enumerate(kernel.item.params):
        if name in params:
            lines.append(f"  const T {name}_ = fn::param<T>(params[{i}]);")
    lines += [f"  const auto {name} = {text};" for name, text in statements]
    return "\n".join([*lines, f"  return {result};", "}", ""])


def files_for(kernel):
    """Files of primitives that a kernel needs beside math.h."""
    return sorted({_SPECIAL[p.name] for p in primitives_of(kernel.value) if p.name in _SPECIAL})


def kernel_names(folder):
    """The names of all kernels of csrc/kernels, "reduce.sum", in the order of the table in backend.h."""
    structs = {}
    for path in sorted(folder.glob("*.h")):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        for name, inside in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL):
            structs[name] = re.findall(r"\(\*(\w+)\)\(|^  \w+\* (\w+);", inside, re.MULTILINE)
    families = re.findall(r"^  kernels::(\w+) (\w+);", (folder / "backend.h").read_text(), re.MULTILINE)
    return [f"{family}.{a or b}" for struct, family in families for a, b in structs[struct]]


def cuda_file(kernels, updates, csrc):
    """The C++ file that keeps all of these texts; `csrc` is the folder of the sources."""
    headers = dict.fromkeys(STANDARD.split(), '#include "std.h"\n')
    headers |= {name: (csrc / path).read_text() for name, path in HEADERS.items()}
    own = sorted(
        path for path in (csrc / "cuda" / "device").glob("*.h") if f"cuda/device/{path.name}" not in HEADERS.values()
    )
    headers |= {path.name: path.read_text() for path in own}
    bodies = {}
    for kernel in kernels:
        long = "".join(f'}}\n#include "cpu/{file}.cpp"\nnamespace adjoint::cuda {{\n' for file in files_for(kernel))
        bodies[kernel.name] = long + body_of(kernel)
    names = kernel_names(csrc / "kernels")
    lines = [
        f"// {BANNER}",
        '#include "cuda/compiler.h"',
        "",
        "namespace adjoint::cuda {",
        "",
        "const DeviceSource device_headers[] = {",
        *(f'    {{"{name}", {_literal(text)}}},' for name, text in headers.items()),
        "    {nullptr, nullptr},",
        "};",
        "",
        "const DeviceSource device_bodies[] = {",
        *(f'    {{"{name}", {_literal(text)}}},' for name, text in bodies.items()),
        "    {nullptr, nullptr},",
        "};",
        "",
        "const DeviceSource device_updates[] = {",
        *(f'    {{"{update.name}", {_literal(update_text(update))}}},' for update in updates),
        "    {nullptr, nullptr},",
        "};",
        "",
        "extern const char* const all_kernel_names[];",
        "const char* const all_kernel_names[] = {",
        *(f'    "{name}",' for name in names),
        "};",
        "",
        "}  // namespace adjoint::cuda",
        "",
    ]
    return "\n".join(lines)


def _literal(text):
    return f'R"adjoint({text})adjoint"'
