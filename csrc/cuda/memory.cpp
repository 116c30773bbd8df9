#include "cuda/memory.h"

#include <memory>
#include <vector>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/elementwise.h"
#include "cuda/geometry.h"
#include "cuda/runtime.h"
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

void copy_between_devices(const View& src, const View& dst) {
  const Packed packed(dst);
  Scratch there(bytes_of(dst), src.device), here(bytes_of(dst), dst.device);
  copy(src, packed.view(there.data(), dst.dtype, dst, src.device));
  synchronize(src.device.index, current_stream(src.device));
  const Context from = use(src.device).context, to = use(dst.device).context;
  check(driver().copy_to_peer(reinterpret_cast<Pointer>(here.data()), to, reinterpret_cast<Pointer>(there.data()), from,
                              bytes_of(dst), current_stream(dst.device)),
        "copying between devices");
  copy(packed.view(here.data(), dst.dtype, dst, dst.device), dst);
}

}  // namespace

void copy(const View& src, const View& dst) {
  if (dst.numel() == 0) return;
  if (src.device.type != DeviceType::Cpu && src.device != dst.device) return copy_between_devices(src, dst);
  if (src.dtype == dst.dtype && src.device == dst.device && are_packed(src, dst)) {
    if (src.data == dst.data) return;
    use(dst.device);
    check(driver().copy_on_device(reinterpret_cast<Pointer>(dst.data), reinterpret_cast<Pointer>(src.data),
                                  bytes_of(dst), current_stream(dst.device)),
          "copying on a device");
    return;
  }
  convert_elements(src, dst);
}

void to_host(const View& src, const View& dst) {
  if (dst.numel() == 0) return;
  const size_t size = bytes_of(dst);
  auto fetch = [&](char* to, const char* from) {
    use(src.device);
    const Stream stream = current_stream(src.device);
    check(driver().copy_to_host(to, reinterpret_cast<Pointer>(from), size, stream), "copying to the program's memory");
    synchronize(src.device.index, stream);
  };
  if (src.dtype == dst.dtype && are_packed(src, dst)) return fetch(dst.data, src.data);
  const Packed packed(dst);
  Scratch there(size, src.device);
  copy(src, packed.view(there.data(), dst.dtype, dst, src.device));
  auto here = std::make_unique_for_overwrite<char[]>(size);
  fetch(here.get(), there.data());
  on(DeviceType::Cpu).memory.copy(packed.view(here.get(), dst.dtype, dst, Device()), dst);
}

void from_host(const View& src, const View& dst) {
  if (dst.numel() == 0) return;
  if (src.device.type == DeviceType::Meta)
    fail(ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  if (src.device.type != DeviceType::Cpu) return copy(src, dst);
  const size_t size = bytes_of(dst);
  auto send = [&](char* to, const char* from) {
    use(dst.device);
    const Stream stream = current_stream(dst.device);
    check(driver().copy_to_device(reinterpret_cast<Pointer>(to), from, size, stream), "copying to a device");
    check(driver().synchronize_stream(stream), "copying to a device");
  };
  if (src.dtype == dst.dtype && are_packed(src, dst)) return send(dst.data, src.data);
  const Packed packed(dst);
  auto here = std::make_unique_for_overwrite<char[]>(size);
  const View staged = packed.view(here.get(), dst.dtype, dst, Device());
  on(DeviceType::Cpu).memory.copy(src, staged);
  if (are_packed(staged, dst)) return send(dst.data, here.get());
  Scratch there(size, dst.device);
  send(there.data(), here.get());
  copy(packed.view(there.data(), dst.dtype, dst, dst.device), dst);
}

void fill(const View& dst, const void* value) {
  static constexpr int64_t nothing[kMaxDims] = {};
  if (dst.numel() == 0) return;
  const View number = {static_cast<char*>(const_cast<void*>(value)), dst.dtype, dst.ndim, dst.sizes, nothing};
  convert_elements(number, dst);
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

void enumerate(const View& dst) {
  on(dst.device).ranges.arange(dst, Scalar::of(int64_t{0}), Scalar::of(int64_t{1}));
}

Scalar read(const View& from) {
  alignas(16) char element[16];
  const View here = {element, from.dtype, from.ndim, from.sizes, from.strides};
  to_host(from, here);
  return on(DeviceType::Cpu).memory.read(here);
}

}  // namespace adjoint::cuda
