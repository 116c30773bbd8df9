#include "cpu/random_draws.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "cpu/random_draws_isa.h"

namespace adjoint {
namespace {

void refill(Twister& twister) {
  chosen<TwisterLoops>.advance(twister.words);
  chosen<TwisterLoops>.temper(twister.words, twister.draws, Twister::kWords);
  twister.next = 0;
  twister.end = Twister::kWords;
}

uint32_t draw(Twister& twister) {
  if (twister.next == twister.end) refill(twister);
  return twister.draws[twister.next++];
}

}  // namespace

void draw_words(Generator& generator, uint32_t* out, int64_t count) {
  Twister& twister = generator.twister();
  while (count > 0) {
    if (twister.next == twister.end) refill(twister);
    int64_t taken = std::min<int64_t>(count, twister.end - twister.next);
    std::memcpy(out, twister.draws + twister.next, static_cast<size_t>(taken) * sizeof(uint32_t));
    twister.next += static_cast<int32_t>(taken);
    out += taken;
    count -= taken;
  }
}

uint64_t draw_pair(Generator& generator) {
  uint64_t upper = draw(generator.twister());
  return upper << 32 | draw(generator.twister());
}

double draw_normal(Generator& generator) {
  std::optional<double>& waiting = generator.twister().normal;
  if (waiting) {
    double value = *waiting;
    waiting.reset();
    return value;
  }
  double turn = static_cast<double>(draw_pair(generator) & kMask53) * 0x1p-53;
  double depth = static_cast<double>(draw_pair(generator) & kMask53) * 0x1p-53;
  double radius = std::sqrt(-2 * std::log1p(-depth));
  double angle = 2 * std::numbers::pi * turn;
  waiting = radius * std::sin(angle);
  return radius * std::cos(angle);
}

}  // namespace adjoint
