// Measured WCETs: `rtexec profile` writes them, and admission uses them for tasks whose `wcet` the task set does not
// give.
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

/// How the WCET of a part was derived from its executions. `growth`: the longest execution, extended as far as its
/// growth with the number of jobs justifies. `tail_model`: the higher upper limit of two statistical models of the
/// longest executions. `layers`: the sum of the longest executions of the part's layers, if it exceeds the value of
/// `growth`.
enum class WcetMethod { growth, tail_model, layers };

/// The evidence for the WCET of a part.
struct PartBasis {
  WcetMethod method = WcetMethod::growth;
  /// A job exceeds the WCET with at most this probability, with 95 % confidence. 0: no probability is claimed
  double exceedance = 0;
  /// `longest` holds the longest execution of each block of `block` consecutive jobs. `block` is a power of two. Later
  /// executions can be added.
  std::uint64_t block = 1;
  std::vector<Duration> longest;
};

/// The measured layers of a device part. One or more consecutive layers are measured together, as one piece. The
/// longest executions of the pieces may come from different jobs.
struct MeasuredLayers {
  struct Piece {
    std::uint32_t last_layer = 0; // the number of its last layer; it begins after the last layer of the previous piece
    Duration longest{0};
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  /// The number of pieces. 0: layers were not measured.
  std::uint64_t pieces = 0;
  /// The sum of the longest execution of each piece, plus the longest time that jobs spent outside the pieces.
  Duration sum{0};
  /// All pieces, in order. Empty: the profile was written by a version without this list.
  std::vector<Piece> each{};
};

/// The memory traffic of one job of a micro-benchmark. The model of memory policies (policies/memory/memory_model.hpp)
/// computes execution times from it.
struct ProfiledTraffic {
  Bytes in{0}, out{0}; // copied under the policy D (device memory)
  std::uint64_t copies = 0;
  std::uint64_t launches = 0;
  std::uint64_t dirty_launches = 0; // launches before which the CPU wrote data that they access
  Bytes mapped{0};                  // bytes accessed by dirty launches
  Bytes touched{0}, written{0};     // bytes of the exchanged data that all launches touch and write
  std::uint64_t cache_accesses = 0; // accesses to the device's cache
  double hit_rate = 0;              // the share of the cache accesses that hit
  bool hidden = false;              // true if parallelism hides the latency of memory
  Bytes exchanged{0};
  Bytes device_only{0};
  std::vector<std::string> estimated; // the keys in the file of those members whose values were estimated, not counted
  friend bool operator==(const ProfiledTraffic&, const ProfiledTraffic&) = default;
};

struct ProfileEntry {
  std::string task; // the name of the task
  /// The memory policy under which the task was measured
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// The fingerprint of the model, input, device kind and tuning that were measured; if it differs from that of the
  /// workload, the entry is stale
  std::string workload;
  Wcet wcet;     // at least `observed` times `margin`
  Wcet observed; // the longest observed execution of each part
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
  /// Task::wcet_beside and Task::mapping_idle, measured. Present if jobs co-ran with those of other tasks during the
  /// measurement.
  std::optional<Duration> wcet_beside{}, mapping_idle{};
  std::vector<std::string> tuning; // the workload's choices on the profile's device, as Workload::tune() returned them
  /// The requirements that the machine refused during the measurement (Report::degraded). On a machine that fulfils
  /// them, jobs may take longer
  std::vector<std::string> degraded{};
  std::optional<ProfiledTraffic> traffic{}; // present for a micro-benchmark
};

struct Profile {
  std::filesystem::path file;
  std::string machine;
  std::string device;                // the device's own name: "host", "NVIDIA H200"
  std::vector<ProfileEntry> entries; // for each task, one entry for each measured memory policy
  /// Inputs that had no new value for any job during the measurement, in words: "task 'front': image from
  /// v4l2:/dev/video0". The times of jobs with new values are then unmeasured. This list is not stored in the file.
  std::vector<std::string> unfed{};
  /// Memory policies that tasks may have but that could not be measured, with the reason: "M: ...". This list is not
  /// stored in the file.
  std::vector<std::string> unmeasured{};
};

/// Reads a profile. Returns bad_input, with every error of the file.
[[nodiscard]] RTEXEC_API Result<Profile> read_profile(const std::filesystem::path& file);
/// Writes a profile to a temporary file beside `file`, and renames it. Returns refused if that fails; the old profile
/// then stays intact.
[[nodiscard]] RTEXEC_API Result<> write_profile(const Profile& profile, const std::filesystem::path& file);

} // namespace rtexec
