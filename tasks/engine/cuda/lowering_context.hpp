// What the calls of every node are made with: calls, tensors as kernels want them, and where results go. One context
// for each graph that is lowered.
#pragma once

#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "tasks/engine/cuda/program.hpp"
#include "tasks/engine/cuda/stack_plan.hpp"
#include "tasks/engine/cuda/strides.hpp"
#include "tasks/engine/cuda/tensors.hpp"
#include "tasks/engine/cuda/int8_plan.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace rtexec::tasks::cuda {

/// What a graph holds that the kernels cannot do; thrown.
struct Unsupported {
  std::string what;
};

struct Pixels {
  PlacedTensor value;
  Image image;
};

[[nodiscard]] inline int narrow(std::int64_t value) {
  return static_cast<int>(value); // shapes never exceed max_elements
}

/// Whether its elements follow each other in row-major order.
[[nodiscard]] bool lies_dense(const PlacedTensor& value);
/// The same memory, `offset` elements on.
[[nodiscard]] PlacedTensor under(const PlacedTensor& x, Shape shape, Strides strides, std::int64_t offset = 0);

class LoweringContext {
 public:
  LoweringContext(const Graph& of, Precision precision);
  LoweringContext(const LoweringContext&) = delete;
  LoweringContext& operator=(const LoweringContext&) = delete;

  const Graph& graph;
  Program program;
  const Int8Plan int8_plan;
  const StackPlan stack_plan;
  Tensors tensors; // of them

  /// Calls belong to that node from now on.
  const Node& enter(std::size_t node_number) {
    node_number_ = node_number;
    layer_ = Call::no_layer;
    in_layers_ = true;
    return node();
  }
  /// Calls belong to no node.
  void leave() {
    layer_ = Call::no_layer;
    in_layers_ = false;
  }

  [[nodiscard]] const Shape& shape(TensorId id) const { return graph.tensors[id].shape; }
  [[nodiscard]] Storage storage() const { return program.storage; }
  [[nodiscard]] const std::vector<float>& constant_of(TensorId id, const char* role) const;
  /// A bound that half precision would make zero (it keeps from dividing by that) is the least number above it there.
  [[nodiscard]] ActivationArguments activation_of(const Activation& activation) const;

  // ---- calls

  void emit(std::variant<KernelCall, ConvCall> what);
  template <class Arguments>
  void emit(const Arguments& arguments, const std::vector<Operand<Arguments>>& operands, Storage of) {
    emit(kernel_call(launch_of(arguments, of), arguments, operands));
  }
  template <class Arguments> void emit(const Arguments& arguments, const std::vector<Operand<Arguments>>& operands) {
    emit(arguments, operands, storage());
  }

  /// y = activation(x), element by element; shapes are equal. A copy of integers to the same type has no activation.
  void copy(const PlacedTensor& x, const PlacedTensor& y, const Activation& activation = {});
  /// y = function(x), as CastArguments defines it.
  void cast(const PlacedTensor& x, const PlacedTensor& y, const Activation& function = {});
  PlacedTensor copied(const PlacedTensor& x, Strides strides, Storage to);
  /// Writes x into y, `before` elements on in each dimension, and the value of `arguments` around it.
  void pad(const PlacedTensor& x, const PlacedTensor& y, const std::vector<std::int64_t>& before,
           PadArguments arguments);

  // ---- tensors as kernels want them

  [[nodiscard]] std::optional<Image> image_of(const PlacedTensor& value) const {
    return cuda::image_of(value.shape, value.strides, std::max(tensors.unit(), Tensors::unit(value.storage)));
  }
  /// With its channels last, each pixel beginning at a multiple of 16 bytes.
  [[nodiscard]] Strides aligned_pixels(const Shape& shape, Storage of) const {
    return channels_last(shape, round_up(shape[1], std::max(tensors.unit(), Tensors::unit(of))));
  }
  [[nodiscard]] Strides aligned_pixels(const Shape& shape) const { return aligned_pixels(shape, storage()); }
  [[nodiscard]] static bool aligned(const PlacedTensor& value) { return value.place.offset % 16 == 0; }

