// The memory of a graph's tensors while the graph is lowered. A tensor has a buffer of its own, or is a slice of a
// concatenation, a constant, or an alias of another tensor's memory.
#pragma once

#include "tasks/engine/cuda/concat_plan.hpp"
#include "tasks/engine/cuda/program.hpp"
#include "tasks/engine/cuda/strides.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rtexec::tasks::cuda {

/// A tensor with its memory location and layout.
struct PlacedTensor {
  MemoryLocation location;
  Storage storage = Storage::f32;
  Shape shape;
  Strides strides;
  std::int64_t zero_channels = 0; // images: the channels from shape[1] up to this number are zero in memory
};

class Tensors {
 public:
  /// Adds buffers and constants to `program`. `graph` and `program` must outlive this object.
  Tensors(const Graph& graph, Program& program);

  /// Returns the element type in which the device stores the tensor `id`: an integer tensor has its own type, and a
  /// float tensor has the network's precision.
  [[nodiscard]] Storage storage_of(TensorId id) const;
  /// Returns the number of elements in 16 bytes, the size of one access of a kernel.
  [[nodiscard]] static std::int64_t unit(Storage storage) { return 16 / static_cast<std::int64_t>(size_of(storage)); }
  [[nodiscard]] std::int64_t unit() const { return unit(program_.storage); }

  /// Returns a tensor. If it is an input or the output of a node, set() must have been called for it before. If it is a
  /// constant, the first call adds it to the image of constants.
  [[nodiscard]] const PlacedTensor& value(TensorId id);
  /// Returns a constant in the storage `storage`. `storage` must be storage_of() for integers, and f32 or f16 for
  /// floats.
  [[nodiscard]] const PlacedTensor& value(TensorId id, Storage storage);
  /// Adds a constant to the image of constants, with the strides `strides`, and returns it.
  [[nodiscard]] PlacedTensor constant(TensorId id, Storage storage, Strides strides);
  void set(TensorId id, PlacedTensor value) { values_[id] = std::move(value); }
  [[nodiscard]] bool knows(TensorId id) const { return values_.contains(id); }
  /// True if the tensor is written directly into its slice of a concatenation.
  [[nodiscard]] bool is_part(TensorId id) const { return concats_.slots[id].group != ConcatPlan::Slot::none; }
  /// Prevents kernel calls that are emitted later from overwriting the tensor.
  void keep(TensorId id) { last_read_[source_[id]] = static_cast<std::size_t>(-1); }

  /// Returns the memory to which the node that computes `id` must write: its slice of a concatenation, or a new buffer.
  [[nodiscard]] PlacedTensor destination(TensorId id) { return destination(id, program_.storage); }
  [[nodiscard]] PlacedTensor destination(TensorId id, Storage storage);
  /// Returns the memory of one of `inputs` if node number `node` is the last reader of that input. The input must have
  /// its own buffer and the layout of the output. If there is no such input, returns the slice or new buffer for the
  /// node's output.
  [[nodiscard]] PlacedTensor destination(std::size_t node, std::span<const TensorId> inputs);
  [[nodiscard]] PlacedTensor allocate(const Shape& shape, Strides strides, Storage storage);
  /// Returns the default strides of tensor `id`. Images and matrices have channels last, and each pixel (row) begins at
  /// a multiple of 16 bytes. All other tensors are dense and row-major; rows of s8 and u8 begin at multiples of 16
  /// bytes, too.
  [[nodiscard]] Strides natural(TensorId id, Storage storage) const;
  [[nodiscard]] Strides natural(TensorId id) const { return natural(id, program_.storage); }

  [[nodiscard]] MemoryLocation constant(std::span<const std::byte> bytes);
  template <class T> [[nodiscard]] MemoryLocation constant(const std::vector<T>& values) {
    return constant(std::as_bytes(std::span(values)));
  }
  [[nodiscard]] MemoryLocation stored(const std::vector<float>& values, Storage storage);
  [[nodiscard]] MemoryLocation stored(const std::vector<float>& values) { return stored(values, program_.storage); }

 private:
  void find_last_reads();
  [[nodiscard]] bool own_buffer(const PlacedTensor& value) const;

  const Graph& graph_;
  Program& program_;
  std::vector<bool> rows_; // for each tensor; see row_layout.hpp
  ConcatPlan concats_;
  std::vector<std::optional<MemoryLocation>> groups_; // one for each group of `concats_`; nullopt until allocated
  std::map<TensorId, PlacedTensor> values_;
  std::map<std::pair<TensorId, Storage>, PlacedTensor> constants_;
  std::vector<TensorId> source_;       // for each tensor, the tensor whose memory it may share, or itself
  std::vector<std::size_t> last_read_; // for each source, the last node that reads it
};

} // namespace rtexec::tasks::cuda
