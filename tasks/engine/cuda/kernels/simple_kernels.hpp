// Kernels that need no tuning: chooses the kernel for an argument struct, and the number of its threads. Plain C++17
// for the host. The choice depends only on shapes and strides, not on addresses, because the kernels check alignment
// themselves.
//
// The argument struct is the only parameter of a kernel, by value. The names of kernels end in the storage of the
// tensors (network_arguments.hpp).
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <optional>

namespace rtexec::tasks::cuda {

[[nodiscard]] Launch launch_of(const ImageInArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ClearArguments& arguments);
/// Return the launch that converts an input to the network's memory (`stage_input`), or an output from the network's
/// memory (`stage_output`).
[[nodiscard]] Launch stage_input_launch(const ConvertArguments& arguments, Outside from);
[[nodiscard]] Launch stage_output_launch(const ConvertArguments& arguments, Outside to);
[[nodiscard]] Launch launch_of(const PoolArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const GlobalAverageArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ScaleShiftArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const BinaryArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const MultiplyAddArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const WhereArguments& arguments);
[[nodiscard]] Launch launch_of(const CastArguments& arguments);
/// Returns the launch of the kernel that computes with integers, or compares elements, of the type arguments.storage.
[[nodiscard]] Launch typed_launch(const BinaryArguments& arguments);
[[nodiscard]] Launch launch_of(const CopyArguments& arguments, Storage from, Storage to);
[[nodiscard]] Launch launch_of(const RescaleArguments& arguments, Storage from, Storage to);
[[nodiscard]] Launch launch_of(const GatherConstantArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const PadArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ResizeArguments& arguments, Storage storage);
[[nodiscard]] Launch reduce_launch(const ReduceArguments& arguments, Storage storage);
[[nodiscard]] Launch softmax_launch(const ReduceArguments& arguments, Storage storage);
[[nodiscard]] Launch log_softmax_launch(const ReduceArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const LrnArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const GemmArguments& arguments, Storage storage);
/// Returns the launch of a convolution of s16 values to s32. Weights are stored as
/// [out_channels][channels][kernel_h][kernel_w].
[[nodiscard]] Launch integer_conv_launch(const ConvArguments& arguments);
[[nodiscard]] Launch launch_of(const LayerNormArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const LayerNormRowsArguments& arguments, Storage storage);
/// Converts the arguments for the kernel whose rows consist of whole 16-byte chunks. Returns nullopt if shapes or
/// strides do not allow that kernel. The caller must ensure that addresses are multiples of 16.
[[nodiscard]] std::optional<LayerNormRowsArguments> whole_rows(const LayerNormArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const GatherArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ScatterArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const CumSumArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const TopKArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const ResampleArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const GridSampleArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const DeformableArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const AttentionArguments& arguments, Storage storage);
[[nodiscard]] Launch launch_of(const RecurrentArguments& arguments, Storage storage);
/// The launch of a persistent RNN, whose weights stay in registers for the whole sequence. The layer must have no
/// peepholes. persistent_launch() returns nullopt if the weights do not fit into the registers of a cluster, or if the
/// layer is a gru without `late_reset`.
struct PersistentLaunch {
  Launch launch;
  int lanes; // to be stored in RecurrentArguments::lanes
};
[[nodiscard]] std::optional<PersistentLaunch> persistent_launch(const RecurrentArguments& arguments, Storage storage);
/// Returns the number of lanes that share a hidden unit in a fused RNN. Its layers have at most `max_inputs` inputs and
/// `max_hidden` hidden units. Returns nullopt if the weights of a layer do not fit into the registers of a block.
[[nodiscard]] std::optional<int> lanes_of_stack(int max_inputs, int max_hidden);
/// Returns the launch of a fused RNN, and sets `at_once` in the arguments. `lanes` must be set before. Each block of a
/// cluster computes one layer. If the grid has only one block along z, that block computes the layers one after the
/// other.
[[nodiscard]] Launch stack_launch(StackArguments& arguments, int kind, Storage storage);
/// Returns `launch` changed to a cluster of blocks along z for each element of the batch.
[[nodiscard]] Launch clustered(const RecurrentArguments& arguments, Launch launch);

/// True if every group has one channel of x, which depthwise_launch() requires.
[[nodiscard]] bool is_depthwise(const ConvArguments& arguments);
[[nodiscard]] Launch depthwise_launch(const ConvArguments& arguments, Storage storage);
/// Returns the launch that computes each output on one warp. It is for few pixels, as in fully connected layers.
[[nodiscard]] Launch conv_rows_launch(const ConvArguments& arguments, Storage storage);
/// Returns the launch that computes tiles of pixels and output channels.
[[nodiscard]] Launch conv_direct_launch(const ConvArguments& arguments, Storage storage);
/// If arguments.is_int8 is set, returns the launch of the int8 kernel. Otherwise returns the depthwise, rows or direct
/// launch, whichever suits the shape. The kernel supports any shape and alignment, and ignores `splits`.
[[nodiscard]] Launch launch_of(const ConvArguments& arguments, Storage storage);

/// The number of splits, and the sizes of `partial` and `counters` in elements. If splitting is not worthwhile, there
/// is one split, and both sizes are 0.
struct GlobalAverageSplits {
  int splits = 1;
  long long partials = 0;
  long long counters = 0;
};
[[nodiscard]] GlobalAverageSplits split(const GlobalAverageArguments& arguments);

/// These functions rewrite the arguments for speed, to the same operation with fewer dimensions. Dimensions of one
/// element are removed. Dimensions that are contiguous in every operand are merged. The dimension in which y has its
/// smallest stride becomes the last. The kernels are correct without this, but slower. Call these functions before
/// launch_of().
void simplify(BinaryArguments& arguments);
void simplify(RescaleArguments& arguments);
void simplify(MultiplyAddArguments& arguments);
void simplify(WhereArguments& arguments);
void simplify(CastArguments& arguments);
void simplify(CopyArguments& arguments);
void simplify(GatherConstantArguments& arguments);
void simplify(PadArguments& arguments);
void simplify(ResampleArguments& arguments);
void simplify(GatherArguments& arguments);
void simplify(LayerNormArguments& arguments);
void simplify(AttentionArguments& arguments);
void simplify(ReduceArguments& arguments);

} // namespace rtexec::tasks::cuda
