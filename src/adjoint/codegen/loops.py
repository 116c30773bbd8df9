"""The generated files of elementwise loops, and the function that registers all loops."""

import zlib

from . import BANNER
from .cpp import DTYPES, RESULT_TYPES, in_blocks, spelling_of
from .expressions import leaves

SHARDS = 4  # files over which the kernels are spread
REAL = ("float",)
OTHER = tuple(family for family in DTYPES if family != "float")
RESULT_KINDS = {"same": "Same", "bool": "Bool", "real": "Real"}


def shard_of(kernel):
    """The number of a kernel's file: by the op's name, so that a change of one op recompiles one shard."""
    return zlib.crc32(kernel.item.name.encode()) % SHARDS


def _loop(kernel):
    """The loop of one kernel, over elements of any type T."""
    item, used = kernel.item, set(leaves(kernel.value, "input"))
    params = leaves(kernel.value, "param")
    statements, result = spelling_of(kernel.value).statements(kernel.value)
    stored, out = (RESULT_TYPES[kernel.result].format(name) for name in ("Stored", "T"))
    arrays = {name: i + 1 for i, name in enumerate(kernel.inputs) if name in used}
    places = "".join(f", {place}" for place in arrays.values())
    lines = [
        "template <class T, class Stored = T>",
        f"void {kernel.function}(char* const* arrays, int64_t n, [[maybe_unused]] const Scalar* params) {{",
    ]
    for i, name in enumerate(item.params):
        if name in params:
            lines.append(f"  const T {name}_ = fn::param<T>(params[{i}]);")
    pointers = "".join(f", const Stored* {name}_array" for name in arrays)
    lines += [
        f"  fn::each_element<{in_blocks(kernel.value)}, fn::Real<T>, {stored}, Stored{places}>(",
        f"      arrays, n, [=]({stored}* result{pointers}, int64_t i) __attribute__((always_inline)) {{",
        *(f"        const T {name}_ = fn::load<T>({name}_array, i);" for name in arrays),
        *(f"        const auto {name} = {text};" for name, text in statements),
        f"        fn::store(result, i, fn::cast<{out}>({result}));",
        "      });",
        "}",
    ]
    return lines


def loop_file(file, kernels, families):
    """One C++ file with the loops of `kernels` for these type families, and the function that registers them."""
    loops, entries = [], []
    for kernel in kernels:
        mine = [family for family in families if family in kernel.families()]
        if not mine:
            continue
        loops += ["", *_loop(kernel)]
        head = f'"{kernel.name}", ResultKind::{RESULT_KINDS[kernel.result]}, {len(kernel.inputs)}, '
        head += f"{len(kernel.item.params)}"
        for family in mine:
            for dtype, cpp_type in DTYPES[family]:
                entries.append(f"    {{{head}, DType::{dtype}, {kernel.function}<{cpp_type}>}},")
    lines = [
        f"// {BANNER}",
        '#include "cpu/loops.h"',
        "",
        "namespace adjoint {",
        "namespace {",
        *loops,
        "",
        "}  // namespace",
        "",
        "template <Isa>",
        f"void register_loops_{file}() {{",
    ]
    if entries:
        lines += [
            "  static constexpr LoopEntry entries[] = {",
            *entries,
            "  };",
            "  for (const LoopEntry& entry : entries) entry.add();",
        ]
    lines += ["}", f"template void register_loops_{file}<kIsa>();", "", "}  // namespace adjoint", ""]
    return "\n".join(lines)


def registration_file():
    """The function that registers every loop, as compiled for the chosen instruction set."""
    names = [f"register_loops_{family}_{shard}" for family in ("real", "other") for shard in range(SHARDS)]
    names.append("register_updates")
    lines = [f"// {BANNER}", '#include "cpu/isa.h"', "", "namespace adjoint {", ""]
    for name in names:
        lines += ["template <Isa>", f"void {name}();"]
    lines += [
        "",
        "void register_all_loops() {",
        "  with_chosen_isa([]<Isa isa>() {",
        *(f"    {name}<isa>();" for name in names),
        "  });",
        "}",
    ]
    return "\n".join([*lines, "", "}  // namespace adjoint", ""])
