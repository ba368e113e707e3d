// The settings of the daemon that schedules other programs on a shared device (rtexecd FILE.toml). The settings name
// the device, the part of the device that each program may use, and declarations for programs that make no declaration.
// Plain values.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::config {

/// The rule for physical chunks (memory of the device) that several clients need, one client after the other.
enum class ChunkSharing {
  automatic, // shared if the driver can export physical chunks
  shared,    // allocated once and passed between clients: a client can read the data that another client left
  separate,  // each client allocates its chunks before it loads data, and frees them after it has saved the data
};

struct DaemonOptions {
  std::filesystem::path directory = "/run/rtexec/daemon";
  std::string group; // members of this group may connect; empty: only the user who runs the daemon
  unsigned places = 32;
  std::string metrics; // "ADDRESS:PORT"; empty: no metrics
  Order order = Order::edf;
  /// The priorities of clients with a deadline, under static priority.
  PriorityAssignment priorities = PriorityAssignment::deadline_monotonic;
  ChunkSharing chunks = ChunkSharing::automatic;
  /// The maximum length of a job of a client without a deadline. All other clients may have to wait for such a job.
  Duration best_effort_wcet{std::chrono::milliseconds(50)};
  /// The time within which a client must execute a command of the daemon. The daemon ends a client that takes longer.
  Duration command_timeout{std::chrono::milliseconds(500)};
  /// The daemon ends a client that holds the device for this time beyond its WCET while other clients wait.
  Duration stuck_after{std::chrono::seconds(1)};
  bool keep_awake = false; // true: keep all cores that the daemon may use out of idle states
};

/// The declaration of a client: limits that the client promises to keep. In return the daemon promises its deadline.
struct ClientDeclaration {
  /// The minimum time between the releases of two jobs.
  Duration period{0};
  /// The longest time from the release of a job to its end; at most the period.
  Duration deadline{0};
  /// The maximum time that a job uses the device, if it runs alone and its memory is on the device.
  Duration wcet{0};
  /// The maximum pause within a job. New work that arrives within this time after the end of the job's work belongs to
  /// the same job, until the job's WCET is used up.
  Duration gap{0};
  /// 1 to 99; a larger number is more urgent. Only used if priorities are explicit.
  std::optional<int> priority;
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  friend bool operator==(const ClientDeclaration&, const ClientDeclaration&) = default;
};

inline constexpr std::size_t longest_client_name = 63;

/// A rule for clients with this name and this executable. The first rule that applies to a client is used.
struct ClientRule {
  /// The name that the client sets in RTEXEC_CLIENT: printable ASCII. Empty: any name.
  std::string name;
  /// The client's executable, from /proc/PID/exe. Empty: any executable.
  std::filesystem::path executable;
  /// The maximum device memory of the client. Absent: all memory of the device.
  std::optional<Bytes> memory;
  /// The declaration that the daemon makes for the client. If it is set, the client must not make a declaration itself.
  std::optional<ClientDeclaration> declaration;
};

struct DaemonSettings {
  std::filesystem::path file;
  std::string board = "host";
  DaemonOptions daemon;
  DeviceOptions device; // only capacity, chunk and swap_cost
  SwapPolicy swap = SwapPolicy::pipelined;
  std::vector<ClientRule> clients;
  std::vector<std::string>
      warnings; // warnings of the reader, one line each: settings that the next release will refuse
};

/// Returns the settings, or bad_input with all mistakes and their lines.
[[nodiscard]] Result<DaemonSettings> parse_daemon_settings(std::string_view toml, const std::filesystem::path& file);
[[nodiscard]] Result<DaemonSettings> read_daemon_settings(const std::filesystem::path& file);

} // namespace rtexec::config
