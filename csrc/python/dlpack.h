// The C structures of DLPack, versions 0.8 (unversioned) and 1.x, as its public specification lays them out.
#pragma once

#include <cstdint>

namespace adjoint::dlpack {

enum DeviceCode : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

struct Device {
  int32_t type;
  int32_t id;
};

enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kOpaque = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
  kFloat8E8M0FNU = 14,
};

struct DataType {
  uint8_t code;
  uint8_t bits;    ///< of one element, both parts of a complex one together
  uint16_t lanes;  ///< elements in a vector: 1
};

struct DLTensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null: row-major
  uint64_t byte_offset;
};

struct ManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

enum Flags : uint64_t { kReadOnly = 1, kIsCopied = 2 };

struct VersionedTensor {
  Version version;
  void* context;
  void (*deleter)(VersionedTensor* self);
  uint64_t flags;
  DLTensor tensor;
};

}  // namespace adjoint::dlpack
