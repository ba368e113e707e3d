// The settings of the daemon that schedules other programs on a shared device (rtexecd FILE.toml). They name the
// device, the part of it that each program may use, and the declarations that the daemon makes for programs that make
// none. Plain values.
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

/// How physical chunks (memory of the device) pass from one client to the next.
enum class ChunkSharing {
  automatic, // shared if the driver can export them
  shared,    // allocated once and passed on: each client can read what others left in them
  separate,  // each client allocates its own when it loads them, and frees them when it has saved them
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
  /// The longest job of a client without a deadline. Any other client may have to wait for such a job.
  Duration best_effort_wcet{std::chrono::milliseconds(50)};
  /// The time within which a client must carry out a command. A client that takes longer is ended.
  Duration command_timeout{std::chrono::milliseconds(500)};
  /// The time after which a client is ended if it holds the device beyond its WCET while others wait.
  Duration stuck_after{std::chrono::seconds(1)};
  bool keep_awake = false; // keep all cores that the daemon may use from going idle
};

/// The declaration of a client: limits that it promises to keep. In return its deadline is promised.
struct ClientDeclaration {
  /// The minimum time between the releases of two jobs.
  Duration period{0};
  /// The longest time from the release of a job to its end; at most the period.
  Duration deadline{0};
  /// The longest time that a job uses the device if it runs alone and its memory is on the device.
  Duration wcet{0};
  /// The longest pause within a job: new work that comes within this time after all work of the job has ended belongs
  /// to the same job. It does so only until the job's WCET is used up.
  Duration gap{0};
  /// 1 to 99; a larger number is more urgent. Only used if priorities are explicit.
  std::optional<int> priority;
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  friend bool operator==(const ClientDeclaration&, const ClientDeclaration&) = default;
};

inline constexpr std::size_t longest_client_name = 63;

/// A rule for clients with this name and this executable. If several rules apply to a client, the first one counts.
struct ClientRule {
  /// The name that the client gives itself (RTEXEC_CLIENT): printable ASCII. Empty: any.
  std::string name;
  /// The executable, as /proc/PID/exe says. Empty: any.
  std::filesystem::path executable;
  /// The largest amount of device memory that the client may have. Absent: all of it.
  std::optional<Bytes> memory;
  /// The declaration that the daemon makes for the client. If it is set, the client may not make one itself.
  std::optional<ClientDeclaration> declaration;
};

struct DaemonSettings {
  std::filesystem::path file;
  std::string board = "host";
  DaemonOptions daemon;
  DeviceOptions device; // only capacity, chunk and swap_cost
  SwapPolicy swap = SwapPolicy::pipelined;
  std::vector<ClientRule> clients;
  std::vector<std::string> warnings; // of the reader, one line each: what the next release will refuse
};

/// Return the settings, or bad_input with every mistake and its line.
[[nodiscard]] Result<DaemonSettings> parse_daemon_settings(std::string_view toml, const std::filesystem::path& file);
[[nodiscard]] Result<DaemonSettings> read_daemon_settings(const std::filesystem::path& file);

} // namespace rtexec::config
