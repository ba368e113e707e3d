// The board's device as items ask it: in a process of its own, so that a driver that hangs or a fault ends no bring-up.
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

/// As hal::open_device of the board; tests have devices of their own.
[[nodiscard]] executive::OpenDevice device_of(const Board& board);

/// The unit that it is asked in: the board's, but 2 MiB at least.
[[nodiscard]] Bytes chunk_of(const Board& board);
/// Opened with `chunks` of them at least; of a GPU all that is free, which is known only when nothing is asked for.
[[nodiscard]] Result<std::unique_ptr<hal::Device>> open_with(const Board& board, const executive::OpenDevice& open,
                                                             std::size_t chunks);

using AskDevice = std::function<Answer(hal::Device& device)>;
/// `ask`s a device with `chunks` chunks at least. A device that is not there is skipped on an emulator, and else
/// failed; so is one that faults, or does not answer in time.
[[nodiscard]] Answer ask_device(const Subject& subject, const executive::OpenDevice& open, std::size_t chunks,
                                const AskDevice& ask);

/// Of a child that ended without an answer.
[[nodiscard]] Answer driver_failure(const ChildEnd& end, const std::string& device, Duration patience);

/// Contents that differ from seed to seed, for whole chunks.
[[nodiscard]] std::vector<std::byte> pattern(Bytes size, unsigned seed);

// On the engines that are there for it.
[[nodiscard]] Status copy_in(hal::Device& device, std::byte* to, const std::vector<std::byte>& from);
[[nodiscard]] Status copy_out(hal::Device& device, std::vector<std::byte>& to, const std::byte* from);

} // namespace rtexec::bringup
