#include "tasks/media/draw.hpp"

#include "config/base/files.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_easy_font.h>
#include <stb/stb_image_write.h>

namespace rtexec::tasks {
namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr Colour kBlack{0, 0, 0};
constexpr std::array<Colour, 8> kColours{{{255, 215, 0},
                                          {0, 230, 118},
                                          {64, 196, 255},
                                          {255, 128, 171},
                                          {255, 145, 0},
                                          {178, 255, 89},
                                          {234, 128, 252},
                                          {132, 255, 255}}};
constexpr int kTextHeight = 12; // line height of stb_easy_font (a bitmap font) at scale 1, in pixels

Colour colour_of(std::uint32_t label) { return kColours[label % kColours.size()]; }

/// Fills a rectangle, clipped to the picture; `right` and `bottom` are exclusive.
void fill(Picture& picture, int left, int top, int right, int bottom, Colour colour) {
  for (int y = std::max(top, 0); y < std::min(bottom, picture.size.height); ++y)
    for (int x = std::max(left, 0); x < std::min(right, picture.size.width); ++x)
      std::ranges::copy(colour, picture.rgb.begin() + (std::ptrdiff_t{y} * picture.size.width + x) * 3);
}

/// Returns the scale of lines and letters. The scale grows with the picture, so that lines and letters remain visible
/// when the whole picture is scaled to a screen.
int scale_of(const Picture& picture) { return std::max(1, std::min(picture.size.width, picture.size.height) / 400); }

/// Writes black text on `background`. Moves the text to the left if it would leave the picture.
void write_text(Picture& picture, int left, int top, std::string text, Colour background) {
  struct Vertex {
    float x, y, z;
    std::uint8_t colour[4];
  };
  const int scale = scale_of(picture);
  const int width = (stb_easy_font_width(text.data()) + 3) * scale;
  left = std::max(0, std::min(left, picture.size.width - width));
  fill(picture, left, top, left + width, top + kTextHeight * scale, background);
  std::vector<std::array<Vertex, 4>> quads(text.size() * 8); // a letter has at most 8 strokes
  const int count =
      stb_easy_font_print(0, 0, text.data(), nullptr, quads.data(), static_cast<int>(quads.size() * sizeof(quads[0])));
  for (int i = 0; i < count; ++i) {
    const auto& quad = quads[static_cast<std::size_t>(i)];
    const auto place = [&](float offset) { return (static_cast<int>(offset) + 2) * scale; };
    fill(picture, left + place(quad[0].x), top + place(quad[0].y), left + place(quad[2].x), top + place(quad[2].y),
         kBlack);
  }
}

/// Rounds any number. A position far outside the picture is clamped to a value that is still outside.
int pixel(float position) {
  constexpr float beyond = 1 << 20;
  return static_cast<int>(std::lround(std::clamp(position, -beyond, beyond)));
}

std::string label_text(std::uint32_t label, float score) {
  return "class " + std::to_string(label) + "  " + std::to_string(std::lround(score * 100)) + "%";
}

} // namespace

void draw(Picture& picture, std::span<const Box> boxes) {
  const int line = 2 * scale_of(picture);
  for (const Box& box : boxes) {
    if (!std::isfinite(box.left + box.top + box.right + box.bottom)) continue;
    const int left = pixel(box.left), top = pixel(box.top), right = pixel(box.right), bottom = pixel(box.bottom);
    if (right <= 0 || bottom <= 0 || left >= picture.size.width || top >= picture.size.height) continue;
    const Colour colour = colour_of(box.label);
    fill(picture, left, top, right, std::min(top + line, bottom), colour);
    fill(picture, left, std::max(bottom - line, top), right, bottom, colour);
    fill(picture, left, top, std::min(left + line, right), bottom, colour);
    fill(picture, std::max(right - line, left), top, right, bottom, colour);
    const int height = kTextHeight * scale_of(picture);
    write_text(picture, left, top >= height ? top - height : std::max(top, 0), label_text(box.label, box.score),
               colour);
  }
}

void draw(Picture& picture, std::span<const RankedClass> classes) {
  int top = 0;
  for (const auto& ranked : classes) {
    write_text(picture, 0, top, label_text(ranked.label, ranked.score), colour_of(ranked.label));
    top += kTextHeight * scale_of(picture);
  }
}

void encode_jpeg(const Picture& picture, std::vector<std::byte>& file) {
  constexpr int quality = 95; // above 90, stb_image_write does not subsample colours
  const auto append = [](void* context, void* data, int size) {
    auto& to = *static_cast<std::vector<std::byte>*>(context);
    const auto* const bytes = static_cast<const std::byte*>(data);
    to.insert(to.end(), bytes, bytes + size);
  };
  file.clear();
  stbi_write_jpg_to_func(append, &file, picture.size.width, picture.size.height, 3, picture.rgb.data(), quality);
}

Result<> write_png(const Picture& picture, const std::filesystem::path& path) {
  auto file = AtomicFile::create(path);
  if (!file) return Unexpected(file.error());
  struct Sink {
    AtomicFile& file;
    Result<> result;
  } sink{*file, {}};
  const auto write = [](void* context, void* data, int size) {
    auto& to = *static_cast<Sink*>(context);
    if (to.result) to.result = to.file.write({static_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
  };
  const int encoded =
      stbi_write_png_to_func(write, &sink, picture.size.width, picture.size.height, 3, picture.rgb.data(), 0);
  if (!sink.result) return sink.result;
  if (!encoded) return fail(Errc::refused, path.string() + ": cannot be encoded as PNG: out of memory");
  return file->commit();
}

} // namespace rtexec::tasks
