// Measured WCETs: what `rtexec profile` writes, and what tasks without a given wcet are promised with.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rtexec {

/// How the WCET of a part was made of its executions: the longest, with as much more as its growth with the number of
/// jobs justifies; the upper limit of two models of the tail; or, where it is more than the first, the sum of the
/// longest executions of its layers.
enum class WcetMethod { growth, tail_model, layers };

/// What the WCET of a part rests on.
struct PartBasis {
  WcetMethod method = WcetMethod::growth;
  /// A job exceeds the WCET with this probability at most, with 95 % confidence. 0: nothing is claimed
  double exceedance = 0;
  /// The longest executions of each `block` jobs that followed each other; `block` is a power of two. More executions
  /// can be added to them.
  std::uint64_t block = 1;
  std::vector<Duration> longest;
};

/// The layers of a device part, measured piece by piece, each of one or of some that follow each other: the longest of
/// all need never have been seen in one job.
struct MeasuredLayers {
  struct Piece {
    std::uint32_t last_layer = 0; // by its number; the piece begins behind the one before
    Duration longest{0};
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  /// How many. 0: none was measured.
  std::uint64_t pieces = 0;
  /// Of the longest execution of each, and of what jobs executed outside of them.
  Duration sum{0};
  /// All of them, in their order. Empty: the profile is older than that.
  std::vector<Piece> each{};
};

/// What one job of a micro-benchmark does to memory: what the model of memory policies is about.
struct ProfiledTraffic {
  Bytes in{0}, out{0}; // copied under D
  std::uint64_t copies = 0;
  std::uint64_t launches = 0;
  std::uint64_t dirty_launches = 0; // before which the CPU wrote what they touch
  Bytes mapped{0};                  // for those
  Bytes touched{0}, written{0};     // by all launches, of what is exchanged
  std::uint64_t cache_accesses = 0; // of the device's cache
  double hit_rate = 0;              // of them
  bool hidden = false;              // parallelism hides the latency of memory
  Bytes exchanged{0};
  Bytes device_only{0};
  std::vector<std::string> estimated; // keys whose values nobody counted
  friend bool operator==(const ProfiledTraffic&, const ProfiledTraffic&) = default;
};

struct ProfileEntry {
  std::string task; // its name
  /// Under which it was measured
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// What was measured: a fingerprint of model, input, device kind and tuning; a mismatch makes the entry stale
  std::string workload;
  Wcet wcet;     // at least observed maximum times margin
  Wcet observed; // observed maximum
  std::uint64_t samples = 0;
  double margin = 1;
  PartBasis before{}, device{}, after{};
  [[nodiscard]] PartBasis& basis(Part part) noexcept {
    return part == Part::before ? before : part == Part::device ? device : after;
  }
  [[nodiscard]] const PartBasis& basis(Part part) const noexcept {
    return part == Part::before ? before : part == Part::device ? device : after;
  }
  MeasuredLayers layers{};
  /// As in Task, where jobs executed beside others while it was measured.
  std::optional<Duration> wcet_beside{}, mapping_idle{};
  std::vector<std::string> tuning; // of the workload on the profile's device, as Workload::tune() told it
  /// What the machine refused while it was measured, as in Report::degraded: a run that is given it may take longer
  std::vector<std::string> degraded{};
  std::optional<ProfiledTraffic> traffic{}; // of a micro-benchmark
};

struct Profile {
  std::filesystem::path file;
  std::string machine;
  std::string device;                // as the device names itself: "host", "NVIDIA H200"
  std::vector<ProfileEntry> entries; // of each task one for each memory policy
  /// Inputs that had nothing new for any job while it was measured: "task 'front': image from v4l2:/dev/video0". What
  /// jobs do with new values was not measured then. Not in the file.
  std::vector<std::string> unfed{};
  /// Memory policies that tasks could have and that could not be measured, with the reason: "M: ...". Not in the file.
  std::vector<std::string> unmeasured{};
};

/// bad_input, with every error of the file.
[[nodiscard]] RTEXEC_API Result<Profile> read_profile(const std::filesystem::path& file);
/// Written to a temporary file beside it and renamed: a failure, refused, leaves the old profile whole.
[[nodiscard]] RTEXEC_API Result<> write_profile(const Profile& profile, const std::filesystem::path& file);

} // namespace rtexec
