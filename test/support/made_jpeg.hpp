// Encodes pictures as JPEG with libjpeg, in memory, as a camera does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio> // jpeglib.h needs it
#include <cstdlib>
#include <span>
#include <vector>

#include <jpeglib.h>

namespace rtexec::test {

struct JpegShape {
  int width = 0, height = 0;
  int across = 2, down = 2; // luma pixels per chroma pixel
  bool grey = false;
  bool progressive = false;
  bool tables = true; // writes Huffman tables
  int quality = 90;
  unsigned restart = 0; // blocks between restart markers
};

/// Encodes `pixels`: three bytes (red, green, blue) for each pixel, or one byte if the shape is grey.
inline std::vector<std::byte> jpeg(std::span<const std::uint8_t> pixels, const JpegShape& shape) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(shape.width);
  info.image_height = static_cast<JDIMENSION>(shape.height);
  info.input_components = shape.grey ? 1 : 3;
  info.in_color_space = shape.grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, shape.quality, TRUE);
  info.restart_interval = shape.restart;
  if (!shape.grey) {
    info.comp_info[0].h_samp_factor = shape.across;
    info.comp_info[0].v_samp_factor = shape.down;
  }
  if (shape.progressive) jpeg_simple_progression(&info);
  jpeg_suppress_tables(&info, FALSE);
  if (!shape.tables)
    for (int i = 0; i < 2; ++i) info.dc_huff_tbl_ptrs[i]->sent_table = info.ac_huff_tbl_ptrs[i]->sent_table = TRUE;
  jpeg_start_compress(&info, shape.tables ? TRUE : FALSE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.data() + static_cast<std::size_t>(info.next_scanline) * info.image_width *
                                                         static_cast<std::size_t>(info.input_components));
    (void)jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto made = std::as_bytes(std::span(bytes, size));
  std::vector<std::byte> result(made.begin(), made.end());
  std::free(bytes);
  return result;
}

} // namespace rtexec::test
