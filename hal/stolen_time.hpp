// Stolen time: time during which a core of this machine had work but a hypervisor ran something else. The kernel counts
// it in the field "steal" of /proc/stat. It stays 0 on real hardware, or if the hypervisor does not report it.
#pragma once

#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace rtexec::hal {

/// Returns the stolen time in a line of /proc/stat. `counters` is the line without its first word ("cpu3"). Returns
/// nullopt if the kernel is too old to report it.
[[nodiscard]] std::optional<Duration> steal_of(std::string_view counters) noexcept;

class StolenTime {
 public:
  struct OfCore {
    unsigned core = 0;
    Duration time{0}; // stolen time since the machine started, at the last reading
  };
  /// `root` is "/", or a folder with a copy of a machine's /sys and /proc.
  explicit StolenTime(const std::set<unsigned>& cores = {}, const std::filesystem::path& root = "/");
  /// Reads the stolen time of each core, in ascending order of cores. The kernel counts in steps of 1/USER_HZ s (10
  /// ms), so shorter stolen times appear late. The value of an offline core does not change. Called from one thread at
  /// a time, without real-time priority. Allocates nothing.
  [[nodiscard]] std::span<const OfCore> read() noexcept;

 private:
  std::vector<OfCore> cores_;
  std::vector<char> text_; // buffer for the lines of all cores up to the last watched one
  FileDescriptor file_;
};

} // namespace rtexec::hal
