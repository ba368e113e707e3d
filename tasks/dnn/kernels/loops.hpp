// Nested loops over tensors that are laid out differently: dimensions that every operand runs through alike become one.
#pragma once

#include "tasks/dnn/graph/graph.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtexec::tasks::kernels {

template <std::size_t operands> class Loops {
 public:
  using Offsets = std::array<std::int64_t, operands>;

  /// strides[k][d] is what operand k moves by when dimension d of `shape` moves by one; all in elements.
  Loops(const Shape& shape, const std::array<std::vector<std::int64_t>, operands>& strides) {
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (shape[d] == 1) continue;
      Offsets step{};
      for (std::size_t k = 0; k < operands; ++k) step[k] = strides[k][d];
      if (!loops_.empty() && continues(step)) loops_.back().count *= shape[d];
      else loops_.push_back({shape[d], step});
    }
    if (loops_.empty()) loops_.push_back({1, Offsets{}});
  }

  /// Of the innermost loop
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(loops_.front().count); }
  [[nodiscard]] const Offsets& step() const { return loops_.front().step; }

  /// Calls f with each operand's offset at the beginning of each innermost loop.
  template <class F> void run(F f) const noexcept {
    std::array<std::int64_t, max_rank> index{};
    Offsets at{};
    for (;;) {
      f(at);
      std::size_t d = 1;
      for (; d < loops_.size(); ++d) {
        for (std::size_t k = 0; k < operands; ++k) at[k] += loops_[d].step[k];
        if (++index[d] < loops_[d].count) break;
        for (std::size_t k = 0; k < operands; ++k) at[k] -= loops_[d].step[k] * loops_[d].count;
        index[d] = 0;
      }
      if (d >= loops_.size()) return;
    }
  }

 private:
  struct Loop {
    std::int64_t count;
    Offsets step;
  };

  [[nodiscard]] bool continues(const Offsets& step) const {
    const auto& inner = loops_.back();
    for (std::size_t k = 0; k < operands; ++k)
      if (step[k] != inner.step[k] * inner.count) return false;
    return true;
  }

  std::vector<Loop> loops_; // innermost first
};

} // namespace rtexec::tasks::kernels
