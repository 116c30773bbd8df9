// cuDNN: our declarations of what is used of it.
#pragma once

#include <cstddef>

#include "cuda/driver.h"
#include "cuda/library.h"

namespace adjoint::cuda::cudnn {

/// One name for CUDA 12 and 13: its wheels are of either.
inline constexpr LibraryFile kFiles[] = {{12, "libcudnn.so.9"}};

using Handle = struct CudnnHandle*;
using Tensor = struct CudnnTensor*;
using Filter = struct CudnnFilter*;
using Convolution = struct CudnnConvolution*;
using Dropout = struct CudnnDropout*;
using Rnn = struct CudnnRnn*;
using RnnData = struct CudnnRnnData*;

/// What cuDNN says of an algorithm.
struct Algorithm {
  int number, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};

// See Note [Declarations] in cuda/library.h. The functions of one way take the descriptors of the two inputs, then the
// result's.
// clang-format off: tables
#define ADJOINT_EACH_CUDNN_FUNCTION(X)                                                                               \
  X(version, cudnnGetVersion, size_t, ())                                                                            \
  X(create, cudnnCreate, int, (Handle*))                                                                             \
  X(set_stream, cudnnSetStream, int, (Handle, Stream))                                                               \
  X(create_tensor, cudnnCreateTensorDescriptor, int, (Tensor*))                                                      \
  X(create_filter, cudnnCreateFilterDescriptor, int, (Filter*))                                                      \
  X(create_convolution, cudnnCreateConvolutionDescriptor, int, (Convolution*))                                       \
  X(destroy_tensor, cudnnDestroyTensorDescriptor, int, (Tensor))                                                     \
  X(destroy_filter, cudnnDestroyFilterDescriptor, int, (Filter))                                                     \
  X(destroy_convolution, cudnnDestroyConvolutionDescriptor, int, (Convolution))                                      \
  X(set_tensor, cudnnSetTensorNdDescriptor, int, (Tensor, int, int, const int*, const int*))                         \
  X(set_filter, cudnnSetFilterNdDescriptor, int, (Filter, int, int, int, const int*))                                \
  X(set_convolution, cudnnSetConvolutionNdDescriptor, int,                                                           \
    (Convolution, int, const int*, const int*, const int*, int, int))                                                \
  X(set_groups, cudnnSetConvolutionGroupCount, int, (Convolution, int))                                              \
  X(set_math, cudnnSetConvolutionMathType, int, (Convolution, int))                                                  \
  X(forward_algorithms, cudnnGetConvolutionForwardAlgorithm_v7, int,                                                 \
    (Handle, Tensor, Filter, Convolution, Tensor, int, int*, Algorithm*))                                            \
  X(data_algorithms, cudnnGetConvolutionBackwardDataAlgorithm_v7, int,                                               \
    (Handle, Filter, Tensor, Convolution, Tensor, int, int*, Algorithm*))                                            \
  X(weight_algorithms, cudnnGetConvolutionBackwardFilterAlgorithm_v7, int,                                           \
    (Handle, Tensor, Tensor, Convolution, Filter, int, int*, Algorithm*))                                            \
  X(forward_workspace, cudnnGetConvolutionForwardWorkspaceSize, int,                                                 \
    (Handle, Tensor, Filter, Convolution, Tensor, int, size_t*))                                                     \
  X(data_workspace, cudnnGetConvolutionBackwardDataWorkspaceSize, int,                                               \
    (Handle, Filter, Tensor, Convolution, Tensor, int, size_t*))                                                     \
  X(weight_workspace, cudnnGetConvolutionBackwardFilterWorkspaceSize, int,                                           \
    (Handle, Tensor, Tensor, Convolution, Filter, int, size_t*))                                                     \
  X(forward, cudnnConvolutionForward, int,                                                                           \
    (Handle, const void*, Tensor, const void*, Filter, const void*, Convolution, int, void*, size_t, const void*,    \
     Tensor, void*))                                                                                                 \
  X(data, cudnnConvolutionBackwardData, int,                                                                         \
    (Handle, const void*, Filter, const void*, Tensor, const void*, Convolution, int, void*, size_t, const void*,    \
     Tensor, void*))                                                                                                 \
  X(weight, cudnnConvolutionBackwardFilter, int,                                                                     \
    (Handle, const void*, Tensor, const void*, Tensor, const void*, Convolution, int, void*, size_t, const void*,    \
     Filter, void*))
#define ADJOINT_EACH_CUDNN_RNN_FUNCTION(X)                                                                           \
  X(create_dropout, cudnnCreateDropoutDescriptor, int, (Dropout*))                                                   \
  X(set_dropout, cudnnSetDropoutDescriptor, int, (Dropout, Handle, float, void*, size_t, unsigned long long))        \
  X(destroy_dropout, cudnnDestroyDropoutDescriptor, int, (Dropout))                                                  \
  X(create_rnn, cudnnCreateRNNDescriptor, int, (Rnn*))                                                               \
  X(destroy_rnn, cudnnDestroyRNNDescriptor, int, (Rnn))                                                              \
  X(set_rnn, cudnnSetRNNDescriptor_v8, int,                                                                          \
    (Rnn, int, int, int, int, int, int, int, int, int, int, int, int, Dropout, unsigned))                            \
  X(create_data, cudnnCreateRNNDataDescriptor, int, (RnnData*))                                                      \
  X(destroy_data, cudnnDestroyRNNDataDescriptor, int, (RnnData))                                                     \
  X(set_data, cudnnSetRNNDataDescriptor, int, (RnnData, int, int, int, int, int, const int*, void*))                 \
  X(weight_bytes, cudnnGetRNNWeightSpaceSize, int, (Handle, Rnn, size_t*))                                           \
  X(weight_places, cudnnGetRNNWeightParams, int,                                                                     \
    (Handle, Rnn, int, size_t, const void*, int, Tensor, void**, Tensor, void**))                                    \
  X(spaces, cudnnGetRNNTempSpaceSizes, int, (Handle, Rnn, int, RnnData, size_t*, size_t*))                           \
  X(forward, cudnnRNNForward, int,                                                                                   \
    (Handle, Rnn, int, const int*, RnnData, const void*, RnnData, void*, Tensor, const void*, void*, Tensor,         \
     const void*, void*, size_t, const void*, size_t, void*, size_t, void*))                                         \
  X(backward_data, cudnnRNNBackwardData_v8, int,                                                                     \
    (Handle, Rnn, const int*, RnnData, const void*, const void*, RnnData, void*, Tensor, const void*, const void*,   \
     void*, Tensor, const void*, const void*, void*, size_t, const void*, size_t, void*, size_t, void*))             \
  X(backward_weights, cudnnRNNBackwardWeights_v8, int,                                                               \
    (Handle, Rnn, int, const int*, RnnData, const void*, Tensor, const void*, RnnData, const void*, size_t, void*,   \
     size_t, void*, size_t, void*))
#define ADJOINT_EACH_CUDNN_NUMBER(X)                                                                                 \
  X(kOk, CUDNN_STATUS_SUCCESS, 0)                                                                               \
  X(kFloat, CUDNN_DATA_FLOAT, 0)                                                                                     \
  X(kDouble, CUDNN_DATA_DOUBLE, 1)                                                                                   \
  X(kHalf, CUDNN_DATA_HALF, 2)                                                                                       \
  X(kBrain, CUDNN_DATA_BFLOAT16, 9)                                                                                  \
  X(kChannelsFirst, CUDNN_TENSOR_NCHW, 0)                                                                            \
  X(kCorrelation, CUDNN_CROSS_CORRELATION, 1)                                                                        \
  X(kDeterministic, CUDNN_DETERMINISTIC, 1)                                                                          \
  X(kDefaultMath, CUDNN_DEFAULT_MATH, 0)                                                                             \
  X(kTensorCores, CUDNN_TENSOR_OP_MATH, 1)                                                                           \
  X(kConverting, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, 2)                                                           \
  X(kOnlyFma, CUDNN_FMA_MATH, 3)                                                                                     \
  X(kRnnRelu, CUDNN_RNN_RELU, 0)                                                                                     \
  X(kRnnTanh, CUDNN_RNN_TANH, 1)                                                                                     \
  X(kRnnLstm, CUDNN_LSTM, 2)                                                                                         \
  X(kRnnGru, CUDNN_GRU, 3)                                                                                           \
  X(kRnnStandard, CUDNN_RNN_ALGO_STANDARD, 0)                                                                        \
  X(kRnnUnbiased, CUDNN_RNN_NO_BIAS, 0)                                                                              \
  X(kRnnTwoBiases, CUDNN_RNN_DOUBLE_BIAS, 2)                                                                         \
  X(kRnnOneWay, CUDNN_UNIDIRECTIONAL, 0)                                                                             \
  X(kRnnBothWays, CUDNN_BIDIRECTIONAL, 1)                                                                            \
  X(kRnnMultiplied, CUDNN_LINEAR_INPUT, 0)                                                                           \
  X(kRnnPacked, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 1)                                                           \
  X(kRnnInference, CUDNN_FWD_MODE_INFERENCE, 0)                                                                      \
  X(kRnnTraining, CUDNN_FWD_MODE_TRAINING, 1)                                                                        \
  X(kRnnAdds, CUDNN_WGRAD_MODE_ADD, 0)
// clang-format on

ADJOINT_DECLARE_FUNCTIONS(Functions, ADJOINT_EACH_CUDNN_FUNCTION);
ADJOINT_DECLARE_FUNCTIONS(RnnFunctions, ADJOINT_EACH_CUDNN_RNN_FUNCTION);
ADJOINT_EACH_CUDNN_NUMBER(ADJOINT_DECLARE_NUMBER)

}  // namespace adjoint::cuda::cudnn
