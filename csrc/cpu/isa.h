// Instruction sets: loops that gain from wide vectors are compiled for each of them, and one is chosen at run time.
//
// Note [Instruction sets]. CMake compiles every file named *_isa.cpp, and the generated loops, once for the baseline
// and, on x86, once more for AVX2 and for AVX-512; ADJOINT_ISA is the name of the one that a file is compiled for. Such
// a file keeps its loops in an anonymous namespace and hands them out in a table of functions: a struct of its header,
// whose `compiled<kIsa>()` it defines. The rest of the program, which is compiled for the baseline alone, calls
// `chosen<Table>.loop(...)`.
//
// The linker keeps one copy of an inline function or template that several files have, and that must not be one made
// for a processor that this machine is not. A function in a header that *_isa.cpp files share is therefore inlined
// always, or lies in an `inline namespace ADJOINT_ISA`. tools/check_isa.py finds others.
#pragma once

#ifndef ADJOINT_ISA
#define ADJOINT_ISA baseline
#endif

namespace adjoint {

enum class Isa { baseline, avx2, avx512 };

/// The instruction set that this file is compiled for.
constexpr Isa kIsa = Isa::ADJOINT_ISA;

/// The best that this machine has, unless the environment variable ADJOINT_ISA names a lower one.
Isa chosen_isa();
/// "avx512", "avx2" or "baseline".
const char* isa_name(Isa isa);

/// f.operator()<isa>() for the chosen instruction set.
template <class F>
auto with_chosen_isa(F f) {
#ifdef ADJOINT_X86_DISPATCH
  if (chosen_isa() == Isa::avx512) return f.template operator()<Isa::avx512>();
  if (chosen_isa() == Isa::avx2) return f.template operator()<Isa::avx2>();
#endif
  return f.template operator()<Isa::baseline>();
}

/// The loops of a table, as compiled for the chosen instruction set.
template <class Table>
inline const Table chosen = with_chosen_isa([]<Isa isa>() { return Table::template compiled<isa>(); });

}  // namespace adjoint
