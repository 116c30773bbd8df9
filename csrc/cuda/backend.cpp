// What a device computes itself; everything else goes by way of the CPU.
#include "cuda/backend.h"

#include "cuda/attention.h"
#include "cuda/convolution.h"
#include "cuda/distance.h"
#include "cuda/elementwise.h"
#include "cuda/fft.h"
#include "cuda/matmul.h"
#include "cuda/memory.h"
#include "cuda/recurrent.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

Backend native() {
  Backend table = through_cpu;
  table.memory = {.copy = copy,
                  .to_host = to_host,
                  .from_host = from_host,
                  .fill = fill,
                  .clear = clear,
                  .fill_unset = fill_unset,
                  .enumerate = enumerate,
                  .read = read,
                  .read_back = read};
  table.elementwise.kernel = on(DeviceType::Cpu).elementwise.kernel;
  table.elementwise.run = elementwise;
  table.elementwise.packed = elementwise_packed;
  table.matmul = {.gemm = gemm, .bmm = bmm, .sum_bmm = sum_bmm, .conjugate = conjugate};
  table.attention = {.forward = attention, .backward = attention_backward};
  table.convolution = {.forward = convolution,
                       .weight = convolution_weight,
                       .split_weight = split_conv_weight,
                       .join_weight = join_conv_weight};
  table.recurrent = {.lstm = lstm, .lstm_backward = lstm_backward};
  table.distance = {.cross = cross,
                    .cdist = cdist,
                    .cdist_backward = cdist_backward,
                    .pdist = pdist,
                    .pdist_backward = pdist_backward};
  table.fft = {.transform = fft};
  return table;
}

}  // namespace

const Backend backend = native();

}  // namespace adjoint::cuda
