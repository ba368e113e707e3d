// The kernels that need no tuning: which one computes what an argument struct asks for, and with how many threads.
// Plain C++17, for the host. What is decided here depends on shapes only, never on addresses: kernels look at alignment
// themselves.
//
// Every kernel has one parameter, the argument struct by value. Names end in the storage of the tensors
// (network_arguments.hpp).
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <optional>

namespace rtexec::tasks::cuda {

[[nodiscard]] Launch launch_of(const ImageInArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ClearArguments& arguments);
/// From an input to the network's memory, and from there to an output.
[[nodiscard]] Launch take_in_launch(const ConvertArguments& arguments, Outside from);
[[nodiscard]] Launch give_out_launch(const ConvertArguments& arguments, Outside to);
[[nodiscard]] Launch launch_of(const PoolArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const GlobalAverageArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ScaleShiftArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const BinaryArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const MultiplyAddArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const SelectArguments& arguments);
[[nodiscard]] Launch launch_of(const CastArguments& arguments);
/// Computes integers, or compares elements, of arguments.storage.
[[nodiscard]] Launch typed_launch(const BinaryArguments& arguments);
[[nodiscard]] Launch launch_of(const CopyArguments& arguments, Storage from, Storage to);
[[nodiscard]] Launch launch_of(const RescaleArguments& arguments, Storage from, Storage to);
[[nodiscard]] Launch launch_of(const GatherArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const PadArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ResizeArguments& arguments, Storage storage);
[[nodiscard]] Launch reduce_launch(const ReduceArguments& arguments, Storage storage);
[[nodiscard]] Launch softmax_launch(const ReduceArguments& arguments, Storage storage);
[[nodiscard]] Launch log_softmax_launch(const ReduceArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const LrnArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const GemmArguments& arguments, Storage storage);
/// Convolves s16 to s32. Weights are [out_channels][channels][kernel_h][kernel_w].
[[nodiscard]] Launch integer_conv_launch(const ConvArguments& arguments);
[[nodiscard]] Launch launch_of(const NormaliseArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const NormaliseRowsArguments& arguments, Storage storage);
/// Where rows lie in whole chunks, but for addresses: these must be multiples of 16.
[[nodiscard]] std::optional<NormaliseRowsArguments> whole_rows(const NormaliseArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const TakeArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const PutArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const RunningSumArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const TopIndicesArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ResampleArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const GridSampleArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const DeformableArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const AttentionArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const RecurrentArguments& arguments, Storage storage);
/// Without peepholes: with weights that stay in registers, where they fit into those of a cluster.
struct ResidentLaunch {
  Launch launch;
  int lanes; // for the arguments
};
[[nodiscard]] std::optional<ResidentLaunch> resident_launch(const RecurrentArguments& arguments, Storage storage);
/// How many lanes a hidden unit has in a stack, of whose layers none has more of either: nothing where the weights of a
/// layer do not fit into the registers of a block.
[[nodiscard]] std::optional<int> lanes_of_stack(int max_inputs, int max_hidden);
/// By a cluster, its blocks side by side. With `lanes`; sets `at_once`. In a grid of one block along z the layers are
/// computed one after the other.
[[nodiscard]] Launch stack_launch(StackArguments& arguments, int kind, Storage storage);
/// By a cluster of blocks for each of the batch.
[[nodiscard]] Launch clustered(const RecurrentArguments& arguments, Launch launch);

/// Whether depthwise_launch() may be asked for: every group has one channel of x.
[[nodiscard]] bool is_depthwise(const ConvArguments& arguments);
[[nodiscard]] Launch depthwise_launch(const ConvArguments& arguments, Storage storage);
/// One warp for each output: for few pixels (fully connected layers).
[[nodiscard]] Launch conv_rows_launch(const ConvArguments& arguments, Storage storage);
/// Tiles of pixels and output channels.
[[nodiscard]] Launch conv_direct_launch(const ConvArguments& arguments, Storage storage);
/// The one of these three that fits. Any shape and alignment; `splits` is not looked at.
[[nodiscard]] Launch launch_of(const ConvArguments& arguments, Storage storage);

/// For `splits`, and the elements of `partial` and `counters` that they need: 1, 0 and 0 where splitting is not worth
/// it.
struct GlobalAverageSplits {
  int splits = 1;
  long long partials = 0;
  long long counters = 0;
};
[[nodiscard]] GlobalAverageSplits split(const GlobalAverageArguments& arguments);

/// The same work with fewer dimensions, in the order that is fastest to run: dimensions of one element disappear, those
/// that every operand runs through alike become one, and y's fastest comes last. Kernels are right without it, but
/// slower. Before launch_of().
void simplify(BinaryArguments& arguments);
void simplify(RescaleArguments& arguments);
void simplify(MultiplyAddArguments& arguments);
void simplify(SelectArguments& arguments);
void simplify(CastArguments& arguments);
void simplify(CopyArguments& arguments);
void simplify(GatherArguments& arguments);
void simplify(PadArguments& arguments);
void simplify(ResampleArguments& arguments);
void simplify(TakeArguments& arguments);
void simplify(NormaliseArguments& arguments);
void simplify(AttentionArguments& arguments);
void simplify(ReduceArguments& arguments);

} // namespace rtexec::tasks::cuda
