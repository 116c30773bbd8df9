// Under the name of cpu/vector_math.h: a device's functions of numbers are what they are.
#pragma once

#define ADJOINT_VECTOR_FLOAT(name)
#define ADJOINT_VECTOR_UNARY(name)
#define ADJOINT_VECTOR_BINARY(name)
