// Where a tensor's memory lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace adjoint {

/// Batched: where a tensor under vmap seems to be; see core/batched.h. Sparse: where one without strides seems to be;
/// see core/sparse.h.
enum class DeviceType : uint8_t { Cpu, Meta, Cuda, Batched, Sparse };
inline constexpr int kDeviceTypes = 5;
inline const char* device_name(DeviceType type) {
  constexpr const char* names[] = {"cpu", "meta", "cuda", "batched", "sparse"};
  return names[static_cast<int>(type)];
}

/// A kind of device, and which one of its kind.
struct Device {
  DeviceType type = DeviceType::Cpu;
  uint8_t index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType its_type, uint8_t its_index = 0) : type(its_type), index(its_index) {}
  bool operator==(const Device&) const = default;
  /// Whether there are values, here or there.
  constexpr bool holds_values() const { return type == DeviceType::Cpu || type == DeviceType::Cuda; }
};

/// "cpu", "cuda:0".
inline std::string to_string(Device device) {
  const std::string kind = device_name(device.type);
  return device.type == DeviceType::Cuda ? kind + ":" + std::to_string(device.index) : kind;
}

struct Storage;

/// What is known of the devices of a kind.
struct DeviceKind {
  const std::string& (*why_absent)();  ///< why tensors cannot lie there; empty: they can
  int (*count)();
  int (*current)();  ///< the one that a program means without a number
  void (*copy_bytes)(Device device, char* to, const char* from, size_t nbytes);  ///< within one device
  /// Of the program's memory: what such a device reads and writes by itself; null where it has no use for it.
  Storage* (*allocate_pinned)(size_t nbytes) = nullptr;
};
extern const DeviceKind device_kinds[kDeviceTypes];  // in csrc/devices.cpp
inline const DeviceKind& kind_of(DeviceType type) { return device_kinds[static_cast<size_t>(type)]; }

}  // namespace adjoint
