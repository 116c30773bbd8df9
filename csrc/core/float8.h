// Floats of 8 bits: five formats, between which only the bits differ.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace adjoint {

/// Named by the bits of exponent and mantissa. FN: no infinities; UZ: no negative zero; E8M0: powers of two, no sign.
enum class Float8Format : uint8_t { E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0FNU };

/// What is known of a format with a mantissa.
struct Float8Traits {
  int mantissa;      ///< bits
  int bias;          ///< of the exponent
  uint8_t greatest;  ///< the code of the greatest finite number
  uint8_t overflow;  ///< what greater ones become
  uint8_t nan;
  bool negative_zero;  ///< whether there is a sign to 0, and to nan
};

template <Float8Format kFormat>
inline constexpr Float8Traits kFloat8 = [] {
  switch (kFormat) {
    case Float8Format::E4M3FN: return Float8Traits{3, 7, 0x7e, 0x7e, 0x7f, true};  // greater ones are cut off
    case Float8Format::E4M3FNUZ: return Float8Traits{3, 8, 0x7f, 0x80, 0x80, false};
    case Float8Format::E5M2: return Float8Traits{2, 15, 0x7b, 0x7c, 0x7f, true};
    default: return Float8Traits{2, 16, 0x7f, 0x80, 0x80, false};
  }
}();

/// The value of each code, from its parts.
template <Float8Format kFormat>
constexpr std::array<float, 256> float8_values() {
  std::array<float, 256> values{};
  // The bits of nan are torch's, too: a program may look at them.
  auto nan = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  auto power = [](int exponent) {
    float value = 1;
    for (; exponent > 0; --exponent) value *= 2;
    for (; exponent < 0; ++exponent) value /= 2;
    return value;
  };
  for (int code = 0; code < 256; ++code) {
    if constexpr (kFormat == Float8Format::E8M0FNU) {
      values[code] = code == 255 ? nan(0x7f800001u) : power(code - 127);
    } else {
      constexpr Float8Traits traits = kFloat8<kFormat>;
      const int magnitude = code & 0x7f, field = magnitude >> traits.mantissa;
      const int fraction = magnitude & ((1 << traits.mantissa) - 1);
      const int significand = field ? fraction + (1 << traits.mantissa) : fraction;
      float value = static_cast<float>(significand) * power((field ? field : 1) - traits.bias - traits.mantissa);
      if (traits.negative_zero && magnitude == traits.overflow && magnitude != traits.greatest) {
        value = nan(0x7f800000u);  // infinity
      } else if (traits.negative_zero && magnitude > traits.greatest) {
        value = nan(0x7fc00000u | static_cast<uint32_t>(fraction) << (23 - traits.mantissa));
      }
      values[code] = code & 0x80 ? -value : value;
      if (!traits.negative_zero && code == 0x80) values[code] = nan(0x7f800001u);
    }
  }
  return values;
}
template <Float8Format kFormat>
inline constexpr std::array<float, 256> kFloat8Values = float8_values<kFormat>();

/// The nearest code, the even one between two; without branches, so that loops of it can be made into vectors.
template <Float8Format kFormat>
inline uint8_t to_float8(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value), magnitude = word & 0x7fffffffu;
  if constexpr (kFormat == Float8Format::E8M0FNU) {
    // What lies in the middle goes up, but for the number between the two least ones; the sign is lost.
    const uint32_t half = magnitude < 0x00800000u ? 0x003fffffu : 0x00400000u;
    return static_cast<uint8_t>(magnitude >= 0x7f800000u ? 255 : (magnitude + half) >> 23);
  } else {
    constexpr Float8Traits traits = kFloat8<kFormat>;
    constexpr int cut = 23 - traits.mantissa;
    constexpr uint32_t least_normal = static_cast<uint32_t>(128 - traits.bias) << 23;
    // Normal numbers: round the bits that are cut off, then change the bias.
    const uint32_t rounded = magnitude + ((1u << (cut - 1)) - 1) + ((magnitude >> cut) & 1u);
    const uint32_t normal = (rounded >> cut) - (static_cast<uint32_t>(127 - traits.bias) << traits.mantissa);
    // Others: the sum with a number whose last bit is worth one step leaves the steps in its last bits.
    constexpr uint32_t steps = static_cast<uint32_t>(127 + 23 + 1 - traits.bias - traits.mantissa) << 23;
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(steps);
    const uint32_t small = std::bit_cast<uint32_t>(sum) - steps;
    uint32_t code = magnitude < least_normal ? small : normal;
    // As a comparison of what was given: `normal` wraps around for what is far above.
    constexpr uint32_t least_over =
        static_cast<uint32_t>(traits.greatest + 1 + ((127 - traits.bias) << traits.mantissa)) << cut;
    code = rounded >= least_over ? traits.overflow : code;
    code = magnitude > 0x7f800000u ? traits.nan : code;
    if constexpr (traits.negative_zero) return static_cast<uint8_t>(code | (word >> 24 & 0x80u));
    return static_cast<uint8_t>(code == 0 ? 0 : code | (word >> 24 & 0x80u));
  }
}

/// All arithmetic goes by way of float.
template <Float8Format kFormat>
struct Float8 {
  uint8_t bits;
  Float8() = default;
  explicit Float8(float value) : bits(to_float8<kFormat>(value)) {}
  operator float() const { return kFloat8Values<kFormat>[bits]; }
};

template <class T>
inline constexpr bool is_float8_v = false;
template <Float8Format kFormat>
inline constexpr bool is_float8_v<Float8<kFormat>> = true;

}  // namespace adjoint
