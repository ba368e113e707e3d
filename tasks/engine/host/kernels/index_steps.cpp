// Steps that gather elements at int64 indices, or scatter elements to int64 indices.
#include "tasks/engine/host/kernels/arithmetic.hpp"
#include "tasks/engine/host/kernels/element_types.hpp"
#include "tasks/engine/host/kernels/steps.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }

std::int64_t count_of(const Shape& shape, std::size_t first, std::size_t last) {
  return element_count(
      {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.begin() + static_cast<std::ptrdiff_t>(last)});
}

using Index = std::int64_t;

template <class T> void copy(T* y, const T* x, std::int64_t n) noexcept {
  std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(T));
}

/// Returns an index inside a dimension of `size` elements. A negative value counts from the end. A value outside the
/// dimension is clamped.
Index index_of(Index value, std::int64_t size) noexcept {
  return std::clamp(value < 0 ? value + size : value, Index{0}, size - 1);
}

template <class T> class GatherConstantStep final : public Step {
 public:
  GatherConstantStep(const GatherConstant& gather, const Shape& x) : indices_(gather.indices), size_(x[gather.axis]) {
    const auto axis = static_cast<std::ptrdiff_t>(gather.axis);
    outer_ = element_count({x.begin(), x.begin() + axis});
    inner_ = element_count({x.begin() + axis + 1, x.end()});
  }
  void run(const Operands& o) const noexcept override {
    T* y = o.output<T>();
    for (std::int64_t outer = 0; outer < outer_; ++outer)
      for (const auto index : indices_) {
        copy(y, o.input<T>(0) + (outer * size_ + index) * inner_, inner_);
        y += inner_;
      }
  }

 private:
  std::vector<std::int64_t> indices_;
  std::int64_t size_, outer_ = 1, inner_ = 1;
};

template <class T> class GatherStep final : public Step {
 public:
  GatherStep(const Gather& take, const Shape& x, const Shape& indices)
      : size_(x[take.axis]),
        outer_(count_of(x, 0, take.axis)),
        inner_(count_of(x, take.axis + 1, x.size())),
        indices_(element_count(indices)) {}

  void run(const Operands& o) const noexcept override {
    T* y = o.output<T>();
    for (std::int64_t outer = 0; outer < outer_; ++outer)
      for (std::int64_t i = 0; i < indices_; ++i, y += inner_)
        copy(y, o.input<T>(0) + (outer * size_ + index_of(o.input<Index>(1)[i], size_)) * inner_, inner_);
  }

 private:
  std::int64_t size_, outer_, inner_, indices_;
};

/// Maps each element of an index tensor to an element of the data along an axis (for GatherElements and
/// ScatterElements).
class ElementPlaces {
 public:
  ElementPlaces(std::size_t axis, const Shape& data, const Shape& indices)
      : axis_(axis), size_(data[axis]), shape_(indices), strides_(dense_strides(data)) {}

  /// Calls f(offset in the data, number of the index) for each index.
  template <class F> void each(const Index* indices, F f) const noexcept {
    std::array<std::int64_t, max_rank> index{};
    const auto count = element_count(shape_);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < shape_.size(); ++d)
        place += strides_[d] * (d == axis_ ? index_of(indices[i], size_) : index[d]);
      f(place, i);
      for (std::size_t d = shape_.size(); d-- > 0;) {
        if (++index[d] < shape_[d]) break;
        index[d] = 0;
      }
    }
  }

 private:
  std::size_t axis_;
  std::int64_t size_;
  Shape shape_;
  std::vector<std::int64_t> strides_;
};

/// Maps the last dimension of an index tensor to slices of the data (for GatherND and ScatterND).
class SlicePlaces {
 public:
  SlicePlaces(std::size_t batch, const Shape& data, const Shape& indices) {
    const auto depth = static_cast<std::size_t>(indices.back());
    const auto strides = dense_strides(data);
    for (std::size_t d = 0; d < depth; ++d) {
      sizes_.push_back(data[batch + d]);
      strides_.push_back(strides[batch + d]);
    }
    batches_ = count_of(indices, 0, batch);
    in_batch_ = count_of(indices, batch, indices.size() - 1);
    batch_stride_ = count_of(data, batch, data.size());
    slice = count_of(data, batch + depth, data.size());
  }

  /// Calls f(offset in the data, number of the slice) for each slice.
  template <class F> void each(const Index* indices, F f) const noexcept {
    std::int64_t number = 0;
    for (std::int64_t b = 0; b < batches_; ++b)
      for (std::int64_t i = 0; i < in_batch_; ++i, ++number) {
        std::int64_t place = b * batch_stride_;
        for (std::size_t d = 0; d < sizes_.size(); ++d) place += strides_[d] * index_of(*indices++, sizes_[d]);
        f(place, number);
      }
  }

