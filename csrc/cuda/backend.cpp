// What a device computes itself; everything else goes by way of the CPU.
#include "cuda/backend.h"

#include "cuda/elementwise.h"
#include "cuda/memory.h"
#include "cuda/random.h"
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
  table.random = random_kernels(through_cpu.random);
  return table;
}

}  // namespace

const Backend backend = native();

}  // namespace adjoint::cuda
