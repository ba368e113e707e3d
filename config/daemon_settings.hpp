// The settings of the daemon that schedules other programs (rtexecd FILE.toml): the device that it shares, how much of
// it each program may have, and the declarations that the daemon makes for programs that make none. Plain values.
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

/// How physical chunks pass from one client to the next.
enum class ChunkSharing {
  automatic, // shared if the driver can export them
  shared,    // made once and passed on: each client can see what others left in them
  separate,  // each client makes its own when it loads them, and gives them back when it has saved them
};

struct DaemonOptions {
  std::filesystem::path directory = "/run/rtexec/daemon";
  std::string group; // its members may connect; empty: only the user who runs the daemon
  unsigned places = 32;
  std::string metrics; // "ADDRESS:PORT"; empty: no metrics
  Order order = Order::edf;
  /// For clients with a deadline, under static priority.
  PriorityAssignment priorities = PriorityAssignment::deadline_monotonic;
  ChunkSharing chunks = ChunkSharing::automatic;
  /// The longest job of a client without a deadline. Every other client may have to wait for it.
  Duration best_effort_wcet{std::chrono::milliseconds(50)};
  /// The time within which a client must carry out a command. A client that takes longer is ended.
  Duration patience{std::chrono::milliseconds(500)};
  /// The time after which a client is ended if it holds the device beyond its WCET while others wait.
  Duration stuck_after{std::chrono::seconds(1)};
  bool keep_awake = false; // keep all cores that the daemon may use from going idle
};

/// The declaration of a client: what it promises to keep, in return for a promise of its deadline.
struct ClientDeclaration {
  /// The minimum distance of two jobs.
  Duration period{0};
  /// The longest time from the release of a job to its end; at most the period.
  Duration deadline{0};
  /// The longest time that a job has the device, alone, with its memory there.
  Duration wcet{0};
  /// A job continues if its next work comes within this time after all its work has ended, while its WCET lasts.
  Duration gap{0};
  /// 1 to 99, larger is more urgent. Used if priorities are explicit.
  std::optional<int> priority;
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  friend bool operator==(const ClientDeclaration&, const ClientDeclaration&) = default;
};

inline constexpr std::size_t longest_client_name = 63;

/// A rule for clients with this name and this executable. Of several rules the first one that fits applies.
struct ClientRule {
  /// The name that the client gives itself (RTEXEC_CLIENT): printable ASCII. Empty: any.
  std::string name;
  /// The executable, as /proc/PID/exe says. Empty: any.
  std::filesystem::path executable;
  /// The most device memory that the client may have. Absent: all of it.
  std::optional<Bytes> memory;
  /// The declaration that the daemon makes for the client, which then may make none itself.
  std::optional<ClientDeclaration> declaration;
};

struct DaemonSettings {
  std::filesystem::path file;
  std::string board = "host";
  DaemonOptions daemon;
  DeviceOptions device; // capacity, chunk, swap_cost
  SwapPolicy swap = SwapPolicy::pipelined;
  std::vector<ClientRule> clients;
};

/// Returns bad_input, with every mistake and its line.
[[nodiscard]] Result<DaemonSettings> parse_daemon_settings(std::string_view toml, const std::filesystem::path& file);
[[nodiscard]] Result<DaemonSettings> read_daemon_settings(const std::filesystem::path& file);

} // namespace rtexec::config
