#include "ops/advice.h"

namespace adjoint::ops::advice {
namespace {

/// The method that converts to a type.
std::string conversion(DType to) {
  switch (to) {
    case DType::Float32: return ".float()";
    case DType::Float64: return ".double()";
    case DType::Float16: return ".half()";
    case DType::Int64: return ".long()";
    default: return std::string(".to(torch.") + info(to).name + ")";
  }
}

std::string number(int64_t value) { return std::to_string(value); }

}  // namespace

std::string one_type(const char* first, DType a, const char* second, DType b) {
  const bool whole = !is_float(a) && !is_complex(a), other_whole = !is_float(b) && !is_complex(b);
  std::string convert_first = std::string("convert ") + first + " with " + conversion(b);
  std::string convert_second = std::string("convert ") + second + " with " + conversion(a);
  if (whole && !other_whole) return "; " + convert_first;
  if (other_whole && !whole) return "; " + convert_second;
  if (a == DType::Float64 && b == DType::Float32) return "; " + convert_first + " (NumPy's floats are float64)";
  if (b == DType::Float64 && a == DType::Float32) return "; " + convert_second + ", or " + convert_first;
  return "; " + convert_first + ", or " + convert_second;
}

std::string fitting_matrices(int64_t rows, int64_t columns, int64_t other_rows, int64_t other_columns) {
  std::string text = "; the first has " + number(columns) + " columns, the second " + number(other_rows) + " rows";
  const bool second = columns == other_columns, first = rows == other_rows, swapped = other_columns == rows;
  if (second) text += ": transpose the second (mat1 @ mat2.T)";
  if (first) text += std::string(second ? " or" : ": transpose") + " the first (mat1.T @ mat2)";
  if (swapped && !first && !second) text += ": swap them (mat2 @ mat1)";
  return text + (first || second || swapped ? "?" : ", which must be as many");
}

std::string fitting_features(int64_t rows, int64_t columns, int64_t features) {
  std::string text =
      "; the weight takes " + number(features) + " features, and the last dimension of the input is " + number(columns);
  if (rows == features) return text + ": transpose the input?";
  if (rows > 1 && rows * columns == features) return text + ": flatten the input?";
  return text;
}

std::string fitting_channels(Sizes input, int64_t wanted) {
  const auto last = input.size() - 1;
  if (last >= 2 && input[last] == wanted) {
    std::string order = "0, " + number(static_cast<int64_t>(last));
    for (size_t d = 1; d < last; ++d) order += ", " + number(static_cast<int64_t>(d));
    return "; channels come before height and width, and here they are last: permute(" + order + ") puts them there";
  }
  if (input[0] == 1 && wanted == 1)
    return "; a batch of images without a dimension of channels gets one by unsqueeze(1)";
  return "; the sizes are [batch, channels, ...]";
}

std::string fitting_dimension(Sizes first, Sizes other, int dim) {
  std::string text = " The first is " + to_string(first) + ", this one " + to_string(other);
  int differing = -1;
  for (size_t d = 0; d < first.size(); ++d) {
    if (first[d] == other[d]) continue;
    if (differing >= 0) return text + ".";
    differing = static_cast<int>(d);
  }
  return differing == dim ? text + "." : text + ": dim=" + number(differing) + " would join them.";
}

std::string fitting_sizes(int64_t known, bool inferred, int64_t numel) {
  if (inferred && known == 0) return "; with a size of 0 nothing can stand for -1";
  if (inferred) return "; " + number(known) + " does not divide " + number(numel);
  return "; it has " + number(known) + " elements, the input " + number(numel);
}

}  // namespace adjoint::ops::advice
