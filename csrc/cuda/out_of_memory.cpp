#include "cuda/out_of_memory.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/runtime.h"

namespace adjoint::cuda {
namespace {

std::string in_words(int64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
  auto size = static_cast<double>(bytes);
  int unit = 0;
  for (; unit < 3 && size > 1024; ++unit) size /= 1024;
  std::ostringstream text;
  text.precision(unit == 0 ? 0 : 2);
  text << std::fixed << size << ' ' << kUnits[unit];
  return text.str();
}

/// What one line has made.
struct Share {
  std::string line;
  int64_t bytes = 0, blocks = 0;

  std::string words() const {
    return "\n  " + in_words(bytes) + " in " + std::to_string(blocks) + (blocks == 1 ? " block: " : " blocks: ") + line;
  }
};

/// The lines that made what is held, those with the most first, and what has none.
std::string holders(int index) {
  constexpr size_t kMostLines = 8;
  std::map<std::string, Share> by_line;
  for (const SegmentInfo& segment : snapshot()) {
    for (const BlockInfo& block : segment.blocks) {
      if (segment.device != index || !block.used) continue;
      const std::string line = adjoint::in_words(block.origin);
      Share& share = by_line[line];
      share.line = line;
      share.bytes += static_cast<int64_t>(block.size);
      ++share.blocks;
    }
  }
  Share others = by_line[""];
  by_line.erase("");
  others.line = "of 1 MiB and less, or made by no line of Python";
  std::vector<Share> shares;
  for (auto& [line, share] : by_line) shares.push_back(std::move(share));
  std::ranges::sort(shares, [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
  std::string text;
  Share rest{"made by other lines"};
  for (size_t i = 0; i < shares.size(); ++i) {
    if (i < kMostLines) {
      text += shares[i].words();
    } else {
      rest.bytes += shares[i].bytes;
      rest.blocks += shares[i].blocks;
    }
  }
  if (rest.blocks) text += rest.words();
  if (others.blocks) text += others.words();
  return text.empty() ? text : ". What holds memory, and which line made it:" + text;
}

}  // namespace

void fail_memory(int index, size_t nbytes) {
  const MemoryStats stats = memory_stats(index);
  const size_t limit = memory_limit(index);
  const int64_t allocated = stats.both.allocated.now, reserved = stats.both.reserved.now;
  size_t free = 0, total = 0;
  driver().memory_info(&free, &total);
  fail(ErrorKind::OutOfDeviceMemory, "CUDA out of memory. Tried to allocate ", in_words(static_cast<int64_t>(nbytes)),
       ". GPU ", index, " has a total capacity of ", in_words(static_cast<int64_t>(total)), " of which ",
       in_words(static_cast<int64_t>(free)), " is free. ",
       limit == SIZE_MAX ? std::string() : in_words(static_cast<int64_t>(limit)) + " allowed; ", "Live tensors hold ",
       in_words(allocated), ", and ", in_words(reserved - allocated),
       " are kept for new ones; free tensors that are not needed, use a smaller batch, or "
       "torch.utils.checkpoint for what backward keeps",
       holders(index));
}

}  // namespace adjoint::cuda
