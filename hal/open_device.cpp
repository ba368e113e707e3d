#include "hal/host/host_device.hpp"
#include "hal/machine.hpp"

#include <charconv>

namespace rtexec::hal {
namespace {

Result<Bytes> available_memory(const Machine& machine) {
  const auto meminfo = machine.read("/proc/meminfo");
  if (!meminfo) return std::unexpected(meminfo.error());
  const std::string text = field(*meminfo, "MemAvailable:").value_or("");
  std::uint64_t kib = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), kib).ec != std::errc()) {
    return fail(Errc::unsupported, "/proc/meminfo has no MemAvailable: the kernel is older than 3.14.");
  }
  return Bytes{kib * 1024};
}

} // namespace

Result<std::unique_ptr<Device>> open_device(const Board& board, Bytes capacity, Bytes chunk, const Machine& machine) {
  if (capacity > board.capacity) {
    return fail(Errc::bad_input, "device.capacity: " + to_string(capacity) + " was asked, board \"" + board.name + "\" has " +
                                     to_string(board.capacity) + ".\nAsk for less, or correct the board's file.");
  }
  const auto available = available_memory(machine);
  if (!available) return std::unexpected(available.error());
  if (capacity > *available) {
    return fail(Errc::refused, "device.capacity: " + readable(capacity) + " was asked, " + readable(*available) +
                                   " are available on this machine (MemAvailable in /proc/meminfo).\nAsk for less, or end other programs.");
  }
  auto device = HostDevice::open(capacity, chunk);
  if (!device) return std::unexpected(device.error());
  return std::move(*device);
}

} // namespace rtexec::hal
