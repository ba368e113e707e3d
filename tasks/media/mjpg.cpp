#include "tasks/media/mjpg.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio> // jpeglib.h needs it
#include <utility>

#include <jpeglib.h>

#include <jerror.h>

namespace rtexec::tasks {
namespace {

constexpr std::size_t kChannels = 3;

/// The memory for one picture. It allocates consecutive blocks, aligned for vector instructions.
class Arena {
 public:
  explicit Arena(std::size_t size) : blocks_((size + sizeof(Block) - 1) / sizeof(Block)) {}

  /// Returns a block. Returns null if the rest of the memory is too small.
  void* allocate(std::size_t size) noexcept {
    const std::size_t count = size / sizeof(Block) + 1;
    return count > blocks_.size() - used_ ? nullptr : &blocks_[std::exchange(used_, used_ + count)];
  }
  void reset() noexcept { used_ = 0; }

 private:
  struct alignas(64) Block {
    std::byte bytes[64];
  };
  std::vector<Block> blocks_;
  std::size_t used_ = 0;
};

/// Returns a size of memory that suffices to decode a picture of `size` with three components, for every subsampling of
/// the components.
constexpr std::size_t memory_for(Extent size) {
  return (std::size_t{256} << 10) + 512 * static_cast<std::size_t>(size.width);
}

} // namespace

struct MjpgDecoder::Library {
  explicit Library(Extent size) : arena(memory_for(size)) {}
  ~Library() { jpeg_destroy_decompress(&info); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  static Library& of(j_common_ptr common) noexcept { return *static_cast<Library*>(common->client_data); }

  /// Leaves the library by longjmp, because an error handler of libjpeg must not return.
  [[noreturn]] static void leave(j_common_ptr common) noexcept { std::longjmp(of(common).failure, 1); }

  /// Ends the decoding at the first warning about missing or wrong data. Otherwise libjpeg would make up the rest of
  /// the picture.
  static void take_warning(j_common_ptr common, int level) noexcept {
    if (level >= 0) return;
    switch (common->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA: // padding between segments
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_TOO_MUCH_DATA: return;
    default: leave(common);
    }
  }

  static void* allocate(j_common_ptr common, int, std::size_t size) noexcept {
    void* const block = of(common).arena.allocate(size);
    if (block == nullptr) leave(common);
    return block;
  }

  /// Allocates the rows of an array. Each row is padded for vector instructions.
  template <class Element>
  static Element** allocate_rows(j_common_ptr common, int pool, JDIMENSION width, JDIMENSION count) noexcept {
    constexpr std::size_t vectors = 64;
    const std::size_t row = (width * sizeof(Element) + vectors - 1) / vectors * vectors;
    auto** const rows = static_cast<Element**>(allocate(common, pool, count * sizeof(Element*)));
    auto* const bytes = static_cast<std::byte*>(allocate(common, pool, count * row));
    for (std::size_t i = 0; i < count; ++i) rows[i] = reinterpret_cast<Element*>(bytes + i * row);
    return rows;
  }

  bool create() noexcept {
    info.err = jpeg_std_error(&errors);
    errors.error_exit = leave;
    errors.emit_message = take_warning;
    errors.output_message = [](j_common_ptr) {};
    info.client_data = this;
    if (setjmp(failure) != 0) return false;
    jpeg_create_decompress(&info);
    info.mem->alloc_small = info.mem->alloc_large = allocate;
    info.mem->alloc_sarray = allocate_rows<JSAMPLE>;
    info.mem->alloc_barray = allocate_rows<JBLOCK>;
    info.mem->free_pool = [](j_common_ptr, int) {};
    return true;
  }

  /// True if the picture has the expected size and a single scan. libjpeg decodes such a picture line by line, and
  /// needs memory that does not grow with the picture's height.
  [[nodiscard]] bool is_wanted(Extent size) noexcept {
    return info.image_width == static_cast<JDIMENSION>(size.width) &&
           info.image_height == static_cast<JDIMENSION>(size.height) && info.progressive_mode == FALSE &&
           jpeg_has_multiple_scans(&info) == FALSE;
  }

  /// Removes the tables of the previous picture. Otherwise the library would use them for a picture without tables,
  /// even if the previous picture was damaged.
  void forget() noexcept {
    arena.reset();
    info.src = nullptr;
    std::ranges::fill(info.quant_tbl_ptrs, nullptr);
    std::ranges::fill(info.dc_huff_tbl_ptrs, nullptr);
    std::ranges::fill(info.ac_huff_tbl_ptrs, nullptr);
  }

  bool decode(std::span<const std::byte> compressed, Extent size, std::uint8_t* rgb) noexcept {
    forget();
    if (setjmp(failure) != 0) {
      jpeg_abort_decompress(&info);
      return false;
    }
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(compressed.data()), compressed.size());
    (void)jpeg_read_header(&info, TRUE);
    const bool wanted = is_wanted(size);
    if (wanted) {
      info.out_color_space = JCS_RGB;
      (void)jpeg_start_decompress(&info);
      while (info.output_scanline < info.output_height) {
        JSAMPROW row = rgb + kChannels * info.output_width * info.output_scanline;
        (void)jpeg_read_scanlines(&info, &row, 1);
      }
    }
    jpeg_abort_decompress(&info); // ignores data after the last line
    return wanted;
  }

  Arena arena;
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf failure{};
};

MjpgDecoder::MjpgDecoder(Extent size, std::unique_ptr<Library> library)
    : size_(size),
      rgb_(kChannels * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height)),
      library_(std::move(library)) {}
MjpgDecoder::MjpgDecoder(MjpgDecoder&&) noexcept = default;
MjpgDecoder& MjpgDecoder::operator=(MjpgDecoder&&) noexcept = default;
MjpgDecoder::~MjpgDecoder() = default;

Result<MjpgDecoder> MjpgDecoder::make(Extent size) {
  auto library = std::make_unique<Library>(size);
  if (!library->create())
    return fail(Errc::unsupported, "the libjpeg of this machine is not the version that this program was built for.");
  return MjpgDecoder(size, std::move(library));
}

Expected<Frame, Errc> MjpgDecoder::decode(std::span<const std::byte> compressed) noexcept {
  if (!library_->decode(compressed, size_, rgb_.data())) return Unexpected(Errc::corrupted);
  return Frame{PixelFormat::rgb24, size_, kChannels * static_cast<std::size_t>(size_.width), rgb_};
}

} // namespace rtexec::tasks
