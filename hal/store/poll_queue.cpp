#include "hal/store/poll_queue.hpp"

#include "config/base/text.hpp"
#include "hal/machine_files.hpp"
#include "hal/resources.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace rtexec::hal {
namespace {

/// Returns a queue parameter of the disk that holds `file`. For a partition, reads the parameter of the partition's
/// disk.
std::optional<std::uint64_t> queue_says(const struct stat& file, const std::string& what) {
  const std::string device =
      "/sys/dev/block/" + std::to_string(major(file.st_dev)) + ":" + std::to_string(minor(file.st_dev));
  for (const char* queue : {"/queue/", "/../queue/"})
    if (const auto text = Machine().read(device + queue + what)) return config::number<std::uint64_t>(*text);
  return std::nullopt;
}

} // namespace

std::optional<Bytes> longest_polled_transfer(int file) {
  struct stat status {};
  if (sys().fstat(file, &status) != 0 || queue_says(status, "io_poll").value_or(0) == 0) return std::nullopt;
  const std::uint64_t page = page_size().count;
  const std::uint64_t of_length = queue_says(status, "max_sectors_kb").value_or(128) * 1024;
  // In the worst case each page is a separate segment, a contiguous range of physical memory
  const std::uint64_t of_pages = queue_says(status, "max_segments").value_or(32) * page;
  return Bytes{std::max(std::bit_floor(std::min(of_length, of_pages)), page)};
}

} // namespace rtexec::hal
