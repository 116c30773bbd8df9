#include "cuda/graphs.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/forked.h"
#include "cuda/launch.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

std::mutex mutex;
std::map<uint64_t, int> users;  // how many, by pool

// Graphs that are being captured, by thread; few look while there are none.
std::map<std::thread::id, CapturedGraph*> captures;
std::atomic<int> capturing_count{0};

void begin_draws(CapturedGraph* graph) {
  std::lock_guard lock(mutex);
  captures[std::this_thread::get_id()] = graph;
  capturing_count = static_cast<int>(captures.size());
}
void end_draws(CapturedGraph* graph) {
  std::lock_guard lock(mutex);
  std::erase_if(captures, [&](const auto& entry) { return entry.second == graph; });
  capturing_count = static_cast<int>(captures.size());
}

}  // namespace

uint64_t new_pool() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void retain_pool(uint64_t pool) {
  std::lock_guard lock(mutex);
  if (++users[pool] == 1) begin_pool(pool);
}
void release_pool(uint64_t pool) {
  if (forked()) return;
  std::lock_guard lock(mutex);
  if (--users[pool] > 0) return;
  users.erase(pool);
  free_pool(pool);
}
int pool_users(uint64_t pool) {
  std::lock_guard lock(mutex);
  auto entry = users.find(pool);
  return entry == users.end() ? 0 : entry->second;
}

CapturedGraph::~CapturedGraph() {
  if (forked()) return;
  try {
    reset();
  } catch (const Error&) {  // an earlier one, which the next call meets again
  }
}

void CapturedGraph::begin(uint64_t pool, int mode) {
  if (exec_ || capturing_)
    fail("This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.");
  reset();  // what a capture that failed has left
  device_ = current_device();
  stream_ = current_stream(device_);
  if (!stream_)
    fail(
        "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the "
        "default stream.); capture inside of torch.cuda.graph(g), which brings one");
  use(device_);
  const Device device{DeviceType::Cuda, static_cast<uint8_t>(device_)};
  draw_from(default_generator(device));
  for (Draws& draws : draws_) {
    draws.state = StoragePtr::steal(allocate(2 * sizeof(uint64_t), device));
    draws.fills = 0;
  }
  pool_ = pool ? pool : new_pool();
  retain_pool(pool_);
  capturer_ = std::this_thread::get_id();
  begin_capture_pool(device_, pool_);
  const Result result = driver().begin_capture(stream_, mode);
  if (result != kSuccess) {
    end_capture_pool(device_, capturer_, pool_);
    release_pool(std::exchange(pool_, 0));
    check(result, "beginning to capture a graph");
  }
  capturing_ = true;
  begin_draws(this);
  hold_generators(true);
}

void CapturedGraph::draw_from(Generator& generator) {
  if (exec_ || capturing_) fail("register_generator_state() must be called before capture_begin()");
  if (generator.device().type != DeviceType::Cuda)
    fail("register_generator_state(): the generator is of ", to_string(generator.device()),
         ", and a graph draws on a GPU; make one with torch.Generator(device='cuda')");
  const bool known = std::ranges::any_of(draws_, [&](const Draws& draws) { return draws.generator == &generator; });
  if (!known) draws_.push_back({&generator, {}, 0});
}

void CapturedGraph::hold_generators(bool held) {
  for (Draws& draws : draws_) draws.generator->hold(held);
}

DrawKey CapturedGraph::next_draws(const Generator& generator) {
  for (Draws& draws : draws_)
    if (draws.generator == &generator) return {0, draws.fills++, reinterpret_cast<const uint64_t*>(draws.state->data)};
  fail(
      "Attempt to increase offset for a CUDA generator not in capture mode.; call register_generator_state(generator) "
      "of the CUDAGraph before it is captured");
}

void CapturedGraph::end() {
  if (!capturing_) fail("CUDAGraph.capture_end(): there is no capture to end; call capture_begin() first");
  capturing_ = false;
  end_draws(this);
  hold_generators(false);
  use(device_);
  const Stream now = current_stream(device_);
  const Result result = driver().end_capture(stream_, &graph_);
  end_capture_pool(device_, capturer_, pool_);
  if (now != stream_) fail("Capture must end on the same stream it began on.");
  const RelaxedCapture relaxed;  // to make a graph takes memory, which ends captures of other threads
  check(result, "ending the capture of a graph");
  if (!graph_) fail("CUDAGraph: the capture was not valid; something in it needed the device to be waited for");
  check(driver().instantiate_graph(&exec_, graph_, 0), "making a graph ready");
  driver().destroy_graph(std::exchange(graph_, nullptr));
}

void CapturedGraph::launch() {
  if (!exec_) fail("Called CUDAGraph::replay without a preceding successful capture.");
  use(device_);
  for (Draws& draws : draws_) {
    if (draws.fills == 0) continue;
    const Philox now = draws.generator->take(draws.fills);
    StateArgs args = {reinterpret_cast<uint64_t*>(draws.state->data), now.seed, now.offset / 4};
    static const std::string source =
        "#include \"kernel.h\"\n#include \"philox.h\"\nusing namespace adjoint::cuda;\n"
        "ADJOINT_KERNEL(StateArgs, 32) { args.state[threadIdx.x] = threadIdx.x ? args.fill : args.seed; }\n";
    cuda::launch(Device{DeviceType::Cuda, static_cast<uint8_t>(device_)}, source, args, 1, 2);
    record_stream(draws.state.get(), current_stream(device_));
  }
  check(driver().launch_graph(exec_, current_stream(device_)), "launching a graph");
  finish_launch({DeviceType::Cuda, static_cast<uint8_t>(device_)});
}

void CapturedGraph::reset() {
  end_draws(this);
  if (capturing_) {
    capturing_ = false;
    hold_generators(false);
    use(device_);
    driver().end_capture(stream_, &graph_);
    end_capture_pool(device_, capturer_, pool_);
  }
  const RelaxedCapture relaxed;  // to give one up gives it back
  if (graph_) driver().destroy_graph(std::exchange(graph_, nullptr));
  if (exec_) {
    use(device_);
    driver().destroy_graph_exec(std::exchange(exec_, nullptr));  // it may still run, and goes when that is done
  }
  for (Draws& draws : draws_) draws.state = {};
  if (pool_) release_pool(std::exchange(pool_, 0));
}

uint64_t CapturedGraph::pool() const {
  if (!pool_) fail("Called CUDAGraph::pool() without a preceding successful capture.");
  return pool_;
}

int running_captures() { return capturing_count; }

DrawKey take_draws(Generator& generator, Device device) {
  if (capturing_count != 0 && is_capturing(device.index)) [[unlikely]] {
    CapturedGraph* graph = nullptr;
    {
      std::lock_guard lock(mutex);
      if (auto entry = captures.find(std::this_thread::get_id()); entry != captures.end()) graph = entry->second;
    }
    if (graph) return graph->next_draws(generator);
  }
  const Philox now = generator.take();
  return {now.seed, now.offset / 4, nullptr};
}

}  // namespace adjoint::cuda
