#include "core/whole_range.h"

#include <bit>
#include <limits>

#include "core/error.h"

namespace adjoint {

FloatLimits float_limits(DType dtype) {
  if (dtype == DType::Float64) return {53, std::numeric_limits<double>::max()};
  if (dtype == DType::Float16) return {11, 65504.0};
  if (dtype == DType::BFloat16) return {8, 0x1.fep127};
  return {24, std::numeric_limits<float>::max()};
}

namespace {

/// The greatest value of an integer type, bool included.
int64_t greatest_integer(DType dtype) {
  if (dtype == DType::Bool) return 1;
  if (dtype == DType::UInt8) return 255;
  return std::numeric_limits<int64_t>::max() >> (64 - 8 * itemsize(dtype));
}

void check_whole_bound(const char* name, DType dtype, int64_t value) {
  bool fits;
  if (is_float(dtype)) {
    double limit = float_limits(dtype).greatest;
    fits = static_cast<double>(value) >= -limit && static_cast<double>(value) <= limit;
  } else {
    int64_t top = greatest_integer(dtype);
    bool is_signed = dtype != DType::Bool && dtype != DType::UInt8;
    fits = value <= top && value >= (is_signed ? -top - 1 : 0);
  }
  if (!fits) {
    fail("random_: ", name, " is out of bounds for ", info(dtype).name, "; got ", name, " = ", value,
         "; choose bounds that the type can hold, or a wider type");
  }
}

void check_whole(DType dtype) {
  if (is_complex(dtype)) {
    fail("random_ handles only integral, floating-point and boolean types; got ", info(dtype).name,
         "; fill a real tensor and convert it");
  }
}

int64_t round_to(DType dtype, int64_t value) {
  return dispatch(dtype, [=](auto tag) { return convert<int64_t>(convert<decltype(tag)>(value)); });
}

/// The distance between neighbours of a floating type at `value`, where that is more than one.
int64_t spacing(DType dtype, int64_t value) {
  uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return int64_t{1} << (static_cast<int>(std::bit_width(magnitude)) - float_limits(dtype).precision);
}

// Bounds too great for every whole number to be representable move inwards when rounding would leave the range.
int64_t representable_low(DType dtype, int64_t low) {
  if (low == std::numeric_limits<int64_t>::max()) return low;
  int64_t rounded = round_to(dtype, low + 1);
  return rounded < low ? rounded + spacing(dtype, low + 1) : low;
}

int64_t representable_high(DType dtype, int64_t high) {
  int64_t rounded = round_to(dtype, high - 1);
  return rounded >= high ? rounded - spacing(dtype, high - 1) : high;
}

}  // namespace

WholeRange bounded_range(DType dtype, int64_t low, int64_t high) {
  if (low >= high) {
    fail("random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high, "; 'to' is exclusive");
  }
  check_whole(dtype);
  check_whole_bound("from", dtype, low);
  check_whole_bound("to - 1", dtype, high - 1);
  if (is_float(dtype)) {
    int64_t inner_low = representable_low(dtype, low), inner_high = representable_high(dtype, high);
    if (inner_low >= inner_high) {
      fail("random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=", inner_low,
           " >= to=", inner_high, "; use a type with more precision than ", info(dtype).name);
    }
    low = inner_low, high = inner_high;
  }
  return {low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
}

WholeRange half_open_range(DType dtype, int64_t low) {
  check_whole(dtype);
  bool everything = low == std::numeric_limits<int64_t>::min();
  if (everything && (dtype == DType::Int64 || (is_float(dtype) && dtype != DType::Float16))) return {0, 0};
  check_whole_bound("from", dtype, low);
  int64_t top = is_float(dtype) ? int64_t{1} << float_limits(dtype).precision : greatest_integer(dtype);
  if (is_float(dtype)) {
    low = representable_low(dtype, low);
    if (low > top) {
      fail("random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got from=",
           low, " > to_inc=", top, "; pass 'to' as well");
    }
  }
  return {low, static_cast<uint64_t>(top) - static_cast<uint64_t>(low) + 1};
}

}  // namespace adjoint
