// What most files include, compiled once where the package is built for installation (ADJOINT_PRECOMPILE). Files
// include what they use all the same: builds without it show what is missing.
#pragma once

#include <Python.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/batched.h"
#include "core/error.h"
#include "core/lock.h"
#include "core/mode.h"
#include "core/sparse.h"
#include "core/tangent.h"
#include "core/tensor.h"
