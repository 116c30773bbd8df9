#include "core/deterministic.h"

#include <string>

#include "core/warning.h"

namespace adjoint {

void alert_not_deterministic(const char* op) {
  if (!deterministic.enabled) return;
  if (!deterministic.warn_only)
    fail(op,
         " does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You "
         "can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's "
         "acceptable for your application.");
  std::string text = std::string(op) +
                     " does not have a deterministic implementation, but you set "
                     "'torch.use_deterministic_algorithms(True, warn_only=True)'.";
  warn(text.c_str());
}

}  // namespace adjoint
