// Models of the boards on which Bateni et al. (RTAS 2020) ran their experiments, to show the shape of their results.
// A model has the costs of policies/memory/memory_model, execution times and noise. Two tasks overlap as in the
// paper's section IV-B.
#pragma once

#include "rtexec/studies/experiments/memory_experiment.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace rtexec::study {

/// The constants of a board, each with its source in memory_model_platform.cpp.
struct MemoryBoardModel {
  std::string_view name, title; // "tx2", "a Jetson TX2"
  policies::MemoryCosts costs;
  Duration launch{0};   // of each kernel
  double per_byte = 0;  // nanoseconds per byte that a kernel touches
  double operation = 0; // nanoseconds per operation of a kernel
  // Maximum relative lengthening of a job's time: under D or H; under M; under M if another task of the set is under
  // M
  double noise = 0, managed_noise = 0, beside_managed_noise = 0;
};

[[nodiscard]] std::span<const MemoryBoardModel> memory_board_models();
/// Returns a simulated platform with the costs and noise of `model`, which must outlive it. The same seed gives the
/// same times.
[[nodiscard]] std::unique_ptr<MemoryPlatform> modelled_memory(const MemoryBoardModel& model, std::uint64_t seed);
/// Returns workloads with sizes as large as in the paper.
[[nodiscard]] std::vector<MemoryWorkload> modelled_workloads();

} // namespace rtexec::study
