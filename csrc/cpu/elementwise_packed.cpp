// Elementwise kernels over few contiguous elements, straight into the loop.
#include <algorithm>

#include "cpu/elementwise.h"
#include "cpu/indexing.h"
#include "kernels/operand.h"

namespace adjoint::cpu {
namespace {

/// Writes a number n times.
void repeat_number(const Scalar& number, DType dtype, int64_t n, char* place) {
  if (dtype == DType::Float32) {
    std::fill_n(reinterpret_cast<float*>(place), n, number.to<float>());
    return;
  }
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(reinterpret_cast<T*>(place), n, number.to<T>());
  });
}

}  // namespace

void elementwise_packed(const Kernel& kernel, DType compute, const Tensor& out, const Operand* operands, int n,
                        const Scalar* params) {
  const int64_t numel = out.numel();
  char* arrays[kernels::kMaxInputs + 1];
  alignas(16) char places[kernels::kMaxNumbers][kernels::kMaxSpread * 16];
  int filled = 0;
  arrays[0] = out.data;
  for (int i = 0; i < n; ++i) {
    arrays[i + 1] = operands[i].data;
    if (!operands[i].is_number()) continue;
    arrays[i + 1] = places[filled++];
    repeat_number(operands[i].number, compute, numel, arrays[i + 1]);
  }
  kernel.loops[static_cast<int>(compute)](arrays, numel, params);
}

void add_all(const View& out, std::span<const View> others) {
  static const Kernel* add = find_kernel("add");
  const Scalar one = Scalar::of(int64_t{1});
  for (const View& other : others) {
    const View inputs[] = {out, other};
    elementwise(*add, out.dtype, out, inputs, &one);
  }
}

void refuse_zeros(const View& in, const char* words) {
  if (count_nonzero(in) != in.numel()) fail(words);
}

}  // namespace adjoint::cpu
