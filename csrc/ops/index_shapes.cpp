#include "ops/index_shapes.h"

#include <algorithm>

namespace adjoint::ops {
namespace {

Sizes at_least_1d(Sizes sizes) {
  static constexpr int64_t one[] = {1};
  return sizes.empty() ? Sizes(one) : sizes;
}

}  // namespace

void check_gather(Sizes input, int dim, Sizes index) {
  input = at_least_1d(input);
  index = at_least_1d(index);
  if (index.size() != input.size())
    fail("Index tensor must have the same number of dimensions as input tensor (gather: index is ", to_string(index),
         ", input is ", to_string(input), ")");
  if (std::ranges::find(index, 0) != index.end()) return;
  for (size_t d = 0; d < input.size(); ++d)
    if (d != static_cast<size_t>(dim) && index[d] > input[d])
      fail("Size does not match at dimension ", d, " expected index ", to_string(index), " to be no larger than self ",
           to_string(input), " apart from dimension ", dim);
}

void check_scatter(const char* op, Sizes target, int dim, Sizes index, const Sizes* src) {
  target = at_least_1d(target);
  index = at_least_1d(index);
  const Sizes from = src ? at_least_1d(*src) : index;
  if (index.size() != target.size() || from.size() != target.size())
    fail("Index tensor must have the same number of dimensions as ", index.size() != target.size() ? "self" : "src",
         " tensor (", op, ": index is ", to_string(index), ", self is ", to_string(target), ")");
  if (std::ranges::find(index, 0) != index.end()) return;
  for (size_t d = 0; d < target.size(); ++d) {
    const bool beyond_target = d != static_cast<size_t>(dim) && index[d] > target[d];
    if (!beyond_target && index[d] <= from[d]) continue;
    if (!src)
      fail("Expected index ", to_string(index), " to be no larger than self ", to_string(target),
           " apart from dimension ", dim);
    fail("Expected index ", to_string(index), " to be no larger than self ", to_string(target),
         " apart from dimension ", dim, " and to be no larger size than src ", to_string(*src));
  }
}

void check_slice_index(const char* op, Sizes index) {
  if (index.size() > 1)
    fail(ErrorKind::Index, op, "(): Index is supposed to be a vector; got shape ", to_string(index),
         "; flatten it first");
}

void check_slices(const char* op, ErrorKind kind, Sizes target, int dim, Sizes index, Sizes source) {
  check_slice_index(op, index);
  target = at_least_1d(target);
  index = at_least_1d(index);
  source = at_least_1d(source);
  bool fits = target.size() == source.size();
  for (size_t d = 0; d < target.size() && fits; ++d) fits = d == static_cast<size_t>(dim) || target[d] == source[d];
  if (!fits)
    fail(kind, "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
         to_string(target), " source.shape = ", to_string(source), " (", op, ")");
  if (source[dim] != index[0])
    fail(kind, op, "_(): Number of indices (", index[0], ") should be equal to source.size(dim): (", source[dim],
         "), for dim: ", dim);
}

}  // namespace adjoint::ops
