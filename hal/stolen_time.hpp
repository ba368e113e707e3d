// What a hypervisor took of cores of this machine while they had something to execute, as the kernel accounts for it
// ("steal" of /proc/stat). On a machine that is none, or whose hypervisor does not tell, it stays 0.
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

/// Of the counters of a line of /proc/stat, which stand behind its name; absent: the kernel is too old to tell it.
[[nodiscard]] std::optional<Duration> steal_of(std::string_view counters) noexcept;

class StolenTime {
 public:
  struct OfCore {
    unsigned core = 0;
    Duration time{0}; // since the machine started, as read last
  };
  /// `root` is "/" or a recorded tree.
  explicit StolenTime(const std::set<unsigned>& cores = {}, const std::filesystem::path& root = "/");
  /// Of each core, in ascending order; in steps of 1/USER_HZ s (10 ms), so that short thefts show late. Of a core that
  /// is offline: as it was. From one thread at a time, without real-time priority. Allocates nothing.
  [[nodiscard]] std::span<const OfCore> read() noexcept;

 private:
  std::vector<OfCore> cores_;
  std::vector<char> text_; // room for the lines of all cores up to the last one
  FileDescriptor file_;
};

} // namespace rtexec::hal
