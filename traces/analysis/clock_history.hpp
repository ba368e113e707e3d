// The clocks of cores and the device, as a recording reports them from time to time.
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
  /// Takes a core_clock or a device_clock record.
  void see(const Record& record);

  /// A class of clocks that count as the same: within 50 MHz.
  using Class = std::uint32_t;
  [[nodiscard]] static std::string name(Class clock); // "2.40 GHz"; for a device: "1.40 GHz, memory 2.60 GHz"
  /// Return the class of the last observed clock; nullopt if none was observed.
  [[nodiscard]] std::optional<Class> of_core(unsigned core) const;
  [[nodiscard]] std::optional<Class> of_device() const;

  /// Returns the clocks of the cores, the device and its memory. Adds an entry for the board if it reported a limit
  /// that makes execution times unusable as WCETs.
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
