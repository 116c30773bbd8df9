"""Operations on the bits of integers, and on booleans as single bits."""

from .language import elementwise
from .out_words import FOUND_DTYPE

# fmt: off

elementwise("bitwise_and(input, other)", lambda input, other: input & other, types="only integer bool",
            stored="unsigned",
            numbers="input other")
elementwise("bitwise_or(input, other)", lambda input, other: input | other, types="only integer bool",
            stored="unsigned",
            numbers="input other")
elementwise("bitwise_xor(input, other)", lambda input, other: input ^ other, types="only integer bool",
            stored="unsigned",
            numbers="input other")
elementwise("bitwise_not(input)", lambda input: ~input, out="exact", out_words=FOUND_DTYPE, types="only integer bool")
elementwise("bitwise_left_shift(input, other)", lambda input, other: input << other, types="only integer",
            numbers="input other")
elementwise("bitwise_right_shift(input, other)", lambda input, other: input >> other, types="only integer",
            numbers="input other")
