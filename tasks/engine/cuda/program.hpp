// A network as a list of kernel calls, before addresses are known. Each pointer of a call is a location in the image of
// constants, or in a buffer whose address in scratch is planned later. gpu_lowering.hpp makes a program. No device is
// needed.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace rtexec::tasks::cuda {

/// The location of a tensor or workspace: an offset in bytes in the image of constants or in a buffer.
struct MemoryLocation {
  enum class Region { none, constant, buffer };
  Region region = Region::none;
  std::uint32_t buffer = 0; // index in Program::buffers
  std::size_t offset = 0;

  [[nodiscard]] bool known() const { return region != Region::none; }
  [[nodiscard]] MemoryLocation at(std::size_t bytes) const { return {region, buffer, offset + bytes}; }
  friend bool operator==(const MemoryLocation&, const MemoryLocation&) = default;
};

/// A kernel with its arguments, and the memory location of each pointer among the arguments.
struct KernelCall {
  struct Pointer {
    std::size_t at = 0; // byte offset of the pointer in the arguments
    MemoryLocation location;
  };
  Launch launch;
  std::vector<std::byte> arguments;
  std::vector<Pointer> pointers;
  /// The launch on architectures (10 * major + minor) below `minimum_architecture`. Other architectures use `launch`.
  Launch otherwise{};
  int minimum_architecture = 0;
};

/// A pointer member of `Arguments`, and the memory location that it points to.
template <class Arguments> struct Operand {
  template <class T>
  Operand(T* Arguments::*member, MemoryLocation in_memory) : at(offset(member)), location(in_memory) {}
  template <class T, std::size_t n>
  Operand(T* (Arguments::*members)[n], std::size_t i, MemoryLocation in_memory)
      : at(offset(members) + i * sizeof(T*)), location(in_memory) {}
  std::size_t at;
  MemoryLocation location;

 private:
  template <class T> static std::size_t offset(T Arguments::*member) {
    static const Arguments sample{};
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(sample.*member)) -
                                    reinterpret_cast<const std::byte*>(&sample));
  }
};

template <class Arguments>
[[nodiscard]] KernelCall kernel_call(const Launch& launch, const Arguments& arguments,
                                     const std::vector<Operand<Arguments>>& operands) {
  static_assert(std::is_trivially_copyable_v<Arguments>);
  const auto* bytes = reinterpret_cast<const std::byte*>(&arguments);
  KernelCall call{launch, {bytes, bytes + sizeof arguments}, {}, {}, 0};
  for (const auto& operand : operands)
    if (operand.location.known()) call.pointers.push_back({operand.at, operand.location});
  return call;
}

/// A call of a convolution or matrix product, which several methods can compute (conv_method.hpp).
struct ConvCall {
  ConvArguments arguments; // its pointers are not set
  MemoryLocation x, weights, bias, residual, y;
  MemoryLocation half_bias;        // fp16 only: the bias in half precision, for cuDNN
  MemoryLocation offsets, factors; // int8 only
  MemoryLocation zero;             // zero point of x, if the network computes it
};

struct Call {
  std::uint32_t layer = no_layer;
  std::variant<KernelCall, ConvCall> what;

  /// The layer of the calls that convert network inputs and outputs.
  static constexpr std::uint32_t no_layer = static_cast<std::uint32_t>(-1);
};

/// A copy of an input or output between host memory and scratch. In host memory, elements are of `type`. In scratch,
/// elements are integers of that type, or floats. Both sides are dense and row-major.
struct Transfer {
  std::string name;
  ElementType type = ElementType::float32;
  Shape shape;
  MemoryLocation location;
};

struct Program {
  Precision precision = Precision::fp32;
  Storage storage = Storage::f32;
  std::vector<Call> calls;          // in the order of execution
  std::vector<std::size_t> buffers; // sizes in bytes
  std::vector<std::byte> constants;
  std::vector<MemoryObject> constant_objects; // offset and size of each constant in `constants`
  std::vector<std::string> layers;            // names of the layers; the calls of a layer are consecutive
  std::vector<Transfer> inputs, outputs;
  /// The number of words of `counters_buffer` that the calls need. They must be zero before the first call. The chosen
  /// convolution methods may need more words.
  std::size_t counters = 0;
  std::uint32_t counters_buffer = 0;
  double flops = 0;
};

inline constexpr int cluster_architecture = 90; // first architecture with clusters of blocks

} // namespace rtexec::tasks::cuda
