#include "tasks/engine/cuda/conv_method.hpp"

#include "config/base/text.hpp"
#include "tasks/engine/cuda/kernels/simple_kernels.hpp"

#include <array>
#include <vector>

namespace rtexec::tasks::cuda {
namespace {

constexpr std::array activation_names{
    "none",  "relu",  "leaky_relu", "sigmoid", "hard_sigmoid", "hard_swish", "clip", "exp",  "tanh",     "sqrt",
    "swish", "scale", "elu",        "selu",    "softplus",     "softsign",   "mish", "gelu", "gelu_tanh"};
static_assert(activation_names.size() == ActivationArguments::gelu_tanh + 1); // only these kinds follow convolutions
constexpr std::size_t max_workspace = std::size_t{4} << 30;

const void* with_alignment_of(const MemoryLocation& location) {
  return reinterpret_cast<const void*>(location.offset % 16); // NOLINT: only its alignment is used
}

std::string text(int value) { return std::to_string(value); }
std::string pair(int a, int b) { return text(a) + "x" + text(b); }

const char* storage_name(Storage storage) {
  switch (storage) {
  case Storage::f32: return "float";
  case Storage::f16: return "half";
  case Storage::s32: return "int32";
  default: return "bytes";
  }
}

bool parse_workspace(const std::vector<std::string_view>& words, std::size_t at, ConvMethod& method) {
  if (words.size() != at + 2 || words[at] != "workspace") return false;
  const auto bytes = config::number<std::size_t>(words[at + 1]);
  method.workspace = bytes.value_or(0);
  return bytes && *bytes <= max_workspace;
}

bool parse_cudnn(const std::vector<std::string_view>& words, ConvMethod& method) {
  method.kind = ConvMethod::Kind::cudnn;
  method.fused = words.size() > 2 && words[2] == "fused";
  method.algorithm = words.size() > 2 ? config::number<int>(words[1]).value_or(-1) : -1;
  return method.algorithm >= 0 && method.algorithm < 8 && parse_workspace(words, method.fused ? 3 : 2, method);
}

} // namespace

ConvArguments aligned_arguments(const ConvCall& call) {
  auto arguments = call.arguments;
  arguments.x = with_alignment_of(call.x);
  arguments.weights = with_alignment_of(call.weights);
  arguments.residual = with_alignment_of(call.residual);
  arguments.y = const_cast<void*>(with_alignment_of(call.y));
  return arguments;
}

std::string geometry_of(const ConvCall& call) {
  const auto& a = call.arguments;
  std::string key = "conv " + text(a.batch) + "x" + pair(a.height, a.width) + "x" + text(a.channels * a.groups) + "/" +
                    text(a.x_stride) + " -> " + pair(a.out_height, a.out_width) + "x" +
                    text(a.out_channels * a.groups) + "/" + text(a.y_stride) + " kernel " +
                    pair(a.kernel_h, a.kernel_w) + " stride " + pair(a.stride_h, a.stride_w) + " pad " +
                    text(a.pad_top) + "," + text(a.pad_left) + " dilation " + pair(a.dilation_h, a.dilation_w) +
                    " groups " + text(a.groups);
  if (call.bias.known()) key += " bias";
  if (call.residual.known()) key += " residual/" + text(a.residual_stride) + (a.residual_last ? " last" : "");
  if (a.activation.kind != ActivationArguments::none)
    key += std::string(" ") + activation_names[static_cast<std::size_t>(a.activation.kind)];
  if (a.is_int8) key += std::string(" int8 to ") + storage_name(a.y_storage);
  if (a.is_int8 && call.residual.known()) key += std::string(" from ") + storage_name(a.residual_storage);
  for (const auto& [location, name] :
       {std::pair{&call.x, " odd-x"}, std::pair{&call.residual, " odd-residual"}, std::pair{&call.y, " odd-y"}})
    if (location->offset % 16 != 0) key += name;
  return key;
}

std::string to_text(const ConvMethod& method) {
  switch (method.kind) {
  case ConvMethod::Kind::simple: return "simple";
  case ConvMethod::Kind::own: return std::string("own ") + to_string(method.own);
  case ConvMethod::Kind::cudnn:
    return "cudnn " + text(method.algorithm) + (method.fused ? " fused" : "") + " workspace " +
           std::to_string(method.workspace);
  case ConvMethod::Kind::cublas: return "cublas workspace " + std::to_string(method.workspace);
  }
  return {};
}

Result<ConvMethod> parse_conv_method(std::string_view line) {
  if (line.starts_with("own ")) {
    const auto choice = parse_conv_choice(line.substr(4));
    if (!choice) return Unexpected(choice.error());
    return ConvMethod{ConvMethod::Kind::own, *choice};
  }
  const auto words = config::parts(line, ' ');
  const auto name = words.empty() ? std::string_view() : words[0];
  ConvMethod method;
  if (name == "simple" && words.size() == 1) return method;
  if (name == "cudnn" && parse_cudnn(words, method)) return method;
  if (name == "cublas" && parse_workspace(words, 1, method)) {
    method.kind = ConvMethod::Kind::cublas;
    return method;
  }
  return fail(Errc::bad_input,
              "'" + std::string(line) + "' names no way to compute a convolution that this version knows");
}

ConvMethod default_conv_method(Precision precision, const ConvCall& call) {
  const auto arguments = aligned_arguments(call);
  /// Up to this many pixels, one warp for each output uses more of the device than tiles do.
  constexpr int few_pixels = 8;
  const int pixels = arguments.batch * arguments.out_height * arguments.out_width;
  if (is_depthwise(arguments) || (!arguments.is_int8 && pixels <= few_pixels)) return {};
  const auto choice = default_conv(precision, arguments);
  return choice.variant ? ConvMethod{ConvMethod::Kind::own, choice} : ConvMethod{};
}

bool computes(const ConvMethod& method, Precision precision, const ConvCall& call) {
  const auto arguments = aligned_arguments(call);
  switch (method.kind) {
  case ConvMethod::Kind::simple: return true;
  case ConvMethod::Kind::own: {
    const auto math = method.own.variant->math;
    const bool half = math == ConvMath::half || math == ConvMath::simt_h;
    const bool int8 = math == ConvMath::int8 || math == ConvMath::simt_b;
    const bool precise = math != ConvMath::tf32 || precision == Precision::tf32;
    const bool fits = arguments.is_int8 ? int8 : !int8 && half == (precision == Precision::fp16) && precise;
    return fits && applies(*method.own.variant, arguments) &&
           method.own.splits <= max_splits(*method.own.variant, arguments);
  }
  case ConvMethod::Kind::cudnn:
    return !arguments.is_int8 && !is_depthwise(arguments) && (!method.fused || can_fuse(call));
  case ConvMethod::Kind::cublas: return !arguments.is_int8 && is_matrix_product(arguments);
  }
  return false;
}

bool is_matrix_product(const ConvArguments& a) {
  return a.kernel_h == 1 && a.kernel_w == 1 && a.stride_h == 1 && a.stride_w == 1 && a.pad_top == 0 &&
         a.pad_left == 0 && a.groups == 1 && a.out_height == a.height && a.out_width == a.width;
}

bool can_fuse(const ConvCall& call) {
  const auto kind = call.arguments.activation.kind;
  return call.bias.known() && !call.arguments.residual_last &&
         (kind == ActivationArguments::none || kind == ActivationArguments::relu);
}

} // namespace rtexec::tasks::cuda