  std::int64_t slice = 1; // elements of a slice

 private:
  std::vector<std::int64_t> sizes_, strides_;
  std::int64_t batches_ = 1, in_batch_ = 1, batch_stride_ = 1;
};

template <class T> class GatherElementsStep final : public Step {
 public:
  explicit GatherElementsStep(ElementPlaces places) : places_(std::move(places)) {}
  void run(const Operands& o) const noexcept override {
    places_.each(o.input<Index>(1),
                 [&](std::int64_t place, std::int64_t i) { o.output<T>()[i] = o.input<T>(0)[place]; });
  }

 private:
  ElementPlaces places_;
};

template <class T> class GatherNDStep final : public Step {
 public:
  explicit GatherNDStep(SlicePlaces places) : places_(std::move(places)) {}
  void run(const Operands& o) const noexcept override {
    places_.each(o.input<Index>(1), [&](std::int64_t place, std::int64_t i) {
      copy(o.output<T>() + i * places_.slice, o.input<T>(0) + place, places_.slice);
    });
  }

 private:
  SlicePlaces places_;
};

template <class T> T combined(Scatter::Kind kind, T y, T x) noexcept {
  const auto sum = [](auto a, auto b) { return a + b; };
  const auto product = [](auto a, auto b) { return a * b; };
  const auto apply = [&](auto f) {
    if constexpr (std::is_same_v<T, float>) return f(y, x);
    else return modular(y, x, f);
  };
  switch (kind) {
  case Scatter::Kind::replace: return x;
  case Scatter::Kind::add: return apply(sum);
  case Scatter::Kind::multiply: return apply(product);
  case Scatter::Kind::minimum: return std::min(y, x);
  case Scatter::Kind::maximum: return std::max(y, x);
  }
  return x;
}

template <class T> void put(Scatter::Kind kind, T* y, const T* x, std::int64_t n) noexcept {
  if (kind == Scatter::Kind::replace) return copy(y, x, n);
  for (std::int64_t i = 0; i < n; ++i) y[i] = combined(kind, y[i], x[i]);
}

template <class T, class Places> class ScatterStep final : public Step {
 public:
  ScatterStep(Scatter::Kind kind, Places places, std::int64_t slice, std::int64_t count)
      : kind_(kind), places_(std::move(places)), slice_(slice), count_(count) {}
  bool in_place(std::size_t input) const override { return input == 0; }

  void run(const Operands& o) const noexcept override {
    if (o.output<T>() != o.input<T>(0)) copy(o.output<T>(), o.input<T>(0), count_);
    places_.each(o.input<Index>(1), [&](std::int64_t place, std::int64_t i) {
      put(kind_, o.output<T>() + place, o.input<T>(2) + i * slice_, slice_);
    });
  }

 private:
  Scatter::Kind kind_;
  Places places_;
  std::int64_t slice_, count_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const GatherConstant& gather) {
  return for_width(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    return std::make_unique<GatherConstantStep<T>>(gather, shape_of(graph, node.inputs[0]));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const Gather& take) {
  return for_width(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    return std::make_unique<GatherStep<T>>(take, shape_of(graph, node.inputs[0]), shape_of(graph, node.inputs[1]));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const GatherElements& take) {
  return for_width(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    return std::make_unique<GatherElementsStep<T>>(
        ElementPlaces(take.axis, shape_of(graph, node.inputs[0]), shape_of(graph, node.inputs[1])));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const GatherND& take) {
  return for_width(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    return std::make_unique<GatherNDStep<T>>(
        SlicePlaces(take.batch, shape_of(graph, node.inputs[0]), shape_of(graph, node.inputs[1])));
  });
}
StepPointer make_step(const Graph& graph, const Node& node, const Scatter& put) {
  const auto &data = shape_of(graph, node.inputs[0]), &indices = shape_of(graph, node.inputs[1]);
  const auto count = element_count(data);
  return for_element(graph.tensors[node.output].type, [&]<class T>() -> StepPointer {
    if (put.axis)
      return std::make_unique<ScatterStep<T, ElementPlaces>>(put.kind, ElementPlaces(*put.axis, data, indices), 1,
                                                             count);
    SlicePlaces places(0, data, indices);
    const auto slice = places.slice;
    return std::make_unique<ScatterStep<T, SlicePlaces>>(put.kind, std::move(places), slice, count);
  });
}

} // namespace rtexec::tasks::kernels
