// The position of a picture inside a network's input. The picture is either scaled to fit with its aspect ratio kept,
// and centred, or it is stretched to the whole input.
#pragma once

#include <rtexec/box.hpp>
#include <rtexec/choices.hpp>

namespace rtexec::tasks {

/// Size in pixels.
struct Extent {
  int width = 0;
  int height = 0;
};

struct Letterbox {
  Extent picture; // original size of the picture
  Extent network;
  Extent inner; // size of the scaled picture inside the network's input, at least 1x1
  int left = 0; // position of the scaled picture
  int top = 0;

  [[nodiscard]] static Letterbox fit(Extent picture, Extent network, PictureFit how = PictureFit::letterbox);

  /// Converts a box from network pixels to picture pixels, clipped to the picture.
  [[nodiscard]] Box to_picture(const Box& box) const;
};

} // namespace rtexec::tasks
