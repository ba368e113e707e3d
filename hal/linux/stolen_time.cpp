#include "hal/stolen_time.hpp"

#include "hal/system.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace rtexec::hal {
namespace {

constexpr std::size_t longest_line = 256; // "cpu123" and ten counters of 64 bits
constexpr int steal_column = 8;           // after user, nice, system, idle, iowait, irq and softirq

/// Removes the first number from `line` and returns it.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return number;
}

} // namespace

std::optional<Duration> steal_of(std::string_view counters) noexcept {
  std::optional<std::uint64_t> ticks;
  for (int column = 1; column <= steal_column; ++column)
    if (ticks = take_number(counters); !ticks) return std::nullopt;
  return Duration(std::chrono::seconds(1)) / ::sysconf(_SC_CLK_TCK) * static_cast<Duration::rep>(*ticks);
}

StolenTime::StolenTime(const std::set<unsigned>& cores, const std::filesystem::path& root)
    : file_(sys().open((root / "proc/stat").c_str(), O_RDONLY | O_CLOEXEC)) {
  for (const unsigned core : cores) cores_.push_back({.core = core});
  if (!cores_.empty()) text_.resize((cores_.back().core + std::size_t{2}) * longest_line);
}

std::span<const StolenTime::OfCore> StolenTime::read() noexcept {
  const ssize_t size = file_.number() < 0 ? -1 : sys().pread(file_.number(), text_.data(), text_.size(), 0);
  std::string_view text(text_.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  // The first line, "cpu " without a core number, has the sums of all cores and is skipped
  for (auto end = text.find('\n'); text.starts_with("cpu") && end != text.npos; end = text.find('\n')) {
    std::string_view line = text.substr(3, end - 3);
    text.remove_prefix(end + 1);
    if (line.starts_with(' ')) continue;
    const auto core = take_number(line);
    const auto place = std::ranges::find_if(cores_, [&](const OfCore& each) { return each.core == core; });
    if (place == cores_.end()) continue;
    if (const auto stolen = steal_of(line)) place->time = *stolen;
  }
  return cores_;
}

} // namespace rtexec::hal
