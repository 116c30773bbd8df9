#include "cuda/graphs.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/runtime.h"

namespace adjoint::cuda {
namespace {

std::mutex mutex;
std::map<uint64_t, int> users;  // graphs by the pool that they have

void release_pool(uint64_t pool) {
  {
    std::lock_guard lock(mutex);
    if (--users[pool] > 0) return;
    users.erase(pool);
  }
  free_pool(pool);
}

}  // namespace

uint64_t new_pool() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void CapturedGraph::begin(uint64_t pool, int mode) {
  if (exec_ || capturing_)
    fail("This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.");
  device_ = current_device();
  stream_ = current_stream(device_);
  if (!stream_)
    fail(
        "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the "
        "default stream.); capture inside of torch.cuda.graph(g), which brings one");
  use(device_);
  pool_ = pool ? pool : new_pool();
  {
    std::lock_guard lock(mutex);
    ++users[pool_];
  }
  begin_capture_pool(device_, pool_);
  const Result result = driver().begin_capture(stream_, mode);
  if (result != kSuccess) {
    end_capture_pool(device_);
    release_pool(std::exchange(pool_, 0));
    check(result, "beginning to capture a graph");
  }
  capturing_ = true;
}

void CapturedGraph::end() {
  if (!capturing_) fail("CUDAGraph.capture_end(): there is no capture to end; call capture_begin() first");
  capturing_ = false;
  use(device_);
  const Stream now = current_stream(device_);
  const Result result = driver().end_capture(stream_, &graph_);
  end_capture_pool(device_);
  if (now != stream_) fail("Capture must end on the same stream it began on.");
  check(result, "ending the capture of a graph");
  if (!graph_) fail("CUDAGraph: the capture was not valid; something in it needed the device to be waited for");
  check(driver().instantiate_graph(&exec_, graph_, 0), "making a graph ready");
  driver().destroy_graph(std::exchange(graph_, nullptr));
}

void CapturedGraph::launch() {
  if (!exec_) fail("Called CUDAGraph::replay without a preceding successful capture.");
  use(device_);
  check(driver().launch_graph(exec_, current_stream(device_)), "launching a graph");
  if (waits_for_launches()) synchronize(device_, current_stream(device_));
}

void CapturedGraph::reset() {
  if (capturing_) {
    capturing_ = false;
    use(device_);
    driver().end_capture(stream_, &graph_);
    end_capture_pool(device_);
  }
  if (graph_) driver().destroy_graph(std::exchange(graph_, nullptr));
  if (exec_) {
    use(device_);
    driver().synchronize();  // it may still run, and its memory goes
    driver().destroy_graph_exec(std::exchange(exec_, nullptr));
  }
  if (pool_) release_pool(std::exchange(pool_, 0));
}

uint64_t CapturedGraph::pool() const {
  if (!pool_) fail("Called CUDAGraph::pool() without a preceding successful capture.");
  return pool_;
}

}  // namespace adjoint::cuda
