#include "tasks/media/letterbox.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::tasks {

Letterbox Letterbox::fit(Extent picture, Extent network, PictureFit how) {
  if (how == PictureFit::stretch) return {picture, network, network, 0, 0};
  const double scale = std::min(static_cast<double>(network.width) / picture.width,
                                static_cast<double>(network.height) / picture.height);
  const auto scaled = [&](int size, int limit) {
    return std::clamp(static_cast<int>(std::lround(size * scale)), 1, limit);
  };
  const Extent inner{scaled(picture.width, network.width), scaled(picture.height, network.height)};
  return {picture, network, inner, (network.width - inner.width) / 2, (network.height - inner.height) / 2};
}

Box Letterbox::to_picture(const Box& box) const {
  const auto map = [](float position, int start, int inner_size, int picture_size) {
    const auto size = static_cast<float>(picture_size);
    return std::clamp((position - static_cast<float>(start)) * size / static_cast<float>(inner_size), 0.0f, size);
  };
  Box mapped = box;
  mapped.left = map(box.left, left, inner.width, picture.width);
  mapped.right = map(box.right, left, inner.width, picture.width);
  mapped.top = map(box.top, top, inner.height, picture.height);
  mapped.bottom = map(box.bottom, top, inner.height, picture.height);
  return mapped;
}

} // namespace rtexec::tasks
