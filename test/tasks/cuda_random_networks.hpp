// Random networks of every operation and every memory layout, and random choices of kernels. Values keep their
// magnitude from layer to layer, so that half precision can represent them.
#pragma once

#include "tasks/engine/cuda/conv_method.hpp"
#include "tasks/engine/cuda/program.hpp"
#include "test/tasks/cuda_cases.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace rtexec::tasks {

class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : engine_(seed) {
    images_.push_back(g_.input({up_to(3), up_to(5), 3 + up_to(6), 3 + up_to(6)}));
    for (int i = 0; i < 16; ++i) images_.push_back(next());
    g_.output(images_.back());
    for (int i = 0; i < 2; ++i) g_.output(pick());
  }

  [[nodiscard]] Graph& graph() { return g_.graph; }

 private:
  using Kind = Activation::Kind;
  static constexpr std::int64_t max_channels = 48, longest_side = 12;

  std::int64_t up_to(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most));
  }
  bool maybe() { return engine_() % 2 == 0; }
  TensorId pick() { return images_[engine_() % images_.size()]; }
  [[nodiscard]] const Shape& shape(TensorId id) const { return g_.graph.tensors[id].shape; }

  /// Returns another tensor with the batch, height and width of `id`, or `id` if there is none.
  TensorId beside(TensorId id) {
    std::vector<TensorId> found;
    for (const auto other : images_)
      if (shape(other)[0] == shape(id)[0] && shape(other)[2] == shape(id)[2] && shape(other)[3] == shape(id)[3])
        found.push_back(other);
    return found[engine_() % found.size()];
  }
  TensorId like(TensorId id) {
    std::vector<TensorId> found;
    for (const auto other : images_)
      if (shape(other) == shape(id)) found.push_back(other);
    return found[engine_() % found.size()];
  }

  TensorId next() {
    const auto x = pick();
    switch (engine_() % 20) {
    case 0: return convolution(x, 1);
    case 1: return convolution(x, divisor(shape(x)[1]));
    case 2: return convolution(x, shape(x)[1]);
    case 3: return same_convolution(x);
    case 4: return g_.add(same_convolution(like(x)), x);
    case 5: return g_.relu(g_.add(x, same_convolution(x)));
    case 6: return concatenation(x);
    case 7: return slice(g_, x, shape(x)[1] / 3, shape(x)[1] - shape(x)[1] / 3);
    case 8: return slice(g_, x, 0, up_to(shape(x)[1]));
    case 9: return shuffle(g_, x, divisor(shape(x)[1]));
    case 10: return padding(x);
    case 11: return resizing(x);
    case 12: return pooling(x);
    case 13: return gated(x);
    case 14: return activated(g_, x, {Kind::clip, -2, 3});
    case 15: return activated(g_, x, {Kind::leaky_relu, 0.25F, 0});
    case 16: return gathering(x);
    case 17: return g_.node(Binary{maybe() ? Binary::Kind::add : Binary::Kind::subtract}, {x, like(x)}, shape(x));
    case 18: return turned(x);
    default: return g_.node(ScaleShift{}, {x, g_.random({shape(x)[1]}), g_.random({shape(x)[1]})}, shape(x));
    }
  }

  std::int64_t divisor(std::int64_t of) {
    auto result = up_to(of);
    while (of % result != 0) --result;
    return result;
  }

  /// Returns weights so small that sums are no larger than their terms.
  TensorId weights(const Shape& of) {
    const auto id = g_.random(of);
    const auto terms = static_cast<float>(of[1] * of[2] * of[3]);
    for (auto& value : g_.graph.tensors[id].values) value *= 1.7F / std::sqrt(terms);
    return id;
  }

  TensorId conv_node(TensorId x, const Window& w, std::int64_t groups, std::int64_t out) {
    const auto s = shape(x);
    const auto high = (s[2] + w.pad_top + w.pad_bottom - w.dilation_h * (w.kernel_h - 1) - 1) / w.stride_h + 1;
    const auto wide = (s[3] + w.pad_left + w.pad_right - w.dilation_w * (w.kernel_w - 1) - 1) / w.stride_w + 1;
    std::vector<TensorId> inputs{x, weights({out, s[1] / groups, w.kernel_h, w.kernel_w})};
    if (maybe()) inputs.push_back(g_.random({out}));
    return g_.node(Conv{w, groups}, std::move(inputs), {s[0], out, high, wide});
  }

  TensorId convolution(TensorId x, std::int64_t groups) {
    const auto side = [&](std::int64_t& kernel, std::int64_t& stride, std::int64_t& before, std::int64_t& after,
                          std::int64_t& dilation, std::int64_t size) {
      kernel = up_to(3);
      dilation = up_to(2);
      stride = up_to(2);
      before = up_to(3) - 1;
      after = up_to(3) - 1;
      if (size + before + after < dilation * (kernel - 1) + 1 || size + before + after > longest_side)
        kernel = dilation = 1, before = after = 0;
    };
    Window w;
    side(w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, w.dilation_h, shape(x)[2]);
    side(w.kernel_w, w.stride_w, w.pad_left, w.pad_right, w.dilation_w, shape(x)[3]);
    return conv_node(x, w, groups, groups * up_to(std::max<std::int64_t>(1, 32 / groups)));
  }

  /// Adds a convolution with an output of x's shape.
  TensorId same_convolution(TensorId x) {
    const auto side = maybe() ? 3 : 1, pad = side / 2;
    return conv_node(x, {side, side, 1, 1, pad, pad, pad, pad, 1, 1}, maybe() ? 1 : divisor(shape(x)[1]), shape(x)[1]);
  }

  /// Concatenates x with tensors of the same size, or repeats the last concatenation in reverse order.
  TensorId concatenation(TensorId x) {
    if (!parts_.empty() && maybe()) {
      std::ranges::reverse(parts_);
      return g_.concat(parts_);
    }
    std::vector<TensorId> parts{x};
    auto channels = shape(x)[1];
    for (int i = 0; i < 3; ++i) {
      const auto part = maybe() ? same_convolution(beside(x)) : beside(x);
      if (channels + shape(part)[1] > max_channels) continue;
      channels += shape(part)[1];
      parts.push_back(part);
    }
    parts_ = parts;
    return g_.concat(parts);
  }

  TensorId padding(TensorId x) {
    auto to = shape(x);
    std::vector<std::int64_t> before(4, 0);
    for (std::size_t d = 1; d < 4; ++d) {
      if (to[d] + 2 > (d == 1 ? max_channels : longest_side)) continue;
      before[d] = up_to(2) - 1;
      to[d] += before[d] + up_to(2) - 1;
    }
    return g_.node(Pad{before, 0.5F}, {x}, to);
  }

  TensorId resizing(TensorId x) {
    const auto taps = [&](std::int64_t from, std::int64_t to) {
      std::vector<Resize::Tap> result;
      for (std::int64_t i = 0; i < to; ++i) {
        const auto low = i * from / to;
        result.push_back({low, std::min(low + 1, from - 1), maybe() ? 0.25F : 0.0F});
      }
      return result;
    };
    const auto s = shape(x);
    const auto high = up_to(longest_side), wide = up_to(longest_side);
    return g_.node(Resize{taps(s[2], high), taps(s[3], wide)}, {x}, {s[0], s[1], high, wide});
  }

  TensorId pooling(TensorId x) {
    const auto s = shape(x);
    const auto stride = up_to(2);
    const Window w{3, 3, stride, stride, 1, 1, 1, 1, 1, 1};
    return g_.node(Pool{maybe() ? Pool::Kind::max : Pool::Kind::average, w, maybe()}, {x},
                   {s[0], s[1], (s[2] - 1) / stride + 1, (s[3] - 1) / stride + 1});
  }

  TensorId gated(TensorId x) {
    const auto s = shape(x);
    const auto mean = g_.node(Reduce{Reduce::Kind::mean, s[0] * s[1], s[2] * s[3], 1}, {x}, {s[0], s[1], 1, 1});
    const auto gate = activated(g_, conv_node(mean, {}, 1, s[1]), {Kind::sigmoid, 0, 0});
    return g_.node(Binary{Binary::Kind::multiply}, {x, gate}, s);
  }

  TensorId gathering(TensorId x) {
    auto to = shape(x);
    const auto axis = static_cast<std::size_t>(up_to(3));
    std::vector<std::int64_t> indices(static_cast<std::size_t>(up_to(6)));
    for (auto& index : indices) index = up_to(to[axis]) - 1;
    to[axis] = static_cast<std::int64_t>(indices.size());
    return g_.node(GatherConstant{axis, indices}, {x}, to);
  }

  /// Exchanges two dimensions, by a view or by a reshape.
  TensorId turned(TensorId x) {
    const auto s = shape(x);
    if (s[1] > longest_side) return g_.relu(x);
    const Shape to{s[0], s[3], s[2], s[1]};
    if (maybe()) return reshape(g_, x, to);
    return g_.node(View{0, {s[1] * s[2] * s[3], 1, s[3], s[2] * s[3]}}, {x}, to);
  }

  std::mt19937 engine_;
  TestGraph g_;
  std::vector<TensorId> images_;
  std::vector<TensorId> parts_; // the parts of the last concatenation
};

