// cuDNN's convolutions, where it is installed: our declarations of what is used of it, found when it is first needed.
// Whatever it refuses, the own kernels compute.
#pragma once

#include "cuda/library.h"
#include "kernels/convolution.h"

namespace adjoint::cuda {
namespace cudnn {

struct Functions;

/// Null where cuDNN is not there, or lacks something. Whether it may be used is asked of has_cudnn() when a computation
/// begins: a gradient is computed by what has computed the result.
const Functions* functions();
/// The same, for what else of it is used.
const Library* library();
/// This thread's handle for a device, on its current stream; null where there is none.
struct CudnnHandle* handle_on(Device device);
/// How it calls a type.
int type_of(DType dtype);

}  // namespace cudnn

enum class ConvWay { Forward, Data, Weight };

/// Queues a convolution of floats, doubles, or halves with sums in float32: forward of a wide image and a weight into a
/// narrow one, data of a weight and a narrow one into a wide one, or the weight's gradient of a wide image and a narrow
/// one. `adds`: to what is there. Says whether it did.
bool cudnn_convolution(ConvWay way, const kernels::ConvShape& shape, const View& first, const View& second,
                       const View& out, bool adds);

/// Whether cuDNN is there, may be used, and has this type.
bool has_cudnn(DType dtype);
/// As 91002 for 9.10.2; 0 where it is not there.
size_t cudnn_version();
/// Whether cuDNN may be used at all; yes at first.
void use_cudnn(bool used);
/// Whether its convolutions of float32 may round their inputs as TF32 does; yes at first, as in torch.
void allow_cudnn_tf32(bool allowed);

}  // namespace adjoint::cuda
