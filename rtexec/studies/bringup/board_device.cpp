#include "rtexec/studies/bringup/board_device.hpp"

#include "hal/open/open_device.hpp"
#include "rtexec/studies/bringup/answers.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;

constexpr const char* hung_advice =
    "The device's driver does not work under this kernel: use the kernel that its vendor builds it for, or a newer "
    "driver (a module that was built for another preemption model than the kernel's hangs so). `dmesg` says more";

Answer absent(const Subject& subject, const Error& error) {
  if (subject.emulated && subject.board.has_driver()) return skipped("an emulator has no GPU: " + first_line(error));
  return failed(error, "On a computer without a GPU: --device host");
}

Answer ask_here(const Subject& subject, const executive::OpenDevice& open, std::size_t chunks, const AskDevice& ask) {
  const auto device = open_with(subject.board, open, chunks);
  if (!device) return absent(subject, device.error());
  return ask(**device);
}

} // namespace

executive::OpenDevice device_of(const Board& board) {
  return [board](Bytes capacity, Bytes chunk) { return hal::open_device(board, capacity, chunk); };
}

Bytes chunk_of(const Board& board) { return std::max(board.chunk, Bytes{std::uint64_t{2} << 20}); }

Result<std::unique_ptr<hal::Device>> open_with(const Board& board, const executive::OpenDevice& open,
                                               std::size_t chunks) {
  const Bytes chunk = chunk_of(board);
  return open(hal::capacity_for(board, chunk * chunks), chunk);
}

Answer ask_device(const Subject& subject, const executive::OpenDevice& open, std::size_t chunks, const AskDevice& ask) {
  const Duration timeout = 20s + 5 * subject.length;
  const ChildEnd end = ask_in_child([&] { return ask_here(subject, open, chunks, ask); }, timeout, subject.going_on);
  if (end.answer) return *end.answer;
  return driver_failure(end, subject.board.has_driver() ? "the GPU" : "the host device", timeout);
}

Answer driver_failure(const ChildEnd& end, const std::string& device, Duration timeout) {
  if (end.hung) return failed(device + " did not answer for " + to_string(timeout), hung_advice);
  return failed(device + "'s process was ended by a signal (" +
                    (end.signal != 0 ? std::string(::strsignal(end.signal)) : "none") + ")",
                hung_advice);
}

std::vector<std::byte> pattern(Bytes size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> contents(size.count);
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= contents.size(); at += sizeof(std::uint32_t)) {
    const auto word = static_cast<std::uint32_t>(random());
    std::memcpy(&contents[at], &word, sizeof word);
  }
  return contents;
}

Status copy_in(hal::Device& device, std::byte* to, const std::vector<std::byte>& from) {
  const auto copy = [&]() noexcept { return device.copy(to, from.data(), Bytes{from.size()}); };
  return device.engine(hal::EngineKind::copy_in).call(copy).outcome;
}

Status copy_out(hal::Device& device, std::vector<std::byte>& to, const std::byte* from) {
  const auto copy = [&]() noexcept { return device.copy(to.data(), from, Bytes{to.size()}); };
  return device.engine(hal::EngineKind::copy_out).call(copy).outcome;
}

} // namespace rtexec::bringup
