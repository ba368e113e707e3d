// Where the tensors of a graph lie while it is lowered: buffers, slices of concatenations, constants, and other names
// of the same memory.
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

/// A tensor in memory.
struct PlacedTensor {
  MemoryLocation place;
  Storage storage = Storage::f32;
  Shape shape;
  Strides strides;
  std::int64_t zero_channels = 0; // of an image: channels from shape[1] up to this one are zero in memory
};

class Tensors {
 public:
  /// Buffers and constants are added to `program`. Both outlive this.
  Tensors(const Graph& graph, Program& program);

  /// Integers are stored in their type, floats in the network's precision.
  [[nodiscard]] Storage storage_of(TensorId id) const;
  /// Elements in 16 bytes: what kernels read at once.
  [[nodiscard]] static std::int64_t unit(Storage storage) { return 16 / static_cast<std::int64_t>(size_of(storage)); }
  [[nodiscard]] std::int64_t unit() const { return unit(program_.storage); }

  /// Of an input, after set(); of a constant, which is added to the image when it is first asked for; of what a node
  /// wrote, after set().
  [[nodiscard]] const PlacedTensor& value(TensorId id);
  /// Returns a constant in `storage`, which is storage_of() for integers, and f32 or f16 for floats.
  [[nodiscard]] const PlacedTensor& value(TensorId id, Storage storage);
  /// Adds a constant to the image with those strides.
  [[nodiscard]] PlacedTensor constant(TensorId id, Storage storage, Strides strides);
  void set(TensorId id, PlacedTensor value) { values_[id] = std::move(value); }
  [[nodiscard]] bool knows(TensorId id) const { return values_.contains(id); }
  /// Whether it is written in its slice of a concatenation.
  [[nodiscard]] bool is_part(TensorId id) const { return concats_.slots[id].group != ConcatPlan::Slot::none; }
  /// Nothing overwrites it.
  void keep(TensorId id) { last_read_[source_[id]] = static_cast<std::size_t>(-1); }

  /// Where the node that writes `id` is to write: its slice of a concatenation, or a buffer of its own.
  [[nodiscard]] PlacedTensor destination(TensorId id) { return destination(id, program_.storage); }
  [[nodiscard]] PlacedTensor destination(TensorId id, Storage storage);
  /// The same, or, when node number `node` is the last to read one of `inputs`, which has a buffer for itself and lies
  /// as the output would, that one.
  [[nodiscard]] PlacedTensor destination(std::size_t node, std::span<const TensorId> inputs);
  [[nodiscard]] PlacedTensor allocate(const Shape& shape, Strides strides, Storage storage);
  /// Images and matrices: channels last, a pixel (row) beginning at multiples of 16 bytes. Others: dense and row-major,
  /// of bytes with rows that begin so.
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
  std::vector<bool> rows_; // by tensor: row_layout.hpp
  ConcatPlan concats_;
  std::vector<std::optional<MemoryLocation>> groups_; // of concats_, once something is written there
  std::map<TensorId, PlacedTensor> values_;
  std::map<std::pair<TensorId, Storage>, PlacedTensor> constants_;
  std::vector<TensorId> source_;       // what a tensor may be another name of
  std::vector<std::size_t> last_read_; // node, by source
};

} // namespace rtexec::tasks::cuda
