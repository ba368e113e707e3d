// What the memory experiment is asked for, as the command line has it, and what is measured for that.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/experiments/memory_experiment.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::study {

/// The options of `rtexec experiment memory`. Empty: as the plant has it.
struct MemoryExperimentOptions {
  std::string simulate; // a board of memory_board_models()
  std::string board = "host";
  std::vector<std::string> workloads;
  std::string largest = "256MiB"; // of arrays
  int repeats = 5;
  std::uint64_t seed = 1;
};

struct MemoryExperimentSetup {
  bool simulated = false;
  std::string title;                // in every picture: "a model of a Jetson TX2", "NVIDIA H200"
  std::vector<std::string> preface; // lines that every text output begins with
  std::unique_ptr<MemoryPlant> plant;
  MemoryStudy study;
};

/// Errors (bad_input, refused) name the option.
[[nodiscard]] Result<MemoryExperimentSetup> memory_experiment_setup(const MemoryExperimentOptions& options);

} // namespace rtexec::study