  /// `id` with its channels last; a copy, made once, where it lies otherwise. `on_chunks`: pixels begin at multiples of
  /// 16 bytes.
  Pixels pixels(TensorId id, bool on_chunks = false);
  /// As pixels(on_chunks), and zeros in what a pixel has beyond its channels, up to a multiple of 16 bytes.
  Pixels padded_pixels(TensorId id);
  /// All dimensions but the last as rows of pixels; `padded` as padded_pixels().
  Pixels rows(TensorId id, bool padded);

  PlacedTensor row_major(TensorId id, Storage of);
  PlacedTensor row_major(TensorId id) { return row_major(id, storage()); }
  /// `id` in that storage; a copy, made once, where it has another one.
  PlacedTensor stored(TensorId id, Storage of);
  /// `id` under the shape `flat`, in that storage, with its channels last; a copy, made once, where it lies otherwise.
  /// `on_chunks`: pixels begin at multiples of 16 bytes.
  Pixels flat_pixels(TensorId id, const Shape& flat, Storage of, bool on_chunks);

  // ---- where results go

  /// Where the node's first inputs may be overwritten: Tensors::destination().
  PlacedTensor overwriting(std::span<const TensorId> inputs) { return tensors.destination(node_number_, inputs); }
  /// In the storage that the output has.
  PlacedTensor exact_destination(const Node& node);
  /// A destination, or another one in its place that has its channels last.
  Pixels as_pixels(PlacedTensor y);
  /// y, or where that has another storage, what is to be copied there.
  PlacedTensor computed(const PlacedTensor& y, Storage in);
  void finish(const Node& node, const PlacedTensor& y, const PlacedTensor& from);
  void finish(const Node& node, PlacedTensor value);

 private:
  [[nodiscard]] const Node& node() const { return graph.nodes[node_number_]; }
  PlacedTensor copied(const PlacedTensor& x, Strides strides) { return copied(x, std::move(strides), storage()); }
  PlacedTensor pad_channels(const Pixels& x, std::int64_t channels);

  std::size_t node_number_ = 0;
  std::uint32_t layer_ = Call::no_layer;
  bool in_layers_ = false;                                  // not before the first node, nor after the last
  std::map<TensorId, PlacedTensor> images_, padded_, rows_; // copies that were made already
  std::map<std::pair<TensorId, Storage>, PlacedTensor> dense_, converted_;
  std::map<std::tuple<TensorId, Shape, Storage>, PlacedTensor> flat_;
};

// ---- what several kinds of arguments have

template <class Arguments> void set_window(Arguments& arguments, const Window& window) {
  arguments.kernel_h = narrow(window.kernel_h);
  arguments.kernel_w = narrow(window.kernel_w);
  arguments.stride_h = narrow(window.stride_h);
  arguments.stride_w = narrow(window.stride_w);
  arguments.pad_top = narrow(window.pad_top);
  arguments.pad_left = narrow(window.pad_left);
  arguments.dilation_h = narrow(window.dilation_h);
  arguments.dilation_w = narrow(window.dilation_w);
}

/// Of arguments that lead from pixels to pixels.
template <class Arguments> void set_images(Arguments& arguments, const Image& x, const Shape& out) {
  arguments.batch = narrow(x.batch);
  arguments.height = narrow(x.height);
  arguments.width = narrow(x.width);
  arguments.channels = narrow(x.channels);
  arguments.x_stride = narrow(x.pixel);
  arguments.out_height = narrow(out[2]);
  arguments.out_width = narrow(out[3]);
}

/// On architectures before that one.
inline void otherwise(KernelCall& call, int minimum_architecture, const Launch& launch) {
  call.minimum_architecture = minimum_architecture;
  call.otherwise = launch;
}

} // namespace rtexec::tasks::cuda
