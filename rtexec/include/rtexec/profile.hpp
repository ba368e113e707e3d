// Measured WCETs: `rtexec profile` writes them, and admission uses them for tasks without a given wcet.
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

/// How the WCET of a part was derived from its executions. `growth`: the longest one, extended as far as its growth
/// with the number of jobs justifies. `tail_model`: the upper limit of two models of the tail. `layers`: the sum of the
/// longest executions of its layers, if that is more than `growth`.
enum class WcetMethod { growth, tail_model, layers };

/// The evidence for the WCET of a part.
struct PartBasis {
  WcetMethod method = WcetMethod::growth;
  /// A job exceeds the WCET with at most this probability, with 95 % confidence. 0: nothing is claimed
  double exceedance = 0;
  /// The longest execution in each block of `block` consecutive jobs; `block` is a power of two. Later executions can
  /// be added.
  std::uint64_t block = 1;
  std::vector<Duration> longest;
};

/// The layers of a device part, measured in pieces of one or more consecutive layers. The longest executions of all
/// pieces need never have occurred in one job.
struct MeasuredLayers {
  struct Piece {
    std::uint32_t last_layer = 0; // layer number; the piece begins after the previous one
    Duration longest{0};
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  /// The number of pieces. 0: no layer was measured.
  std::uint64_t pieces = 0;
  /// The sum of the longest execution of each piece, plus the longest time that jobs spent outside the pieces.
  Duration sum{0};
  /// All pieces, in order. Empty: the profile was written by a version without this list.
  std::vector<Piece> each{};
};

/// The memory traffic of one job of a micro-benchmark: input of the model of memory policies.
struct ProfiledTraffic {
  Bytes in{0}, out{0}; // copied under D
  std::uint64_t copies = 0;
  std::uint64_t launches = 0;
  std::uint64_t dirty_launches = 0; // launches before which the CPU wrote data that they access
  Bytes mapped{0};                  // bytes accessed by dirty launches
  Bytes touched{0}, written{0};     // by all launches, of the exchanged data
  std::uint64_t cache_accesses = 0; // accesses to the device's cache
  double hit_rate = 0;              // of the cache accesses
  bool hidden = false;              // parallelism hides the latency of memory
  Bytes exchanged{0};
  Bytes device_only{0};
  std::vector<std::string> estimated; // keys whose values were estimated, not counted
  friend bool operator==(const ProfiledTraffic&, const ProfiledTraffic&) = default;
};

struct ProfileEntry {
  std::string task; // its name
  /// The memory policy under which it was measured
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// The fingerprint of model, input, device kind and tuning that were measured; a mismatch makes the entry stale
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
  /// As in Task; present if jobs co-ran with others during the measurement.
  std::optional<Duration> wcet_beside{}, mapping_idle{};
  std::vector<std::string> tuning; // the workload's choices on the profile's device, as Workload::tune() returned them
  /// The requests that the machine refused during the measurement, as in Report::degraded. On a machine that grants
  /// them, jobs may take longer
  std::vector<std::string> degraded{};
  std::optional<ProfiledTraffic> traffic{}; // of a micro-benchmark
};

struct Profile {
  std::filesystem::path file;
  std::string machine;
  std::string device;                // the device's own name: "host", "NVIDIA H200"
  std::vector<ProfileEntry> entries; // for each task, one for each memory policy
  /// Inputs that had no new value for any job during the measurement: "task 'front': image from v4l2:/dev/video0". The
  /// time of jobs with new values is then unmeasured. Not stored in the file.
  std::vector<std::string> unfed{};
  /// Memory policies that tasks may have but that could not be measured, with the reason: "M: ...". Not stored in the
  /// file.
  std::vector<std::string> unmeasured{};
};

/// Reads a profile. Returns bad_input, with every error of the file.
[[nodiscard]] RTEXEC_API Result<Profile> read_profile(const std::filesystem::path& file);
/// Writes a profile to a temporary file beside `file`, and renames it. A failure returns refused and leaves the old
/// profile intact.
[[nodiscard]] RTEXEC_API Result<> write_profile(const Profile& profile, const std::filesystem::path& file);

} // namespace rtexec
