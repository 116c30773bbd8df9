// Under the name of cpu/isa.h: device code has one instruction set, and a namespace for it.
#pragma once

#define ADJOINT_ISA device
