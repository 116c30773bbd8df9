// Where a tensor's memory lies.
#pragma once

#include <cstdint>

namespace adjoint {

enum class DeviceType : uint8_t { Cpu, Meta };
inline constexpr int kDeviceTypes = 2;
inline const char* device_name(DeviceType type) { return type == DeviceType::Cpu ? "cpu" : "meta"; }

/// A kind of device, and which one of its kind.
struct Device {
  DeviceType type = DeviceType::Cpu;
  uint8_t index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType its_type, uint8_t its_index = 0) : type(its_type), index(its_index) {}
  bool operator==(const Device&) const = default;
};

}  // namespace adjoint
