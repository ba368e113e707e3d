// Gives items access to the board's device in a separate process, so that a hanging driver or a fault does not end the
// bring-up.
#pragma once

#include "hal/device_interface.hpp"
#include "rtexec/studies/bringup/child.hpp"
#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::bringup {

/// Returns a function that opens the board's device with hal::open_device. Tests pass functions that open other
/// devices.
[[nodiscard]] executive::OpenDevice device_of(const Board& board);

/// Returns the chunk size for the checks: the board's chunk size, but at least 2 MiB.
[[nodiscard]] Bytes chunk_of(const Board& board);
/// Opens the device with at least `chunks` chunks. On a GPU it takes all free memory, because the driver reports the
/// size of the memory only if no capacity is requested.
[[nodiscard]] Result<std::unique_ptr<hal::Device>> open_with(const Board& board, const executive::OpenDevice& open,
                                                             std::size_t chunks);

using AskDevice = std::function<Answer(hal::Device& device)>;
/// Opens a device of at least `chunks` chunks in a child process, and returns the answer that `ask` gives about the
/// device. If the device is missing, the answer is skipped on an emulator and failed elsewhere. If the device faults or
/// does not respond in time, the answer is failed.
[[nodiscard]] Answer ask_device(const Subject& subject, const executive::OpenDevice& open, std::size_t chunks,
                                const AskDevice& ask);

/// Returns the failed answer for a child process that ended without an answer. `timeout`: the timeout of the child.
[[nodiscard]] Answer driver_failure(const ChildEnd& end, const std::string& device, Duration timeout);

/// Returns contents for whole chunks. Different seeds give different contents.
[[nodiscard]] std::vector<std::byte> pattern(Bytes size, unsigned seed);

// The functions below copy with the copy engine of their direction, and wait until the copy is complete.
[[nodiscard]] Status copy_in(hal::Device& device, std::byte* to, const std::vector<std::byte>& from);
[[nodiscard]] Status copy_out(hal::Device& device, std::vector<std::byte>& to, const std::byte* from);

} // namespace rtexec::bringup
