"""The generated files of elementwise loops, and the function that registers all loops of an instruction set."""

import zlib

from . import BANNER
from .cpp import DTYPES, RESULT_TYPES, Cpp, in_blocks
from .expressions import leaves

SHARDS = 4  # files over which the kernels are spread
REAL = ("float",)
OTHER = tuple(family for family in DTYPES if family != "float")
VARIANTS = ("avx2", "avx512")  # beside the baseline, on x86
RESULT_KINDS = {"same": "Same", "bool": "Bool", "real": "Real"}


def shard_of(kernel):
    """The number of a kernel's file: by the op's name, so that a change of one op recompiles one shard."""
    return zlib.crc32(kernel.item.name.encode()) % SHARDS


def _loop(kernel):
    """The loop of one kernel, over elements of any type T."""
    item, used = kernel.item, set(leaves(kernel.value, "input"))
    params = leaves(kernel.value, "param")
    statements, result = Cpp().statements(kernel.value)
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
                entries.append(f"    {{{head}, DType::{dtype}, cpu::ADJOINT_ISA::{kernel.function}<{cpp_type}>}},")
    lines = [
        f"// {BANNER}",
        '#include "cpu/loops.h"',
        "",
        "namespace adjoint {",
        "namespace cpu::ADJOINT_ISA {",
        "namespace {",
        *loops,
        "",
        "}  // namespace",
        "}  // namespace cpu::ADJOINT_ISA",
        "",
        f"void ADJOINT_ISA_NAME(register_loops_{file}_)() {{",
    ]
    if entries:
        lines += [
            "  static constexpr LoopEntry entries[] = {",
            *entries,
            "  };",
            "  for (const LoopEntry& entry : entries) entry.add();",
        ]
    return "\n".join([*lines, "}", "", "}  // namespace adjoint", ""])


def registration_file():
    """The function that registers every loop of one instruction set."""
    names = [f"register_loops_{family}_{shard}" for family in ("real", "other") for shard in range(SHARDS)]
    names.append("register_updates")
    lines = [f"// {BANNER}", "#include <cstring>", "", "namespace adjoint {", ""]
    lines += [f"void {name}_baseline();" for name in names]
    lines += ["#ifdef ADJOINT_X86_DISPATCH"]
    lines += [f"void {name}_{isa}();" for isa in VARIANTS for name in names]
    lines += ["#endif", "", "void register_all_loops([[maybe_unused]] const char* isa) {"]
    lines += ["#ifdef ADJOINT_X86_DISPATCH"]
    for isa in VARIANTS:
        lines += [
            f'  if (!std::strcmp(isa, "{isa}")) {{',
            *(f"    {name}_{isa}();" for name in names),
            "    return;",
            "  }",
        ]
    lines += ["#endif", *(f"  {name}_baseline();" for name in names), "}", "", "}  // namespace adjoint", ""]
    return "\n".join(lines)
