// What decoded outputs consist of.
#pragma once

#include <cstdint>

namespace rtexec::tasks {

/// A detected object. Edges in pixels of the network's input (Letterbox::to_picture gives those of the picture).
struct Box {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
  float score = 0;         // 0 to 1
  std::uint32_t label = 0; // class number
};

/// One of the most probable classes of a classifier.
struct RankedClass {
  std::uint32_t label = 0;
  float score = 0; // softmax probability
};

} // namespace rtexec::tasks
