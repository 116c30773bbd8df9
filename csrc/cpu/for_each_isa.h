// Includes the file that ADJOINT_ISA_FILE names once for each instruction set. ADJOINT_ISA is then the namespace,
// ADJOINT_TARGET the attribute of its functions, ADJOINT_VECTOR_BYTES the width of a vector. No include guard.
//
// Products and sums may be fused there, whatever the rest of the project is compiled with: BLAS fuses them as well, and
// what is fused is rounded once.
#define ADJOINT_FUSED optimize("fp-contract=fast")

#define ADJOINT_ISA portable
#define ADJOINT_TARGET
#define ADJOINT_VECTOR_BYTES 16
#include ADJOINT_ISA_FILE
#undef ADJOINT_ISA
#undef ADJOINT_TARGET
#undef ADJOINT_VECTOR_BYTES

#if defined(__x86_64__)
#define ADJOINT_ISA avx2
#define ADJOINT_TARGET __attribute__((target("avx2,fma"), ADJOINT_FUSED))
#define ADJOINT_VECTOR_BYTES 32
#include ADJOINT_ISA_FILE
#undef ADJOINT_ISA
#undef ADJOINT_TARGET
#undef ADJOINT_VECTOR_BYTES

#define ADJOINT_ISA avx512
#define ADJOINT_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"), ADJOINT_FUSED))
#define ADJOINT_VECTOR_BYTES 64
#include ADJOINT_ISA_FILE
#undef ADJOINT_ISA
#undef ADJOINT_TARGET
#undef ADJOINT_VECTOR_BYTES
#endif

#undef ADJOINT_FUSED
#undef ADJOINT_ISA_FILE
