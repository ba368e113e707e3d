// The clocks of cores and the device, which a recording reports at intervals.
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
  /// Processes a core_clock or a device_clock record.
  void see(const Record& record);

  /// A class of clock frequencies that are treated as equal: all frequencies within 50 MHz of one multiple of 100 MHz.
  using Class = std::uint32_t;
  [[nodiscard]] static std::string name(Class clock); // "2.40 GHz"; for a device: "1.40 GHz, memory 2.60 GHz"
  /// Returns the class of the last observed clock frequency of `core`, or nullopt if no frequency of this core was
  /// observed.
  [[nodiscard]] std::optional<Class> of_core(unsigned core) const;
  [[nodiscard]] std::optional<Class> of_device() const;

  /// Returns the clocks of the cores, the device and its memory. Adds an entry for the board if the board reported a
  /// limit that makes execution times unusable as WCETs.
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
  std::uint32_t board_limits_ = 0; // limits that the board reports for all clocks
};

} // namespace rtexec::traces
