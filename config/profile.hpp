// Measured WCETs: what `rtexec profile` writes, and what tasks without a given wcet are promised with.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

struct ProfileEntry {
  std::string task; // its name
  /// What was measured: a fingerprint of model, input, device kind and tuning; a mismatch makes the entry stale
  std::string workload;
  Wcet wcet;     // observed maximum times margin
  Wcet observed; // observed maximum
  std::uint64_t samples = 0;
  double margin = 1;
  std::vector<std::string> tuning; // of the workload on the profile's device, as Workload::tune() told it
};

struct Profile {
  std::filesystem::path file;
  std::string machine;
  std::string device; // as the device names itself: "host", "NVIDIA H200"
  std::vector<ProfileEntry> entries;
};

/// The WCET that an observed maximum stands for: `margin` times as long, rounded up.
[[nodiscard]] Duration with_margin(Duration observed, double margin);

[[nodiscard]] Result<Profile> read_profile(const std::filesystem::path& file);
[[nodiscard]] Result<Profile> parse_profile(std::string_view toml, const std::filesystem::path& file);
/// Written to a temporary file beside it and renamed: a failure leaves the old profile whole.
[[nodiscard]] Result<> write_profile(const Profile& profile, const std::filesystem::path& file);

/// Fills in the wcet of every task that has none from its entry; an error names each task whose entry is absent or
/// stale. `fingerprints` are parallel to `tasks.tasks`.
[[nodiscard]] Result<> apply_profile(TaskSet& tasks, const Profile& profile,
                                     const std::vector<std::string>& fingerprints);

} // namespace rtexec
