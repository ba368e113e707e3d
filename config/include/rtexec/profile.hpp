// Measured WCETs: what `rtexec profile` writes, and what tasks without a given wcet are promised with.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rtexec {

struct ProfileEntry {
  std::string task; // its name
  /// What was measured: a fingerprint of model, input, device kind and tuning; a mismatch makes the entry stale
  std::string workload;
  Wcet wcet;     // at least observed maximum times margin
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

/// bad_input, with every error of the file.
[[nodiscard]] RTEXEC_API Result<Profile> read_profile(const std::filesystem::path& file);
/// Written to a temporary file beside it and renamed: a failure, refused, leaves the old profile whole.
[[nodiscard]] RTEXEC_API Result<> write_profile(const Profile& profile, const std::filesystem::path& file);

} // namespace rtexec
