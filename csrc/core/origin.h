// Which op runs, and which line of the program called it: noted where that may be asked for when it is long over.
//
// Note [Origins]. A kernel finds a wrong index, and memory runs out, long after the line that is to blame has run. An
// origin is the number of an entry in a table of lines and ops. Entries stay, so that it can be copied, given to
// kernels and kept in graphs without a thought of who owns it; the table has room for kMostOrigins, which no program
// has lines for, and what comes after that has no origin. Origins are noted after `note_origins()` only, which devices
// call on which work is done behind the program.
#pragma once

#include <cstdint>
#include <string>

#include "core/mode.h"

namespace adjoint {

using Origin = uint32_t;  ///< 0: not known
inline constexpr Origin kMostOrigins = 1 << 16;

/// The op that runs on this thread, if any: what name_number() made of its name.
extern thread_local ADJOINT_FAST_TLS constinit uint32_t running_op;
/// The number under which a name is kept. The interpreter's lock must be held.
uint32_t name_number(const std::string& name);

/// Origins are wanted from now on.
void note_origins();
/// The running line and op; where this thread has no lock, those that it had when it gave up the lock.
Origin origin();
/// The running line alone.
Origin origin_of_line();

/// What is known of an origin; all empty where nothing is.
struct OriginFacts {
  std::string op, file, function;
  int line = 0;
};
OriginFacts facts(Origin origin);
/// "index, called at train.py:12 in step", "train.py:12 in step", or "".
std::string in_words(Origin origin);

}  // namespace adjoint