/// Chooses for each convolution of `program` any applicable kernel of ours, as lines of tuning. Half of those that can
/// be split are split.
inline std::vector<std::string> random_choices(const cuda::Program& program, unsigned seed) {
  std::mt19937 engine(seed);
  std::map<std::string, std::string> lines;
  for (const auto& each : program.calls) {
    const auto* call = std::get_if<cuda::ConvCall>(&each.what);
    if (!call) continue;
    std::vector<cuda::ConvMethod> methods(1), split;
    for (const auto& variant : cuda::conv_variants())
      for (const int splits : {1, 2, 3, 7})
        for (const bool in_cluster : {false, true}) {
          cuda::ConvMethod method;
          method.kind = cuda::ConvMethod::Kind::own;
          method.own = {&variant, splits, in_cluster};
          if (cuda::computes(method, program.precision, *call))
            (splits > 1 && !in_cluster ? split : methods).push_back(method);
        }
    const auto& chosen = split.empty() || engine() % 2 == 0 ? methods : split;
    lines.emplace(cuda::geometry_of(*call), cuda::to_text(chosen[engine() % chosen.size()]));
  }
  std::vector<std::string> result;
  for (const auto& [geometry, method] : lines) result.push_back(geometry + " = " + method);
  return result;
}

} // namespace rtexec::tasks
