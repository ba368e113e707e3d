// What the isolation experiment is asked for, as the command line has it, and what is measured for that: the plants of
// the model or of this machine, and the study of them.
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

/// The options of `rtexec experiment isolation`. Empty: as the plant has it.
struct IsolationOptions {
  bool simulate = false;
  std::vector<std::string> modes, workloads;
  // 7.2; a core of the model cannot reach more
  std::vector<std::string> limits{"10MB/s", "100MB/s", "512MB/s", "1000MB/s", "10000MB/s"};
  std::string runs_limit = "100MB/s"; // 7.3
  std::optional<unsigned> corunners;
  std::optional<std::size_t> runs;
  std::uint64_t seed = 1;
  std::string board = "host";
  std::string event;
  std::vector<std::string> models;
  double seconds = 2;
};

/// What is measured, in one mode or several.
struct IsolationSetup {
  bool simulated = false;             // a model
  std::uint64_t seed = 1;             // of its noise
  std::vector<std::string> preface{}; // lines that every text output begins with
  std::string event{};                // that counts traffic; empty: a model
  bool stand_in = false;              // it is no memory traffic
  std::shared_ptr<void> machine{};    // what the plants stand on; outlives them
  std::vector<std::unique_ptr<IsolationPlant>> plants{};
  IsolationStudy study{}; // of each plant
};

/// `going_on`: false once the user wants no more; any thread. Errors (bad_input, refused) name the option.
[[nodiscard]] Result<IsolationSetup> isolation_setup(const IsolationOptions& options, std::function<bool()> going_on);

} // namespace rtexec::study
