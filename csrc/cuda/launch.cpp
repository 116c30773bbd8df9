#include "cuda/launch.h"

namespace adjoint::cuda {

void launch(Device device, Function function, void* args, int64_t blocks, int threads, int64_t blocks_y,
            size_t shared_bytes) {
  if (blocks == 0 || blocks_y == 0) return;
  use(device);
  void* parameters[] = {args};
  Stream stream = current_stream(device);
  check(driver().launch(function, static_cast<unsigned>(blocks), static_cast<unsigned>(blocks_y), 1,
                        static_cast<unsigned>(threads), 1, 1, static_cast<unsigned>(shared_bytes), stream, parameters,
                        nullptr),
        "launching a kernel");
  finish_launch(device);
}

const char* device_type(DType dtype) {
  switch (dtype) {
    case DType::Float32: return "float";
    case DType::Float64: return "double";
    case DType::Float16: return "Half";
    case DType::BFloat16: return "BFloat16";
    case DType::Complex64: return "complex64";
    case DType::Complex128: return "complex128";
    case DType::Int64: return "int64_t";
    case DType::Int32: return "int32_t";
    case DType::Int16: return "int16_t";
    case DType::Int8: return "int8_t";
    case DType::UInt8: return "uint8_t";
    case DType::Bool: return "bool";
    default: refuse_stored(dtype);
  }
}

}  // namespace adjoint::cuda
