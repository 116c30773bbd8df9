#include "cuda/memory.h"

#include <memory>
#include <vector>

#include "core/error.h"
#include "core/mode.h"
#include "cuda/allocator.h"
#include "cuda/device/copy_rows_args.h"
#include "cuda/elementwise.h"
#include "cuda/geometry.h"
#include "cuda/launch.h"
#include "cuda/pinned.h"
#include "cuda/runtime.h"
#include "cuda/streams.h"
#include "cuda/waits.h"
#include "cuda/walk.h"
#include "kernels/backend.h"

namespace adjoint::cuda {
namespace {

size_t bytes_of(const View& view) { return static_cast<size_t>(view.numel() * itemsize(view.dtype)); }

/// The strides of a view of these sizes whose elements lie one after the other.
struct Packed {
  int64_t strides[kMaxDims];
  explicit Packed(const View& like) {
    int64_t step = 1;
    for (int d = like.ndim - 1; d >= 0; --d) {
      strides[d] = step;
      step *= like.sizes[d];
    }
  }
  View view(char* data, DType dtype, const View& like, Device device) const {
    return {data, dtype, like.ndim, like.sizes, strides, device};
  }
};

/// Whether both lie in one piece, in the same order.
bool are_packed(const View& a, const View& b) {
  const View* views[] = {&a, &b};
  const Geometry geometry = joint_geometry(views);
  return geometry.is_packed(0) && geometry.is_packed(1);
}

/// The same of the streams that this thread uses of two devices.
void follow(Device first, Device later) {
  follow(first.index, current_stream(first), later.index, current_stream(later));
}

void copy_between_devices(const View& src, const View& dst) {
  const Packed packed(dst);
  Scratch there(bytes_of(dst), src.device), here(bytes_of(dst), dst.device);
  copy(src, packed.view(there.data(), dst.dtype, dst, src.device));
  follow(src.device, dst.device);
  const Context from = use(src.device).context, to = use(dst.device).context;
  check(driver().copy_to_peer(reinterpret_cast<Pointer>(here.data()), to, reinterpret_cast<Pointer>(there.data()), from,
                              bytes_of(dst), current_stream(dst.device)),
        "copying between devices");
  follow(dst.device, src.device);  // which may use the memory for something else then
  copy(packed.view(here.data(), dst.dtype, dst, dst.device), dst);
}

/// After a copy between the device and the program's memory at `address`: waits, unless the memory is pinned and the
/// program asked not to.
void finish_copy(const void* address, Device device, Stream stream) {
  if (non_blocking_copies && note_pinned_use(address, device.index, stream)) return;
  synchronize(device.index, stream);
}

void send(char* to, const char* from, size_t size, Device device) {
  use(device);
  if (!non_blocking_copies) note_wait();
  const Stream stream = current_stream(device);
  check(driver().copy_to_device(reinterpret_cast<Pointer>(to), from, size, stream), "copying to a device");
  finish_copy(from, device, stream);
}

void fetch(char* to, const char* from, size_t size, Device device) {
  use(device);
  if (!non_blocking_copies) note_wait();
  const Stream stream = current_stream(device);
  check(driver().copy_to_host(to, reinterpret_cast<Pointer>(from), size, stream), "copying to the program's memory");
  finish_copy(to, device, stream);
}

/// Copies rows whose elements lie side by side, and that are not of whole vectors; false where it is something else.
bool copy_rows(const View& src, const View& dst) {
  constexpr int64_t kLeastBytes = 2048;  // of a row
  const View* views[] = {&dst, &src};
  const Geometry geometry = joint_geometry(views);
  const int64_t size = itemsize(dst.dtype);
  if (geometry.ndim != 2 || geometry.strides[0][1] != 1 || geometry.strides[1][1] != 1 || size > 8) return false;
  const int64_t rows = geometry.sizes[0], cols = geometry.sizes[1];
  const int64_t from_step = geometry.strides[1][0], to_step = geometry.strides[0][0];
  auto begins_at_vectors = [&](const View& view, int64_t step) {
    return reinterpret_cast<uintptr_t>(view.data) % 16 == 0 && step * size % 16 == 0;
  };
  if (cols * size < kLeastBytes || (begins_at_vectors(src, from_step) && begins_at_vectors(dst, to_step))) return false;
  const int64_t vectors = cols * size / 16, each = kCopyThreads * kCopyEach;
  CopyRowsArgs args{src.data, dst.data, from_step, to_step, cols, (vectors + each - 1) / each};
  if (rows * args.parts >= int64_t{1} << 31) return false;
  const std::string call = std::string("copy_rows<") + word_type(size) + ">";
  launch(dst.device, kernel_text("copy_rows.h", "CopyRowsArgs", call, kCopyThreads), args, rows * args.parts,
         kCopyThreads);
  return true;
}

}  // namespace

void copy_bytes(Device device, char* to, const char* from, size_t nbytes) {
  if (nbytes == 0) return;
  use(device);
  check(driver().copy_on_device(reinterpret_cast<Pointer>(to), reinterpret_cast<Pointer>(from), nbytes,
                                current_stream(device)),
        "copying on a device");
}

void copy(const View& src, const View& dst) {
  if (dst.numel() == 0) return;
  if (dst.device.type != DeviceType::Cuda)
    fail("a GPU was told to write to the program's memory: this is an error of Adjoint");
  if (src.device.type != DeviceType::Cpu && src.device != dst.device) return copy_between_devices(src, dst);
  if (src.dtype == dst.dtype && src.device == dst.device && are_packed(src, dst)) {
    if (src.data == dst.data) return;
    return copy_bytes(dst.device, dst.data, src.data, bytes_of(dst));
  }
  if (src.dtype == dst.dtype && src.device == dst.device && copy_rows(src, dst)) return;
  convert_elements(src, dst);
}

void to_host(const View& src, const View& dst) {
  if (dst.numel() == 0) return;
  const size_t size = bytes_of(dst);
  if (src.dtype == dst.dtype && are_packed(src, dst)) return fetch(dst.data, src.data, size, src.device);
  const Packed packed(dst);
  Scratch there(size, src.device);
  copy(src, packed.view(there.data(), dst.dtype, dst, src.device));
  if (dst.is_packed()) return fetch(dst.data, there.data(), size, src.device);
  auto here = std::make_unique_for_overwrite<char[]>(size);
  fetch(here.get(), there.data(), size, src.device);
  on(DeviceType::Cpu).memory.copy(packed.view(here.get(), dst.dtype, dst, Device()), dst);
}

void fill(const View& dst, const void* value) {
  static constexpr int64_t nothing[kMaxDims] = {};
  if (dst.numel() == 0) return;
  const View number = {static_cast<char*>(const_cast<void*>(value)), dst.dtype, dst.ndim, dst.sizes, nothing};
  convert_elements(number, dst);
}

/// Whether all elements are one, which goes along with a launch so that nothing is waited for. A number in pinned
/// memory is copied like others: a graph that is replayed reads it anew.
bool is_one_number(const View& view) {
  for (int d = 0; d < view.ndim; ++d)
    if (view.sizes[d] != 1 && view.strides[d] != 0) return false;
  return !is_pinned(view.data);
}

void from_host(const View& src, const View& dst) {
  if (dst.numel() == 0) return;
  if (src.device.type == DeviceType::Meta) fail(ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  if (src.device.type != DeviceType::Cpu) return copy(src, dst);
  if (is_one_number(src) && !is_stored(dst.dtype)) {
    alignas(16) char number[16];
    View one = src, here = {number, dst.dtype, 0, {}, nullptr};
    one.ndim = 0;
    on(DeviceType::Cpu).memory.copy(one, here);
    return fill(dst, number);
  }
  const size_t size = bytes_of(dst);
  if (src.dtype == dst.dtype && are_packed(src, dst)) return send(dst.data, src.data, size, dst.device);
  const Packed packed(dst);
  if (src.is_packed()) {  // it is put in order, and converted, there
    Scratch there(bytes_of(src), dst.device);
    send(there.data(), src.data, bytes_of(src), dst.device);
    return copy(packed.view(there.data(), src.dtype, dst, dst.device), dst);
  }
  auto here = std::make_unique_for_overwrite<char[]>(size);
  const View staged = packed.view(here.get(), dst.dtype, dst, Device());
  on(DeviceType::Cpu).memory.copy(src, staged);
  if (are_packed(staged, dst)) return send(dst.data, here.get(), size, dst.device);
  Scratch there(size, dst.device);
  send(there.data(), here.get(), size, dst.device);
  copy(packed.view(there.data(), dst.dtype, dst, dst.device), dst);
}

void clear(const View& dst) {
  if (dst.numel() == 0) return;
  use(dst.device);
  check(driver().set_bytes(reinterpret_cast<Pointer>(dst.data), 0, bytes_of(dst), current_stream(dst.device)),
        "clearing memory");
}

void fill_unset(const View& dst) {
  // The CPU knows the value for each type.
  alignas(16) char element[16] = {};
  on(DeviceType::Cpu).memory.fill_unset({element, dst.dtype, 0, nullptr, nullptr});
  fill(dst, element);
}

void enumerate(const View& dst) { on(dst.device).ranges.arange(dst, Scalar::of(int64_t{0}), Scalar::of(int64_t{1})); }

Scalar read(const View& from) {
  alignas(16) char element[16];
  const View here = {element, from.dtype, from.ndim, from.sizes, from.strides};
  to_host(from, here);
  return on(DeviceType::Cpu).memory.read(here);
}

}  // namespace adjoint::cuda
