#include "hal/open/open_device.hpp"

#include "hal/cuda/cuda_device.hpp"
#include "hal/cuda/driver.hpp"
#include "hal/host/host_device.hpp"
#include "hal/open/available_memory.hpp"

namespace rtexec::hal {
namespace {

Result<std::unique_ptr<Device>> open_host(Bytes capacity, Bytes chunk, const MemoryCosts& costs,
                                          const Machine& machine) {
  const auto available = available_memory(machine);
  if (!available) return Unexpected(available.error());
  if (capacity > *available) {
    return fail(
        Errc::refused,
        "device.capacity: " + readable(capacity) + " was requested, " + readable(*available) +
            " are available on this machine (MemAvailable in /proc/meminfo).\nAsk for less, or end other programs.");
  }
  auto device = HostDevice::open(capacity, chunk, costs);
  if (!device) return Unexpected(device.error());
  return std::move(*device);
}

Result<std::unique_ptr<Device>> open_cuda(const CudaOptions& options, const std::string& board) {
  auto device = CudaDevice::open(options);
  // The board's description is valid, but this machine lacks the device
  if (!device)
    return fail(device.error().code == Errc::unsupported ? Errc::refused : device.error().code,
                "board \"" + board + "\": " + device.error().what);
  return std::move(*device);
}

} // namespace

Result<> find_driver(const Board& board) {
  if (!board.has_driver()) return {};
  const auto driver = cuda::open_driver();
  return driver ? Result<>() : fail(Errc::refused, driver.error().what);
}

Result<std::unique_ptr<Device>> open_device(const Board& board, Bytes capacity, Bytes chunk, Completion completion,
                                            const Machine& machine) {
  // True if the board's capacity is the whole memory of the device. Its size is known only after the device is opened
  const bool whole = !board.memory_is_of_host() && board.capacity.count == 0;
  if (capacity > board.capacity && !whole) {
    return fail(Errc::bad_input, "device.capacity: " + to_string(capacity) + " was requested, board \"" + board.name +
                                     "\" has " + to_string(board.capacity) +
                                     ".\nAsk for less, or correct the board's file.");
  }
  if (board.device == DeviceKind::host)
    return open_host(capacity.count == 0 ? board.capacity : capacity, chunk, board.memory_costs, machine);
  return open_cuda({.ordinal = static_cast<int>(board.ordinal),
                    .capacity = capacity,
                    .most = board.capacity,
                    .chunk = chunk,
                    .completion = completion},
                   board.name);
}

} // namespace rtexec::hal
