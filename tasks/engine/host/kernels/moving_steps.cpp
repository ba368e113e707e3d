// Steps that only move elements. Their kernels depend on the width of elements, not on the type.
#include "tasks/engine/host/kernels/element_types.hpp"
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/loops.hpp"
#include "tasks/engine/host/kernels/steps.hpp"
#include "tasks/engine/host/kernels/transpose.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }

template <class T> void copy(T* y, const T* x, std::int64_t n) noexcept {
  std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(T));
}

/// Copies between two strided tensors: operand 0 of the loops is read, operand 1 is written.
template <class T> void copy_strided(const Loops<2>& loops, T* y, const T* x) noexcept {
  const auto n = loops.count();
  const auto [from, to] = loops.step();
  loops.run([&](const Loops<2>::Offsets& at) {
    if (to == 1 && from == 1) return copy(y + at[1], x + at[0], static_cast<std::int64_t>(n));
    if constexpr (std::is_same_v<T, float>)
      if (to == 1) return gather_strided(y + at[1], x + at[0], from, n);
    for (std::size_t i = 0; i < n; ++i)
      y[at[1] + static_cast<std::int64_t>(i) * to] = x[at[0] + static_cast<std::int64_t>(i) * from];
  });
}

template <class T> class ViewStep final : public Step {
 public:
  ViewStep(const View& view, const Shape& y) : offset_(view.offset), loops_(y, {view.strides, dense_strides(y)}) {
    if (!std::is_same_v<T, float>) return;
    for (std::size_t level = 1; level < loops_.levels() && !transposes_; ++level)
      if (loops_.step()[0] > 1 && loops_.step(level)[0] == 1) {
        loops_.put_second(level);
        transposes_ = true;
      }
  }

  void run(const Operands& o) const noexcept override {
    const T* x = o.input<T>(0) + offset_;
    if (!transposes_) return copy_strided(loops_, o.output<T>(), x);
    if constexpr (std::is_same_v<T, float>) transpose_planes(o.output(), x);
  }

 private:
  void transpose_planes(float* y, const float* x) const noexcept {
    loops_.template run<2>([&](const Loops<2>::Offsets& at) {
      transpose(y + at[1], loops_.step(1)[1], x + at[0], loops_.step()[0], static_cast<std::int64_t>(loops_.count()),
                static_cast<std::int64_t>(loops_.count(1)));
    });
  }

  std::int64_t offset_;
  Loops<2> loops_;
  bool transposes_ = false; // true: copies by transposing the two innermost loops
};

template <class T> class PadStep final : public Step {
 public:
  PadStep(const Pad& pad, const Shape& x, const Shape& y)
      : value_(std::is_same_v<T, float> ? static_cast<T>(pad.value) : static_cast<T>(pad.integer)),
        count_(element_count(y)),
        loops_(x, {dense_strides(x), dense_strides(y)}) {
    const auto strides = dense_strides(y);
    for (std::size_t d = 0; d < strides.size(); ++d) offset_ += pad.before[d] * strides[d];
  }
  void run(const Operands& o) const noexcept override {
    std::fill_n(o.output<T>(), count_, value_);
    copy_strided(loops_, o.output<T>() + offset_, o.input<T>(0));
  }

 private:
  T value_;
  std::int64_t count_;
  std::int64_t offset_ = 0;
  Loops<2> loops_;
};

template <class T> class ConcatStep final : public Step {
 public:
  ConcatStep(const Graph& graph, const Node& node, std::size_t axis) {
    const auto& y = shape_of(graph, node.output);
    outer_ = element_count({y.begin(), y.begin() + static_cast<std::ptrdiff_t>(axis)});
    pitch_ = element_count(y) / outer_;
    for (const auto input : node.inputs) lengths_.push_back(element_count(shape_of(graph, input)) / outer_);
  }
  void run(const Operands& o) const noexcept override {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      const auto length = lengths_[i];
      if (o.output<T>() + at != o.input<T>(i)) // if equal, the node that computes the input has written it in place
        for (std::int64_t outer = 0; outer < outer_; ++outer)
          copy(o.output<T>() + outer * pitch_ + at, o.input<T>(i) + outer * length, length);
      at += length;
    }
  }

 private:
  std::int64_t outer_ = 1, pitch_ = 1;
  std::vector<std::int64_t> lengths_; // for each input, the number of its elements for one outer index
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const View& view) {
  return for_width(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    return std::make_unique<ViewStep<T>>(view, shape_of(graph, node.output));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const Pad& pad) {
  return for_element(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    return std::make_unique<PadStep<T>>(pad, shape_of(graph, node.inputs[0]), shape_of(graph, node.output));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const Concat& concat) {
  return for_width(graph.tensors[node.output].type,
                   [&]<class T>() -> StepPointer { return std::make_unique<ConcatStep<T>>(graph, node, concat.axis); });
}

} // namespace rtexec::tasks::kernels
