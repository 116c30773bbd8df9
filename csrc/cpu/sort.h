// The CPU's sorting and selection; kernels/sort.h says what each function does.
#pragma once

#include "kernels/sort.h"

namespace adjoint::cpu {

void sort(const View& in, const View& values, const View& indices, int dim, bool descending);
void topk(const View& in, const View& values, const View& indices, int64_t k, int dim, bool largest);
void kthvalue(const View& in, const View& values, const View& indices, int64_t k, int dim);
void median(const View& in, const View& values, const View& indices, int dim, bool ignore_nan);
void mode(const View& in, const View& values, const View& indices, int dim);

}  // namespace adjoint::cpu
