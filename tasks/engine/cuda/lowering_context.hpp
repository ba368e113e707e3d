// The state and helpers for lowering nodes: emitted calls, tensors in the layout that kernels need, and destinations of
// results. There is one context for each graph that is lowered. A chunk is 16 bytes, the size of one access of a
// kernel.
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

/// Thrown if the graph contains an operation or type that the kernels do not support.
struct Unsupported {
  std::string what;
};

struct Pixels {
  PlacedTensor value;
  Image image;
};

[[nodiscard]] inline int narrow(std::int64_t value) {
  return static_cast<int>(value); // the product of dimensions never exceeds max_elements
}

/// True if the elements are contiguous in row-major order.
[[nodiscard]] bool lies_dense(const PlacedTensor& value);
/// Returns a tensor that shares the memory of `x`, with another shape and other strides. Its first element is `offset`
/// elements after the first element of x.
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
  Tensors tensors; // the tensors of `graph` and their memory in the buffers of `program`

  /// Assigns the calls that are emitted from now on to node number `node_number`.
  const Node& enter(std::size_t node_number) {
    node_number_ = node_number;
    layer_ = Call::no_layer;
    in_layers_ = true;
    return node();
  }
  /// Assigns the calls that are emitted from now on to no node.
  void leave() {
    layer_ = Call::no_layer;
    in_layers_ = false;
  }

  [[nodiscard]] const Shape& shape(TensorId id) const { return graph.tensors[id].shape; }
  [[nodiscard]] Storage storage() const { return program.storage; }
  [[nodiscard]] const std::vector<float>& constant_of(TensorId id, const char* role) const;
  /// Converts an activation to kernel arguments. If half precision would round a clip's positive lower bound to zero,
  /// the bound becomes the smallest positive half. Such a bound prevents division by zero.
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

  /// Computes y = activation(x) element by element. x and y must have equal shapes. If x and y hold integers of the
  /// same type, `activation` must be none.
  void copy(const PlacedTensor& x, const PlacedTensor& y, const Activation& activation = {});
  /// Computes y = function(x). CastArguments defines the functions.
  void cast(const PlacedTensor& x, const PlacedTensor& y, const Activation& function = {});
  PlacedTensor copied(const PlacedTensor& x, Strides strides, Storage to);
  /// Copies x into y. The first element of x goes to index `before` of y. Fills the rest of y with the value in
  /// `arguments`.
  void pad(const PlacedTensor& x, const PlacedTensor& y, const std::vector<std::int64_t>& before,
           PadArguments arguments);

  // ---- tensors in the layout that kernels need

  [[nodiscard]] std::optional<Image> image_of(const PlacedTensor& value) const {
    return cuda::image_of(value.shape, value.strides, std::max(tensors.unit(), Tensors::unit(value.storage)));
  }
  /// Returns the strides of an image with channels last, in which each pixel begins at a multiple of 16 bytes.
  [[nodiscard]] Strides aligned_pixels(const Shape& shape, Storage of) const {
    return channels_last(shape, round_up(shape[1], std::max(tensors.unit(), Tensors::unit(of))));
  }
  [[nodiscard]] Strides aligned_pixels(const Shape& shape) const { return aligned_pixels(shape, storage()); }
  [[nodiscard]] static bool aligned(const PlacedTensor& value) { return value.location.offset % 16 == 0; }

  /// Returns tensor `id` with channels last. If the tensor is not stored in this layout, returns a copy, which is made
  /// only once. If `on_chunks` is set, the pixels of the result begin at multiples of 16 bytes.
  Pixels pixels(TensorId id, bool on_chunks = false);
  /// Returns the result of pixels() with `on_chunks` set. In addition, zeros follow the channels of each pixel, up to a
  /// multiple of 16 bytes.
  Pixels padded_pixels(TensorId id);
  /// Returns tensor `id` as a matrix in which each row is one pixel. The number of rows is the product of all
  /// dimensions but the last. If `padded` is set, zeros follow each row, as in padded_pixels().
  Pixels rows(TensorId id, bool padded);

  PlacedTensor row_major(TensorId id, Storage of);
  PlacedTensor row_major(TensorId id) { return row_major(id, storage()); }
  /// Returns tensor `id` in the storage `of`. If the tensor is not in this storage, returns a copy, which is made only
  /// once.
  PlacedTensor stored(TensorId id, Storage of);
  /// Returns tensor `id` with the shape `flat`, in the storage `of`, with channels last. If the tensor does not have
  /// this layout and this storage, returns a copy, which is made only once. If `on_chunks` is set, the pixels of the
  /// result begin at multiples of 16 bytes.
  Pixels flat_pixels(TensorId id, const Shape& flat, Storage of, bool on_chunks);

  // ---- destinations of results

  /// Returns the destination of the node's output, which may be the memory of one of `inputs`; see
  /// Tensors::destination().
  PlacedTensor overwriting(std::span<const TensorId> inputs) { return tensors.destination(node_number_, inputs); }
  /// Returns a destination for the node's output in the storage of that output's type.
  PlacedTensor exact_destination(const Node& node);
  /// Returns `y` as pixels if `y` has channels last. Otherwise returns a new tensor with channels last, to use instead.
  Pixels as_pixels(PlacedTensor y);
  /// Returns `y` if its storage is `in`, otherwise a temporary tensor in that storage. finish() copies the temporary
  /// tensor to `y`.
  PlacedTensor computed(const PlacedTensor& y, Storage in);
  void finish(const Node& node, const PlacedTensor& y, const PlacedTensor& from);
  void finish(const Node& node, PlacedTensor value);

 private:
  [[nodiscard]] const Node& node() const { return graph.nodes[node_number_]; }
  PlacedTensor copied(const PlacedTensor& x, Strides strides) { return copied(x, std::move(strides), storage()); }
  PlacedTensor pad_channels(const Pixels& x, std::int64_t channels);

  std::size_t node_number_ = 0;
  std::uint32_t layer_ = Call::no_layer;
  bool in_layers_ = false;                                  // true while nodes are lowered
  std::map<TensorId, PlacedTensor> images_, padded_, rows_; // cached copies
  std::map<std::pair<TensorId, Storage>, PlacedTensor> dense_, converted_;
  std::map<std::tuple<TensorId, Shape, Storage>, PlacedTensor> flat_;
};

// ---- fields that several argument structs share

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

/// Sets the dimensions in the arguments of an operation that maps an image to an image.
template <class Arguments> void set_images(Arguments& arguments, const Image& x, const Shape& out) {
  arguments.batch = narrow(x.batch);
  arguments.height = narrow(x.height);
  arguments.width = narrow(x.width);
  arguments.channels = narrow(x.channels);
  arguments.x_stride = narrow(x.pixel);
  arguments.out_height = narrow(out[2]);
  arguments.out_width = narrow(out[3]);
}

/// Sets the launch that is used instead of `call.launch` on architectures below `minimum_architecture`.
inline void otherwise(KernelCall& call, int minimum_architecture, const Launch& launch) {
  call.minimum_architecture = minimum_architecture;
  call.otherwise = launch;
}

} // namespace rtexec::tasks::cuda
