// Nested loops over tensors with different strides. Adjacent dimensions that are contiguous in every operand are
// merged.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rtexec::tasks::kernels {

template <std::size_t operands> class Loops {
 public:
  using Offsets = std::array<std::int64_t, operands>;

  /// strides[k][d] is the distance in elements between neighbours along dimension d of `shape`, in the memory of
  /// operand k.
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

  [[nodiscard]] std::size_t levels() const { return loops_.size(); }
  /// Returns the number of iterations of the loop at `level`; level 0 is the innermost loop.
  [[nodiscard]] std::size_t count(std::size_t level = 0) const { return static_cast<std::size_t>(loops_[level].count); }
  [[nodiscard]] const Offsets& step(std::size_t level = 0) const { return loops_[level].step; }

  /// Exchanges the loop at `level` with the loop directly around the innermost loop. The order of iterations must not
  /// matter.
  void put_second(std::size_t level) { std::swap(loops_[1], loops_[level]); }

  /// Calls f for each execution of the innermost loop, or of the `inner` innermost loops together. The argument of f is
  /// the offset in each operand at the start of that execution.
  template <std::size_t inner = 1, class F> void run(F f) const noexcept {
    std::array<std::int64_t, max_rank> index{};
    Offsets at{};
    for (;;) {
      f(at);
      std::size_t d = inner;
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

  std::vector<Loop> loops_; // innermost loop first
};

} // namespace rtexec::tasks::kernels
