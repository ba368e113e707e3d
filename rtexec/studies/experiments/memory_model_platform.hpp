// Models of the boards on which Bateni et al. (RTAS 2020) ran their experiments, to show the shape of their results. A
// model consists of the costs of policies/memory/memory_model.hpp, execution times and noise. Two tasks overlap as in
// section IV-B of Bateni et al.
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
  Duration launch{0};   // the time to launch a kernel
  double per_byte = 0;  // nanoseconds per byte that a kernel touches
  double operation = 0; // nanoseconds per operation of a kernel
  // The maximum relative lengthening of a job's time. `noise`: under memory policy D (device memory) or H (host
  // memory). `managed_noise`: under M (managed memory). `beside_managed_noise`: under M if another task of the set is
  // under M, too
  double noise = 0, managed_noise = 0, beside_managed_noise = 0;
};

[[nodiscard]] std::span<const MemoryBoardModel> memory_board_models();
/// Returns a simulated platform with the costs and noise of `model`, which must outlive the platform. Equal seeds give
/// equal times.
[[nodiscard]] std::unique_ptr<MemoryPlatform> modelled_memory(const MemoryBoardModel& model, std::uint64_t seed);
/// Returns workloads with sizes up to the sizes in the paper of Bateni et al.
[[nodiscard]] std::vector<MemoryWorkload> modelled_workloads();

} // namespace rtexec::study
