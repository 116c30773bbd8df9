// A stand-in for cuDNN's recurrent networks, as csrc/cuda/cudnn_recurrent.cpp calls them: sequence by sequence, in
// double precision. What a forward keeps is the number of its run; the runs are kept to the end of the process. As in
// cuDNN, a backward writes over what was kept: a second one from there gives nonsense.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "driver.h"
#include "halves.h"

namespace {

constexpr int kSuccess = 0, kBadParameter = 2000, kWorkspace = 4096, kReserve = 64;
constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBrain = 9;
enum Cell { kRelu, kTanh, kLstm, kGru };
using Numbers = std::vector<double>;

struct Rnn {
  int cell = 0, two_biases = 0, directions = 1, type = -1, math = -1, features = 0, size = 0, layers = 0;

  int gates() const { return cell == kLstm ? 4 : cell == kGru ? 3 : 1; }
  int width(int layer) const { return layer == 0 ? features : directions * size; }
  int places() const { return layers * directions; }
  int item() const { return type == kDouble ? 8 : type == kFloat ? 4 : 2; }
  /// Where the matrices of a layer and direction begin, in elements; of the one after the last: where biases do.
  int64_t start(int place) const {
    int64_t at = 0;
    for (int before = 0; before < place; ++before) at += int64_t{gates()} * size * (width(before / directions) + size);
    return at;
  }
  int64_t bias(int place) const { return start(places()) + int64_t{place} * 2 * gates() * size; }
  int64_t weights() const { return two_biases ? bias(places()) : start(places()); }
};

struct Data {
  int type = -1, steps = 0, batch = 0, width = 0;
  std::vector<int> lengths;

