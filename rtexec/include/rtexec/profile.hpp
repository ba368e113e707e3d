// Measured WCETs. `rtexec profile` writes them, and admission uses them for tasks without a `wcet` in the task set.
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

/// The method by which the WCET of a part was derived from its executions. `growth`: the longest execution,
/// extrapolated by its growth with the number of jobs. `tail_model`: the larger upper limit of two statistical models
/// of the longest executions. `layers`: the sum of the longest executions of the part's layers, if this sum exceeds the
/// value of `growth`.
enum class WcetMethod { growth, tail_model, layers };

/// The evidence for the WCET of a part.
struct PartBasis {
  WcetMethod method = WcetMethod::growth;
  /// With 95 % confidence, a job exceeds the WCET with at most this probability. 0: there is no claim
  double exceedance = 0;
  /// The number of consecutive jobs in a block, a power of two. `longest` contains the longest execution of each block.
  /// Later executions can be added.
  std::uint64_t block = 1;
  std::vector<Duration> longest;
};

/// The measured layers of a device part. A piece is one layer, or several consecutive layers that were measured
/// together. The longest executions of the pieces may be from different jobs.
struct MeasuredLayers {
  struct Piece {
    /// The number of the piece's last layer. The piece begins after the last layer of the previous piece.
    std::uint32_t last_layer = 0;
    Duration longest{0};
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  /// The number of pieces. 0: layers were not measured.
  std::uint64_t pieces = 0;
  /// The sum of the longest execution of each piece, plus the maximum time that a job spent outside the pieces.
  Duration sum{0};
  /// All pieces, in order. Empty: the version of rtexec that wrote the profile had no such list.
  std::vector<Piece> each{};
};

/// The memory traffic of one job of a micro-benchmark. The model of memory policies (policies/memory/memory_model.hpp)
/// computes execution times from this traffic.
struct ProfiledTraffic {
  Bytes in{0}, out{0}; // bytes copied to and from the device under the policy D (device memory)
  std::uint64_t copies = 0;
  std::uint64_t launches = 0;
  std::uint64_t dirty_launches = 0; // launches that access data which the CPU wrote before the launch
  Bytes mapped{0};                  // bytes accessed by dirty launches
  // bytes of the exchanged memory (`exchanged`) that all launches access, and that they write
  Bytes touched{0}, written{0};
  std::uint64_t cache_accesses = 0; // accesses to the device's cache
  double hit_rate = 0;              // the share of the cache accesses that hit
  bool hidden = false;              // true if parallelism hides the latency of memory
  Bytes exchanged{0};               // the memory that CPU and device exchange
  Bytes device_only{0};
  std::vector<std::string> estimated; // keys of the members whose values were estimated, not counted
  friend bool operator==(const ProfiledTraffic&, const ProfiledTraffic&) = default;
};

struct ProfileEntry {
  std::string task; // the name of the task
  /// The memory policy under which the task was measured
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// The fingerprint of the measured workload: of its model, input, device kind and tuning. If the present workload's
  /// fingerprint differs from this fingerprint, the entry is stale
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
  /// The measured values of Task::co_run_wcet and Task::mapping_idle. Absent if no job co-ran with a job of another
  /// task during the measurement.
  std::optional<Duration> co_run_wcet{}, mapping_idle{};
  std::vector<std::string>
      tuning; // the choices of the workload on the profile's device, as Workload::tune() returned them
  /// The requirements that the machine refused during the measurement (Report::degraded). On a machine that fulfils
  /// these requirements, jobs may take longer than in this measurement
  std::vector<std::string> degraded{};
  std::optional<ProfiledTraffic> traffic{}; // present for a micro-benchmark
};

struct Profile {
  std::filesystem::path file;
  std::string machine;
  std::string device;                // the device's name: "host", "NVIDIA H200"
  std::vector<ProfileEntry> entries; // for each task, one entry for each measured memory policy
  /// Inputs that had no new value for any job during the measurement, in words: "task 'front': image from
  /// v4l2:/dev/video0". The execution times of jobs with new values are then unknown. This list is not stored in the
  /// file.
  std::vector<std::string> unfed{};
  /// Memory policies that tasks may use but that could not be measured, with the reason: "M: ...". This list is not
  /// stored in the file.
  std::vector<std::string> unmeasured{};
};

/// Reads a profile. Returns bad_input with all errors of the file.
[[nodiscard]] RTEXEC_API Result<Profile> read_profile(const std::filesystem::path& file);
/// Writes a profile to a temporary file in the folder of `file`, and renames the temporary file to `file`. Returns
/// refused if writing fails; the old profile then stays intact.
[[nodiscard]] RTEXEC_API Result<> write_profile(const Profile& profile, const std::filesystem::path& file);

} // namespace rtexec
