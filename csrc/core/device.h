// Where a tensor's memory lies.
#pragma once

#include <cstdint>

namespace adjoint {

/// Batched: where a tensor under vmap seems to be; see core/batched.h. Sparse: where one without strides seems to be;
/// see core/sparse.h.
enum class DeviceType : uint8_t { Cpu, Meta, Batched, Sparse };
inline constexpr int kDeviceTypes = 4;
inline const char* device_name(DeviceType type) {
  constexpr const char* names[] = {"cpu", "meta", "batched", "sparse"};
  return names[static_cast<int>(type)];
}

/// A kind of device, and which one of its kind.
struct Device {
  DeviceType type = DeviceType::Cpu;
  uint8_t index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType its_type, uint8_t its_index = 0) : type(its_type), index(its_index) {}
  bool operator==(const Device&) const = default;
  /// Whether the program can read what is there.
  constexpr bool holds_values() const { return type == DeviceType::Cpu; }
};

}  // namespace adjoint
