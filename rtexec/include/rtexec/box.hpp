// Plain values to which the outputs of a detector or a classifier are decoded.
#pragma once

#include <cstdint>

namespace rtexec {

/// A detected object. Its edges are in pixels of the network's input, after the picture was letterboxed into the input.
/// `right` and `bottom` are exclusive.
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

/// The kind of results that a workload recognises in its inputs: boxes of objects, classes, or nothing.
enum class Recognition { nothing, boxes, classes };

} // namespace rtexec
