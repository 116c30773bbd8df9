#include "cuda/scatter.h"

#include <bit>
#include <cstring>
#include <optional>

#include "core/deterministic.h"
#include "core/error.h"
#include "cuda/faults.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/radix.h"
#include "cuda/sort.h"

namespace adjoint::cuda {
namespace {

/// Lines of at most so many elements, or so many lines, are worth a thread each, and fewer ones a warp.
constexpr int64_t kShortLine = 32, kManyLines = 8192, kLinesOfWarps = 128;

std::string joined(const char* name, std::initializer_list<std::string> arguments) {
  std::string text = std::string(name) + "<";
  for (const std::string& argument : arguments) text += (text.back() == '<' ? "" : ", ") + argument;
  return text + ">";
}

View strided(const View& view, const Dims& dims, const int64_t* strides) {
  return {view.data, view.dtype, dims.ndim, dims.sizes, strides, view.device};
}

/// Entries that are added up together where all are of one slot: as many as there are such stretches, at most.
int64_t stretch_of(int64_t n) {
  constexpr int64_t kLeast = 256;
  return std::max<int64_t>(kLeast, int64_t{1} << std::bit_width(static_cast<uint64_t>(n)) / 2);
}

}  // namespace

Scatter::Scatter(const View& dst, const View* src, bool wraps) : dst_(dst), src_(src ? *src : dst), wraps_(wraps) {}

void Scatter::name(const View& index, int64_t size, int64_t step, int64_t number, int dim) {
  indices_[count_] = index;
  size_[count_] = size;
  step_[count_] = step;
  number_[count_] = number;
  dim_[count_++] = dim;
}

Scatter Scatter::elements(const View& dst, int dim, const View& index, const View* src) {
  Scatter made(dst, src, false);
  int64_t packed[kMaxDims];
  packed_strides(dst, packed);
  for (int d = 0; d < dst.ndim; ++d) {
    made.entries_.add(index.sizes[d], d == dim ? 0 : dst.strides[d], src ? src->strides[d] : 0);
    made.base_[d] = d == dim ? 0 : packed[d];
    made.slots_.add(dst.sizes[d], dst.strides[d], 0);
  }
  made.name(index, dst.sizes[dim], dst.strides[dim], packed[dim], dim);
  made.line_dim_ = dim;
  return made;
}

Scatter Scatter::slices(const View& dst, int dim, const View& index, const View* src, bool wraps) {
  Scatter made(dst, src, wraps);
  made.entries_.add(index.sizes[0], 0, src ? src->strides[dim] : 0);
  made.slots_.add(dst.sizes[dim], dst.strides[dim], 0);
  for (int d = 0; d < dst.ndim; ++d)
    if (d != dim) made.rest_.add(dst.sizes[d], dst.strides[d], src ? src->strides[d] : 0);
  made.name(index, dst.sizes[dim], dst.strides[dim], 1, dim);
  return made;
}

Scatter Scatter::advanced(const View& dst, int count, const View* const* indices, const View& src) {
  Scatter made(dst, &src, true);
  const int named = indices[0]->ndim;
  for (int d = 0; d < named; ++d) made.entries_.add(src.sizes[d], 0, src.strides[d]);
  for (int d = named; d < src.ndim; ++d) made.rest_.add(src.sizes[d], dst.strides[d - named + count], src.strides[d]);
  int64_t number = 1;
  for (int k = count - 1; k >= 0; --k) {
    made.number_[k] = number;
    number *= dst.sizes[k];
  }
  for (int k = 0; k < count; ++k) {
    made.name(*indices[k], dst.sizes[k], dst.strides[k], made.number_[k], k);
    made.slots_.add(dst.sizes[k], dst.strides[k], 0);
  }
  return made;
}

NamedSlots Scatter::named() const {
  NamedSlots slots{};
  for (int k = 0; k < count_; ++k) {
    slots.index[k] = indices_[k].as<const int64_t>();
    slots.size[k] = size_[k];
    slots.step[k] = step_[k];
    slots.number[k] = number_[k];
    slots.dim[k] = dim_[k];
  }
  slots.skipped = skipped;
  slots.fault = fault_record(dst_.device.index);
  return slots;
}

/// Whether there is nothing to do; fails where there are entries and no slots.
bool Scatter::has_nothing_named() const {
  if (entries_.numel() == 0) return true;
  for (int k = 0; k < count_; ++k)
    if (size_[k] == 0) fail(ErrorKind::Index, "index is out of bounds for dimension ", dim_[k], " with size 0");
  return rest_.numel() == 0;
}

bool Scatter::direct(const char* what, const char* type, bool whole, int32_t* claims, const void* value) {
  // The dimensions of entries, and behind them, where whole slots are written, those of their elements.
  Dims all = entries_;
  int64_t base[kMaxDims] = {}, order[kMaxDims] = {}, along[kMaxPutIndices][kMaxDims] = {};
  std::copy_n(base_, entries_.ndim, base);
  packed_strides({nullptr, DType::Int64, entries_.ndim, entries_.sizes, nullptr}, order);
  for (int k = 0; k < count_; ++k) std::copy_n(indices_[k].strides, entries_.ndim, along[k]);
  if (whole)
    for (int d = 0; d < rest_.ndim; ++d) all.add(rest_.sizes[d], rest_.dst[d], rest_.src[d]);
  View views[kMaxPutIndices + 4] = {strided(dst_, all, all.dst), strided(src_, all, all.src), strided(dst_, all, base),
                                    strided(dst_, all, order)};
  const View* pointers[kMaxPutIndices + 4];
  int64_t reach = 0;
  for (int k = 0; k < count_; ++k) {
    views[k + 4] = strided(indices_[k], all, along[k]);
    reach += (size_[k] - 1) * std::abs(step_[k]);
  }
  for (int v = 0; v < count_ + 4; ++v) pointers[v] = &views[v];
  const Geometry geometry = joint_geometry({pointers, static_cast<size_t>(count_ + 4)});
  if (!fits(geometry)) return false;
  DirectArgs args{dst_.data, src_.data, claims, named(), {}, {}};
  if (value) std::memcpy(args.value.bytes, value, static_cast<size_t>(itemsize(dst_.dtype)));
  set_walk(geometry, args.walk);
  const std::string call =
      joined("scatter_direct", {std::string("Direct::") + what, type, index_type(is_narrow(geometry, reach)),
                                std::to_string(count_), wraps_ ? "true" : "false"});
  launch(dst_.device, kernel_text("scatter.h", "DirectArgs", call), args, blocks_for(geometry.numel));
  return true;
}

bool Scatter::fill(const void* value) {
  return has_nothing_named() || direct("Fill", word_type(itemsize(dst_.dtype)), true, nullptr, value);
}

/// An assignment by claims: a table of all slots.
bool Scatter::claim() {
  const int64_t n = entries_.numel(), room = slots();
  if (n >= std::numeric_limits<int32_t>::max() || room > 8 * n + kManyLines) return false;
  const auto bytes = static_cast<size_t>(room) * sizeof(int32_t);
  Scratch claims(bytes, dst_.device);
  use(dst_.device);
  check(driver().set_bytes(reinterpret_cast<Pointer>(claims.data()), 0, bytes, current_stream(dst_.device)),
        "clearing claims");
  auto* table = reinterpret_cast<int32_t*>(claims.data());
  const char* word = word_type(itemsize(dst_.dtype));
  return direct("Claim", word, false, table, nullptr) && direct("Claimed", word, true, table, nullptr);
}

bool Scatter::lines(const Merging& how) {
  if (line_dim_ < 0 || !how.include_self || how.mean || how.alpha) return false;
  const int64_t length = entries_.sizes[line_dim_], count = entries_.numel() / length;
  const bool side_by_side = indices_[0].strides[line_dim_] != 1;
  const bool by_threads = length <= kShortLine || (side_by_side && count >= kManyLines);
  if (!by_threads && (count < kLinesOfWarps || size_[0] >= kMostKeys)) return false;
  Dims across;
  int64_t index[kMaxDims];
  for (int d = 0; d < entries_.ndim; ++d) {
    if (d == line_dim_) continue;
    index[across.ndim] = indices_[0].strides[d];
    across.add(entries_.sizes[d], entries_.dst[d], entries_.src[d]);
  }
  const View views[] = {strided(dst_, across, across.dst), strided(src_, across, across.src),
                        strided(indices_[0], across, index)};
  const View* pointers[] = {&views[0], &views[1], &views[2]};
  const Geometry geometry = joint_geometry(pointers);
  if (!fits(geometry)) return false;
  LineArgs args{dst_.data,
                src_.data,
                indices_[0].as<const int64_t>(),
                length,
                size_[0],
                step_[0],
                entries_.src[line_dim_],
                indices_[0].strides[line_dim_],
                dim_[0],
                fault_record(dst_.device.index),
                {}};
  set_walk(geometry, args.walk);
  const char* type = how.is_assignment() ? word_type(itemsize(dst_.dtype)) : device_type(dst_.dtype);
  const std::string call = by_threads ? joined("scatter_lines", {how.op, type, index_type(is_narrow(geometry))})
                                      : joined("scatter_lines_by_warps", {how.op, type});
  launch(dst_.device, kernel_text("scatter.h", "LineArgs", call), args,
         blocks_for(geometry.numel * (by_threads ? 1 : 32)));
  return true;
}

/// Whether sums are added up as they come: of whole numbers, and of floats where they may, unless many wait for few.
bool Scatter::adds_now(const Merging& how) const {
  constexpr int64_t kManySlots = 256;
  if (!how.is_sum() || !how.include_self || how.mean || how.alpha) return false;
  if (dst_.dtype == DType::Int64 || dst_.dtype == DType::Int32) return true;
  if (dst_.dtype != DType::Float32 && dst_.dtype != DType::Float64) return false;
  return how.in_any_order && !deterministic.enabled && (slots() >= kManySlots || entries_.numel() <= kShortRow);
}

/// How many elements of an entry a thread has, of up to 16 bytes that lie together in what is read and written.
int64_t Scatter::elements_at_once(const Geometry& slots, const Geometry& entries, const Geometry& rest) const {
  if (rest.ndim != 1) return 1;
  const int64_t size = itemsize(dst_.dtype);
  for (int64_t width = std::min<int64_t>(4, 16 / size); width > 1; width /= 2) {
    auto is_aligned = [&](const char* data, const Geometry& walk) {
      bool all = reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(width * size) == 0;
      for (int d = 0; d < walk.ndim; ++d) all = all && walk.strides[0][d] % width == 0;
      return all;
    };
    if (rest.is_packed(0) && rest.is_packed(1) && rest.numel % width == 0 && is_aligned(dst_.data, slots) &&
        is_aligned(src_.data, entries))
      return width;
  }
  return 1;
}

bool Scatter::sorted(const Merging& how) {
  const int64_t n = entries_.numel(), none = slots();
  if (n >= kMostKeys) return false;
  // The number of each entry's slot.
  View views[kMaxPutIndices + 1] = {strided(dst_, entries_, base_)};
  const View* pointers[kMaxPutIndices + 1] = {&views[0]};
  for (int k = 0; k < count_; ++k) {
    views[k + 1] = strided(indices_[k], entries_, indices_[k].strides);
    pointers[k + 1] = &views[k + 1];
  }
  const Geometry numbers = ordered_geometry({pointers, static_cast<size_t>(count_ + 1)});
  const View slot = strided(dst_, slots_, slots_.dst), entry = strided(src_, entries_, entries_.src);
  const View to = strided(dst_, rest_, rest_.dst), from = strided(src_, rest_, rest_.src);
  const View *slot_view[] = {&slot}, *entry_view[] = {&entry}, *rest_views[] = {&to, &from};
  const Geometry of_slots = ordered_geometry(slot_view), of_entries = ordered_geometry(entry_view),
                 of_rest = joint_geometry(rest_views);
  for (const Geometry* geometry : {&numbers, &of_slots, &of_entries, &of_rest})
    if (!fits(*geometry)) return false;

  const int bits = std::bit_width(static_cast<uint64_t>(none));
  KeySort keys(n, bits, dst_.device);
  SlotArgs numbering{keys.keys(), none, named(), {}};
  set_walk(numbers, numbering.walk);
  const std::string first =
      kernel_text("scatter.h", "SlotArgs",
                  joined("number_slots", {keys.key_type(), std::to_string(count_), wraps_ ? "true" : "false"}));
  const char* type = how.is_assignment() ? word_type(itemsize(dst_.dtype)) : device_type(dst_.dtype);
  const int64_t width = elements_at_once(of_slots, of_entries, of_rest);
  auto owners = [&](const char* name) {
    return kernel_text(
        "scatter.h", "OwnerArgs",
        joined(name, {how.op, type, keys.key_type(), std::to_string(width), how.alpha ? "true" : "false"}));
  };
  const std::string last = owners("scatter_owners");
  if (is_new(dst_.device.index, first)) compile_ahead(dst_.device.index, last);
  launch(dst_.device, first, numbering, blocks_for(n));
  keys.sort();
  OwnerArgs args{dst_.data,
                 src_.data,
                 keys.keys(),
                 keys.places(),
                 n,
                 none,
                 nullptr,
                 stretch_of(n),
                 of_rest.numel / width,
                 how.alpha ? *how.alpha : Scalar::of(1.0),
                 how.include_self,
                 how.mean,
                 {},
                 {},
                 {}};
  set_walk(of_slots, args.slot);
  set_walk(of_entries, args.entry);
  set_walk(of_rest, args.rest);
  std::optional<Scratch> parts;
  if (const int64_t count = n / args.part - 1; count > 0 && !how.is_assignment()) {
    const int64_t wide = std::max<int64_t>(itemsize(dst_.dtype), sizeof(float));
    args.parts = parts.emplace(static_cast<size_t>((count + 1) * of_rest.numel * wide), dst_.device).data();
    launch(dst_.device, owners("sum_parts"), args, blocks_for(count * args.columns));
  }
  launch(dst_.device, last, args, blocks_for((n + kOwnedEntries - 1) / kOwnedEntries * args.columns));
  return true;
}

bool Scatter::merge(const Merging& how) {
  if (!how.is_assignment() && is_stored(dst_.dtype)) return false;
  if (has_nothing_named()) return true;
  if (lines(how) || (how.is_assignment() && claim())) return true;
  if (adds_now(how) && direct("AddNow", device_type(dst_.dtype), true, nullptr, nullptr)) return true;
  return sorted(how);
}

}  // namespace adjoint::cuda
