#include "cpu/stored.h"

#include <algorithm>

#include "cpu/copy.h"

namespace adjoint::cpu {
namespace {

/// Elements in a chunk: it stays inside a first-level cache.
constexpr int64_t kChunk = 512;

/// The type by way of which a stored one is converted to or from `other`. It holds every value of the stored type, but
/// for uint64: there it is the one that leaves a single rounding, or none.
DType carrier(DType stored, DType other) {
  switch (stored) {
    case DType::UInt16: return DType::Int32;
    case DType::UInt64:
      if (is_integral(other)) return DType::Int64;
      return other == DType::Float64 || other == DType::Complex128 ? DType::Float64 : DType::Float32;
    default: return compute_type(stored);
  }
}

template <class From, class To>
void convert_each(const void* src, void* dst, int64_t n) {
  const From* __restrict in = static_cast<const From*>(src);
  To* __restrict out = static_cast<To*>(dst);
  for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
}

/// Between a stored type and its carrier, either way.
template <class Stored, class Carrier>
void carry(bool load, const void* src, void* dst, int64_t n) {
  load ? convert_each<Stored, Carrier>(src, dst, n) : convert_each<Carrier, Stored>(src, dst, n);
}

void carry(DType stored, DType by, bool load, const void* src, void* dst, int64_t n) {
  switch (stored) {
    case DType::UInt16: return carry<uint16_t, int32_t>(load, src, dst, n);
    case DType::UInt32: return carry<uint32_t, int64_t>(load, src, dst, n);
    case DType::UInt64:
      if (by == DType::Int64) return carry<uint64_t, int64_t>(load, src, dst, n);
      if (by == DType::Float64) return carry<uint64_t, double>(load, src, dst, n);
      return carry<uint64_t, float>(load, src, dst, n);
    case DType::Float8E4M3FN: return carry<Float8<Float8Format::E4M3FN>, float>(load, src, dst, n);
    case DType::Float8E4M3FNUZ: return carry<Float8<Float8Format::E4M3FNUZ>, float>(load, src, dst, n);
    case DType::Float8E5M2: return carry<Float8<Float8Format::E5M2>, float>(load, src, dst, n);
    case DType::Float8E5M2FNUZ: return carry<Float8<Float8Format::E5M2FNUZ>, float>(load, src, dst, n);
    case DType::Float8E8M0FNU: return carry<Float8<Float8Format::E8M0FNU>, float>(load, src, dst, n);
    case DType::Complex32:  // two halves: there is an instruction for many of them
      if (load) return convert_contiguous(DType::Float16, src, DType::Float32, dst, 2 * n);
      return convert_contiguous(DType::Float32, src, DType::Float16, dst, 2 * n);
    default: refuse_stored(stored);
  }
}

/// As an integer, nan of the formats that have but one is 0 in torch; of the others it is the least number.
void clear_nan(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = values[i] != values[i] ? 0 : values[i];
}

}  // namespace

void convert_stored(DType from, const void* src, DType to, void* dst, int64_t n) {
  alignas(64) complex128 chunk[kChunk], other_chunk[kChunk];
  const DType left = is_stored(from) ? carrier(from, to) : from;
  const DType right = is_stored(to) ? carrier(to, left) : to;
  const bool nan_is_zero =
      from != DType::Float8E4M3FN && from != DType::Float8E5M2 && is_float8(from) && category(to) == Category::Integer;
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    const void* source = static_cast<const char*>(src) + i * itemsize(from);
    void* target = static_cast<char*>(dst) + i * itemsize(to);
    if (is_stored(from)) {
      void* place = left == to ? target : chunk;
      carry(from, left, true, source, place, count);
      if (nan_is_zero) clear_nan(static_cast<float*>(place), count);
      source = place;
    }
    if (left != right) {
      void* place = right == to ? target : other_chunk;
      convert_contiguous(left, source, right, place, count);
      source = place;
    }
    if (is_stored(to)) carry(to, right, false, source, target, count);
  }
}

}  // namespace adjoint::cpu
