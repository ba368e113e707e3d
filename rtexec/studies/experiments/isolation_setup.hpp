// Converts the command line's options of the isolation experiment into its set-up: the platforms of the model or of
// this machine, and the study to run on them.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/experiments/isolation.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::study {

/// The options of `rtexec experiment isolation`. If an option is empty, the platform's default applies.
struct IsolationOptions {
  bool simulate = false;
  std::vector<std::string> modes, workloads;
  // The limits of section 7.2 of Nigam's thesis
  std::vector<std::string> limits{"10MB/s", "100MB/s", "512MB/s", "1000MB/s", "10000MB/s"};
  std::string runs_limit = "100MB/s"; // section 7.3 of Nigam's thesis
  std::optional<unsigned> corunners;
  std::optional<std::size_t> runs;
  std::uint64_t seed = 1;
  std::string board = "host";
  std::string event;
  std::vector<std::string> models;
  double seconds = 2;
};

/// The platforms, one for each mode in which the bandwidth of cores is limited (such as "rtexec" or "thesis"), and the
/// study to run on each platform.
struct IsolationSetup {
  bool simulated = false;             // true if the platforms are models
  std::uint64_t seed = 1;             // the seed of the model's noise
  std::vector<std::string> preface{}; // lines at the beginning of every text output
  std::string event{};                // the event that counts traffic; empty for a model
  bool stand_in = false;              // true if the event is a substitute and not memory traffic
  std::shared_ptr<void> machine{};    // data that the platforms use; it outlives them
  std::vector<std::unique_ptr<IsolationPlatform>> platforms{};
  IsolationStudy study{}; // the study to run on each platform
};

/// Makes the set-up. `going_on` must return false when the user wants to stop; any thread may call it. Returns
/// bad_input or refused, with the name of the invalid option.
[[nodiscard]] Result<IsolationSetup> isolation_setup(const IsolationOptions& options, std::function<bool()> going_on);

} // namespace rtexec::study
