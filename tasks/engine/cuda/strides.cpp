#include "tasks/engine/cuda/strides.hpp"

#include <algorithm>
#include <cstddef>

namespace rtexec::tasks::cuda {
namespace {

/// Several nested dimensions that can be addressed as one dimension of `count` elements with the stride `stride`.
struct Run {
  std::int64_t count, stride;
};

/// Returns the dimensions of a tensor merged into the longest possible runs, outermost first. Dimensions of one element
/// are dropped.
std::vector<Run> runs_of(const Shape& shape, const Strides& strides) {
  std::vector<Run> runs;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!runs.empty() && runs.back().stride == strides[d] * shape[d])
      runs.back() = {runs.back().count * shape[d], strides[d]};
    else runs.push_back({shape[d], strides[d]});
  }
  return runs;
}

/// The counterpart of a view's dimension in a tensor. The next index of the view is `steps` indices further in the
/// tensor's dimension `dimension`.
struct Advance {
  std::size_t dimension;
  std::int64_t steps;
};

std::optional<Advance> advance_of(std::int64_t stride, std::int64_t count, const Shape& from, const Strides& dense) {
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1 || stride % dense[d] != 0) continue;
    const auto steps = stride / dense[d];
    if (std::abs(steps) * (count - 1) < from[d]) return Advance{d, steps};
  }
  return std::nullopt;
}

} // namespace

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

std::optional<Strides> reshape(const Shape& from, const Strides& strides, const Shape& to) {
  auto runs = runs_of(from, strides);
  Strides result(to.size(), 0);
  // Splits the runs into the dimensions of `to`, from the innermost dimension on. Each dimension of `to` is split off
  // the innermost run that is not used up.
  for (std::size_t d = to.size(); d-- > 0;) {
    if (to[d] == 1) continue;
    if (runs.empty() || runs.back().count % to[d] != 0) return std::nullopt;
    auto& run = runs.back();
    result[d] = run.stride;
    run = {run.count / to[d], run.stride * to[d]};
    if (run.count == 1) runs.pop_back();
  }
  return result;
}

std::optional<Viewed> view_of(const tasks::View& view, const Shape& to, const Shape& from, const Strides& strides) {
  const auto dense = dense_strides(from);
  Viewed result{0, Strides(to.size(), 0)};
  // The lowest and the highest index that the view reaches in each dimension of `from`.
  std::vector<std::int64_t> first(from.size(), 0), last(from.size(), 0);
  auto rest = view.offset;
  for (std::size_t d = 0; d < from.size(); ++d) {
    first[d] = last[d] = rest / dense[d];
    rest %= dense[d];
    result.offset += first[d] * strides[d];
  }
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 1 || view.strides[d] == 0) continue;
    const auto advance = advance_of(view.strides[d], to[d], from, dense);
    if (!advance) return std::nullopt;
    result.strides[d] = advance->steps * strides[advance->dimension];
    (advance->steps < 0 ? first : last)[advance->dimension] += advance->steps * (to[d] - 1);
  }
  for (std::size_t d = 0; d < from.size(); ++d)
    if (first[d] < 0 || last[d] >= from[d]) return std::nullopt;
  return result;
}

bool lie_alike(const Shape& shape, const Strides& a, const Strides& b) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1 && a[d] != b[d]) return false;
  return true;
}

Strides channels_last(const Shape& shape, std::int64_t pixel) {
  Strides strides(shape.size(), 1);
  auto stride = pixel;
  for (std::size_t d = shape.size(); d-- > 2;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  strides[0] = stride;
  return strides;
}

std::optional<Image> image_of(const Shape& shape, const Strides& strides, std::int64_t unit) {
  if (shape.size() < 2) return std::nullopt;
  Image image;
  image.batch = shape[0];
  image.channels = shape[1];
  if (shape.size() == 4) {
    image.height = shape[2];
    image.width = shape[3];
  } else {
    for (std::size_t d = 2; d < shape.size(); ++d) image.height *= shape[d];
  }
  image.pixel = round_up(image.channels, unit);
  std::int64_t pixels = 1; // number of pixels from one index of dimension d to the next
  bool known = false;
  const auto fits = [&](std::size_t d) {
    if (shape[d] == 1) return true;
    if (!known && strides[d] % pixels != 0) return false;
    if (!known) image.pixel = strides[d] / pixels;
    known = true;
    const bool right = strides[d] == pixels * image.pixel;
    pixels *= shape[d];
    return right;
  };
  for (std::size_t d = shape.size(); d-- > 2;)
    if (!fits(d)) return std::nullopt;
  if (!fits(0) || image.pixel < image.channels || (image.channels > 1 && strides[1] != 1)) return std::nullopt;
  return image;
}

std::int64_t extent(const Shape& shape, const Strides& strides) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) last += std::abs(strides[d]) * (shape[d] - 1);
  return last + 1;
}

View kernel_view(const Shape& shape, const Strides& strides) {
  View view;
  view.rank = std::max(static_cast<int>(shape.size()), 1);
  view.shape[0] = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    view.shape[d] = static_cast<int>(shape[d]);
    view.stride[d] = strides[d];
  }
  return view;
}

} // namespace rtexec::tasks::cuda