  /// How many sequences are as long as this step.
  int64_t count(int step) const {
    int64_t n = 0;
    for (int length : lengths) n += length > step;
    return n;
  }
  /// The row of a sequence at a step.
  std::vector<int64_t> starts() const {
    std::vector<int64_t> all(1, 0);
    for (int step = 0; step < steps; ++step) all.push_back(all.back() + count(step));
    return all;
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// What a layer does in one direction: all of it that a backward asks for, row by row.
struct Trace {
  Numbers gates, hidden_n, hidden, cells;
};

/// A call: its inputs as numbers, and what is made of them.
struct Run {
  Rnn rnn;
  Data data;
  Numbers input, hx, cx, weights;
  std::vector<int64_t> starts = data.starts();
  std::vector<Trace> traces = {};
  std::vector<Numbers> layers = {};  ///< the inputs of each, and the result

  int64_t rows() const { return starts.back(); }
  const double* matrix(int place) const { return weights.data() + rnn.start(place); }

  /// visit(sequence, its step, the step before or -1) as a direction walks.
  template <class Visit>
  void walk(int direction, bool back, Visit visit) const {
    for (int i = 0; i < data.batch; ++i) {
      const int length = data.lengths[static_cast<size_t>(i)];
      for (int n = 0; n < length; ++n) {
        const int turn = back ? length - 1 - n : n, step = direction == 0 ? turn : length - 1 - turn;
        visit(i, step, turn == 0 ? -1 : direction == 0 ? step - 1 : step + 1, turn == length - 1);
      }
    }
  }
  int64_t row(int i, int step) const { return starts[static_cast<size_t>(step)] + i; }
  int64_t state(int place, int i) const { return (int64_t{place} * data.batch + i) * rnn.size; }

  void forward() {
    layers.assign(1, input);
    for (int layer = 0; layer < rnn.layers; ++layer) {
      Numbers result(static_cast<size_t>(rows() * rnn.directions * rnn.size));
      for (int direction = 0; direction < rnn.directions; ++direction) run(layer, direction, result);
      layers.push_back(result);
    }
  }

  void run(int layer, int direction, Numbers& result) {
    const int place = layer * rnn.directions + direction, H = rnn.size, G = rnn.gates(), width = rnn.width(layer);
    Trace trace;
    trace.gates.resize(static_cast<size_t>(rows() * G * H));
    for (Numbers* one : {&trace.hidden_n, &trace.hidden, &trace.cells}) one->resize(static_cast<size_t>(rows() * H));
    const double *of_input = matrix(place), *of_hidden = of_input + int64_t{G} * H * width;
    const double* biases = rnn.two_biases ? weights.data() + rnn.bias(place) : nullptr;
    const Numbers& in = layers.back();
    walk(direction, false, [&](int i, int step, int before, bool) {
      const int64_t r = row(i, step);
      const double* h = before < 0 ? hx.data() + state(place, i) : trace.hidden.data() + row(i, before) * H;
      double* gates = trace.gates.data() + r * G * H;
      for (int k = 0; k < G * H; ++k) {
        double x = biases ? biases[k] : 0, y = biases ? biases[G * H + k] : 0;
        for (int j = 0; j < width; ++j) x += of_input[int64_t{k} * width + j] * in[static_cast<size_t>(r * width + j)];
        for (int j = 0; j < H; ++j) y += of_hidden[int64_t{k} * H + j] * h[j];
        const int gate = k / H;
        if (rnn.cell == kRelu) gates[k] = std::fmax(x + y, 0.0);
        if (rnn.cell == kTanh || (rnn.cell == kLstm && gate == 2)) gates[k] = std::tanh(x + y);
        if ((rnn.cell == kLstm && gate != 2) || (rnn.cell == kGru && gate < 2)) gates[k] = sigmoid(x + y);
        if (rnn.cell == kGru && gate == 2) {
          trace.hidden_n[static_cast<size_t>(r * H + k - 2 * H)] = y;
          gates[k] = std::tanh(x + gates[k - 2 * H] * y);
        }
      }
      for (int j = 0; j < H; ++j) {
        double& now = trace.hidden[static_cast<size_t>(r * H + j)];
        now = gates[j];
        if (rnn.cell == kGru) now = (1 - gates[H + j]) * gates[2 * H + j] + gates[H + j] * h[j];
        if (rnn.cell == kLstm) {
          const double c = before < 0 ? cx[static_cast<size_t>(state(place, i) + j)]
                                      : trace.cells[static_cast<size_t>(row(i, before) * H + j)];
          const double cell = gates[H + j] * c + gates[j] * gates[2 * H + j];
          trace.cells[static_cast<size_t>(r * H + j)] = cell;
          now = gates[3 * H + j] * std::tanh(cell);
        }
        result[static_cast<size_t>((r * rnn.directions + direction) * H + j)] = now;
      }
    });
    traces.push_back(trace);
  }

  /// The states after the last steps, of hidden or cell states.
  Numbers last(bool cells) const {
    Numbers all(static_cast<size_t>(int64_t{rnn.places()} * data.batch * rnn.size));
    for (int place = 0; place < rnn.places(); ++place) {
      const Trace& trace = traces[static_cast<size_t>(place)];
      walk(place % rnn.directions, false, [&](int i, int step, int, bool ends) {
        for (int j = 0; ends && j < rnn.size; ++j)
          all[static_cast<size_t>(state(place, i) + j)] =
              (cells ? trace.cells : trace.hidden)[static_cast<size_t>(row(i, step) * rnn.size + j)];
      });
    }
    return all;
  }

  /// The gradients of the input and the first states, and of the weights, which are added up.
  void backward(Numbers grad, const Numbers& from_hidden, const Numbers& from_cells, Numbers& for_input,
                Numbers& for_hidden, Numbers& for_cells, Numbers& for_weights) const {
    for_hidden = from_hidden, for_cells = from_cells;
    for_weights.assign(weights.size(), 0);
    const int H = rnn.size, G = rnn.gates();
    for (int layer = rnn.layers - 1; layer >= 0; --layer) {
      const int width = rnn.width(layer);
      const Numbers& in = layers[static_cast<size_t>(layer)];
      for_input.assign(in.size(), 0);
      for (int direction = 0; direction < rnn.directions; ++direction) {
        const int place = layer * rnn.directions + direction;
        const Trace& trace = traces[static_cast<size_t>(place)];
        const int64_t begin = rnn.start(place), middle = begin + int64_t{G} * H * width;
        walk(direction, true, [&](int i, int step, int before, bool) {
          const int64_t r = row(i, step);
          const double* gates = trace.gates.data() + r * G * H;
          const double* h = before < 0 ? hx.data() + state(place, i) : trace.hidden.data() + row(i, before) * H;
          double* dh = for_hidden.data() + state(place, i);
          Numbers of_x(static_cast<size_t>(G * H)), of_y(of_x), next(static_cast<size_t>(H));
          for (int j = 0; j < H; ++j) {
            const double g = dh[j] + grad[static_cast<size_t>((r * rnn.directions + direction) * H + j)];
            auto sums = [&](int gate, double x) {
              of_x[static_cast<size_t>(gate * H + j)] = of_y[static_cast<size_t>(gate * H + j)] = x;
            };
            if (rnn.cell == kRelu) sums(0, gates[j] > 0 ? g : 0);
            if (rnn.cell == kTanh) sums(0, g * (1 - gates[j] * gates[j]));
            if (rnn.cell == kLstm) {
              double& dc = for_cells[static_cast<size_t>(state(place, i) + j)];
              const double a = gates[j], f = gates[H + j], n = gates[2 * H + j], o = gates[3 * H + j];
              const double active = std::tanh(trace.cells[static_cast<size_t>(r * H + j)]);
              const double c = before < 0 ? cx[static_cast<size_t>(state(place, i) + j)]
                                          : trace.cells[static_cast<size_t>(row(i, before) * H + j)];
              dc += g * o * (1 - active * active);
              sums(0, dc * n * a * (1 - a));
              sums(1, dc * c * f * (1 - f));
              sums(2, dc * a * (1 - n * n));
              sums(3, g * active * o * (1 - o));
              dc *= f;
            }
            if (rnn.cell == kGru) {
              const double reset = gates[j], z = gates[H + j], n = gates[2 * H + j];
              const double part = trace.hidden_n[static_cast<size_t>(r * H + j)], dn = g * (1 - z) * (1 - n * n);
              sums(0, dn * part * reset * (1 - reset));
              sums(1, g * (h[j] - n) * z * (1 - z));
              of_x[static_cast<size_t>(2 * H + j)] = dn;
              of_y[static_cast<size_t>(2 * H + j)] = dn * reset;
              next[static_cast<size_t>(j)] = g * z;
            }
          }
          for (int k = 0; k < G * H; ++k) {
            const double x = of_x[static_cast<size_t>(k)], y = of_y[static_cast<size_t>(k)];
            for (int j = 0; j < width; ++j) {
              const size_t at = static_cast<size_t>(r * width + j),
                           weight = static_cast<size_t>(begin + int64_t{k} * width + j);
              for_input[at] += x * weights[weight];
              for_weights[weight] += x * in[at];
            }
            for (int j = 0; j < H; ++j) {
              const size_t weight = static_cast<size_t>(middle + int64_t{k} * H + j);
              next[static_cast<size_t>(j)] += y * weights[weight];
              for_weights[weight] += y * h[j];
            }
            if (!rnn.two_biases) continue;
            for_weights[static_cast<size_t>(rnn.bias(place) + k)] += x;
            for_weights[static_cast<size_t>(rnn.bias(place) + G * H + k)] += y;
          }
          std::memcpy(dh, next.data(), next.size() * sizeof(double));
        });
      }
      grad = for_input;
    }
  }
};

// ---- Numbers of the device's types

template <class F>
void with_type(int type, F f) {
  switch (type) {
    case kDouble: f(double()); break;
    case kHalf: f(HalfBits()); break;
    case kBrain: f(BrainBits()); break;
    default: f(float());
  }
}
Numbers read(int type, const void* from, int64_t count) {
  Numbers all(static_cast<size_t>(from ? count : 0));
  with_type(type, [&](auto tag) {
    for (size_t i = 0; i < all.size(); ++i) all[i] = load(static_cast<const decltype(tag)*>(from)[i]);
  });
  return all;
}
void write(int type, void* to, const Numbers& from) {
  with_type(type, [&]<class T>(T) {
    for (size_t i = 0; to && i < from.size(); ++i)
      store(static_cast<T*>(to)[i], static_cast<decltype(load(T()))>(from[i]));
  });
}

Run run_of(const Rnn& rnn, const Data& data, const void* x, const void* hx, const void* cx, const void* weights) {
  const int64_t states = int64_t{rnn.places()} * data.batch * rnn.size;
  Run run{
      rnn, data, {}, read(rnn.type, hx, states), read(rnn.type, cx, states), read(rnn.type, weights, rnn.weights())};
  run.input = read(rnn.type, x, run.rows() * rnn.features);
  run.forward();
  return run;
}

/// A forward's run, and the gradients of its weights once they are known.
struct Kept {
  Run run;
  Numbers for_weights;
};
std::map<int64_t, Kept> kept;  // the device's thread alone comes here

void keep(void* reserve, const Run& run) {
  const auto number = static_cast<int64_t>(kept.size()) + 1;
  kept.insert({number, Kept{run, {}}});
  const int64_t fresh[] = {number, 1};
  std::memcpy(reserve, fresh, sizeof(fresh));
}
/// Whether no backward has begun from here; one begins now.
bool take_fresh(void* reserve) {
  int64_t words[2];
  std::memcpy(words, reserve, sizeof(words));
  const bool fresh = std::exchange(words[1], 0) != 0;
  std::memcpy(reserve, words, sizeof(words));
  return fresh;
}
Kept& kept_in(const void* reserve, const Rnn& rnn) {
  int64_t number;
  std::memcpy(&number, reserve, sizeof(number));
  const auto found = kept.find(number);
  if (found == kept.end() || found->second.run.rnn.math != rnn.math) std::abort();
  return found->second;
}

bool fit(const Rnn& rnn, const Data& x, const Data& y, size_t weights, size_t workspace) {
  return x.type == rnn.type && y.type == rnn.type && x.width == rnn.features && y.width == rnn.directions * rnn.size &&
         x.lengths == y.lengths && workspace >= kWorkspace &&
         weights == static_cast<size_t>(rnn.weights() * rnn.item());
}
/// The lengths that are on the device are those that the program has told.
void ask_for(const int* there, const Data& data) {
  if (std::memcmp(there, data.lengths.data(), data.lengths.size() * sizeof(int)) != 0) std::abort();
}

}  // namespace

extern "C" {

int cudnnCreateDropoutDescriptor(void** descriptor) {
  *descriptor = new float(-1);
  return kSuccess;
}
int cudnnDestroyDropoutDescriptor(void* descriptor) {
  delete static_cast<float*>(descriptor);
  return kSuccess;
}
int cudnnSetDropoutDescriptor(void* descriptor, void*, float dropout, void* states, size_t bytes, unsigned long long) {
  if (dropout != 0 || states || bytes) return kBadParameter;
  *static_cast<float*>(descriptor) = dropout;
  return kSuccess;
}
int cudnnCreateRNNDescriptor(Rnn** descriptor) {
  *descriptor = new Rnn;
  return kSuccess;
}
int cudnnDestroyRNNDescriptor(Rnn* descriptor) {
  delete descriptor;
  return kSuccess;
}
int cudnnSetRNNDescriptor_v8(Rnn* rnn, int algorithm, int cell, int biases, int directions, int input_mode, int type,
                             int compute, int math, int features, int size, int projected, int layers, void* dropout,
                             unsigned flags) {
  const bool halves = type == kHalf || type == kBrain;
  if (algorithm != 0 || input_mode != 0 || flags != 0 || projected != size || *static_cast<float*>(dropout) != 0 ||
      compute != (type == kDouble ? kDouble : kFloat) || halves != (math == 1) || (biases != 0 && biases != 2))
    return kBadParameter;
  *rnn = {cell, biases == 2, 1 + directions, type, math, features, size, layers};
  return kSuccess;
}
int cudnnCreateRNNDataDescriptor(Data** descriptor) {
  *descriptor = new Data;
  return kSuccess;
}
int cudnnDestroyRNNDataDescriptor(Data* descriptor) {
  delete descriptor;
  return kSuccess;
}
int cudnnSetRNNDataDescriptor(Data* data, int type, int layout, int steps, int batch, int width, const int* lengths,
                              void* filling) {
  if (layout != 1 || filling || steps <= 0 || batch <= 0 || width <= 0) return kBadParameter;
  *data = {type, steps, batch, width, {lengths, lengths + batch}};
  for (int i = 0; i < batch; ++i)
    if (lengths[i] <= 0 || lengths[i] > (i ? lengths[i - 1] : steps)) return kBadParameter;
  return kSuccess;
}
int cudnnGetRNNWeightSpaceSize(void*, Rnn* rnn, size_t* bytes) {
  *bytes = static_cast<size_t>(rnn->weights() * rnn->item());
  return kSuccess;
}
int cudnnGetRNNWeightParams(void*, Rnn* rnn, int place, size_t, const void* start, int gate, void*, void** matrix,
                            void*, void** bias) {
  const int64_t of_input = int64_t{rnn->size} * rnn->width(place / rnn->directions);
  const int64_t at = rnn->start(place) + (gate < rnn->gates() ? gate * of_input
                                                              : rnn->gates() * of_input + int64_t{gate - rnn->gates()} *
                                                                                              rnn->size * rnn->size);
  auto address = [&](int64_t element) {
    return const_cast<char*>(static_cast<const char*>(start)) + element * rnn->item();
  };
  *matrix = address(at);
  *bias = rnn->two_biases ? address(rnn->bias(place) + int64_t{gate} * rnn->size) : nullptr;
  return kSuccess;
}
int cudnnGetRNNTempSpaceSizes(void*, Rnn*, int training, Data*, size_t* workspace, size_t* reserve) {
  *workspace = kWorkspace;
  *reserve = training ? kReserve : 0;
  return kSuccess;
}
int cudnnRNNForward(void*, Rnn* rnn, int training, const int* lengths, Data* xd, const void* x, Data* yd, void* y,
                    void*, const void* hx, void* hy, void*, const void* cx, void* cy, size_t weight_bytes,
                    const void* weights, size_t workspace, void*, size_t reserve_bytes, void* reserve) {
  if (const int code = standin::begin_call("cudnnRNNForward")) return code;
  if (!fit(*rnn, *xd, *yd, weight_bytes, workspace) || reserve_bytes != (training ? kReserve : 0)) return kBadParameter;
  standin::enqueue([=, net = *rnn, data = *xd] {
    ask_for(lengths, data);
    const Run run = run_of(net, data, x, hx, cx, weights);
    write(net.type, y, run.layers.back());
    write(net.type, hy, run.last(false));
    if (net.cell == kLstm) write(net.type, cy, run.last(true));
    if (training) keep(reserve, run);
  });
  return kSuccess;
}

int cudnnRNNBackwardData_v8(void*, Rnn* rnn, const int* lengths, Data* yd, const void*, const void* dy, Data* xd,
                            void* dx, void*, const void*, const void* dhy, void* dhx, void*, const void*,
                            const void* dcy, void* dcx, size_t weight_bytes, const void*, size_t workspace, void*,
                            size_t reserve_bytes, void* reserve) {
  if (const int code = standin::begin_call("cudnnRNNBackwardData_v8")) return code;
  if (!fit(*rnn, *xd, *yd, weight_bytes, workspace) || reserve_bytes != kReserve) return kBadParameter;
  standin::enqueue([=, net = *rnn, data = *xd] {
    ask_for(lengths, data);
    Kept& mine = kept_in(reserve, net);
    const int64_t states = int64_t{net.places()} * data.batch * net.size;
    Numbers grad = read(net.type, dy, mine.run.rows() * net.directions * net.size);
    if (!take_fresh(reserve)) grad.assign(grad.size(), 1e6);
    Numbers for_input, for_hidden, for_cells;
    mine.run.backward(grad, read(net.type, dhy, states), read(net.type, dcy, states), for_input, for_hidden, for_cells,
                      mine.for_weights);
    write(net.type, dx, for_input);
    write(net.type, dhx, for_hidden);
    write(net.type, dcx, for_cells);
  });
  return kSuccess;
}
int cudnnRNNBackwardWeights_v8(void*, Rnn* rnn, int mode, const int* lengths, Data* xd, const void*, void*, const void*,
                               Data* yd, const void*, size_t weight_bytes, void* dweights, size_t workspace, void*,
                               size_t reserve_bytes, void* reserve) {
  if (const int code = standin::begin_call("cudnnRNNBackwardWeights_v8")) return code;
  if (!fit(*rnn, *xd, *yd, weight_bytes, workspace) || reserve_bytes != kReserve || mode != 0) return kBadParameter;
  standin::enqueue([=, net = *rnn, data = *xd] {
    ask_for(lengths, data);
    Numbers sums = read(net.type, dweights, net.weights());
    const Numbers& more = kept_in(reserve, net).for_weights;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
    write(net.type, dweights, sums);
  });
  return kSuccess;
}

}  // extern "C"
