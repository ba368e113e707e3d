// At what clock cores and the device ran, as a recording tells it from time to time.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/reading/record.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::traces {

class Clocks {
 public:
  /// Of a core_clock or a device_clock.
  void see(const Record& record);

  /// Clocks that count as the same have one class: within 50 MHz.
  using Class = std::uint32_t;
  [[nodiscard]] static std::string name(Class clock); // "2.40 GHz"; of a device: "1.40 GHz, memory 2.60 GHz"
  /// As seen last; absent: none was.
  [[nodiscard]] std::optional<Class> of_core(unsigned core) const;
  [[nodiscard]] std::optional<Class> of_device() const;

  /// Cores, the device, its memory; the board, without a clock, where it told that execution times are no WCETs.
  [[nodiscard]] std::vector<ClockAnalysis> analysis() const;

 private:
  struct Clock {
    Frequency now, lowest, highest;
    std::uint32_t limits = 0;
    void see(Frequency frequency);
  };
  static void add(std::vector<ClockAnalysis>& all, const std::string& of, const Clock& clock);

  std::map<unsigned, Clock> cores_;
  Clock device_, memory_;
  std::uint32_t board_limits_ = 0; // what the board tells of all of it
};

} // namespace rtexec::traces
