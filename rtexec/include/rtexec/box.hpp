// A detected object: what a detector's outputs are decoded to. A plain value.
#pragma once

#include <cstdint>

namespace rtexec {

/// Edges in pixels of the network's input, into which the picture was letterboxed; right and bottom are excluded.
struct Box {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
  float score = 0;         // 0 to 1
  std::uint32_t label = 0; // class number
};

} // namespace rtexec
