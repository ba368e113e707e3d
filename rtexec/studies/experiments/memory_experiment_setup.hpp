// Converts the command line's options of the memory experiment into its set-up.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/experiments/memory_experiment.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::study {

/// The options of `rtexec experiment memory`. If an option is empty, the platform's default applies.
struct MemoryExperimentOptions {
  std::string simulate; // the name of a board of memory_board_models(); empty: this machine
  std::string board = "host";
  std::vector<std::string> workloads;
  std::string largest = "256MiB"; // the maximum size of an array
  int repeats = 5;
  std::uint64_t seed = 1;
};

struct MemoryExperimentSetup {
  bool simulated = false;
  std::string title;                // title of every picture: "a model of a Jetson TX2", "NVIDIA H200"
  std::vector<std::string> preface; // lines at the beginning of every text output
  std::unique_ptr<MemoryPlatform> platform;
  MemoryStudy study;
};

/// Makes the set-up from the options. Returns bad_input or refused, with the name of the invalid option.
[[nodiscard]] Result<MemoryExperimentSetup> memory_experiment_setup(const MemoryExperimentOptions& options);

} // namespace rtexec::study
