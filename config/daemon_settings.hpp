// What is asked of the daemon that schedules other programs (rtexecd FILE.toml): which device it shares out, who may
// have how much of it, and which declarations it makes for programs that make none. Plain values.
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

/// How physical chunks come from one client to the next.
enum class ChunkSharing {
  automatic, // shared where the driver can export them
  shared,    // made once and handed on: each client can see what others left in them
  separate,  // each client makes its own when it loads them, and gives them back when it has saved them
};

struct DaemonOptions {
  std::filesystem::path directory = "/run/rtexec/daemon";
  std::string group; // that may connect; empty: who runs the daemon
  unsigned places = 32;
  std::string metrics; // "ADDRESS:PORT"; empty: none
  Order order = Order::edf;
  /// Of clients with a deadline, under static priority.
  PriorityAssignment priorities = PriorityAssignment::deadline_monotonic;
  ChunkSharing chunks = ChunkSharing::automatic;
  /// The longest job of a client without a deadline, which every other waits for.
  Duration best_effort_wcet{std::chrono::milliseconds(50)};
  /// Within which a client carries out a command, or is ended.
  Duration patience{std::chrono::milliseconds(500)};
  /// After which a client is ended that holds the device beyond its WCET while others wait.
  Duration stuck_after{std::chrono::seconds(1)};
  bool keep_awake = false; // all cores that the daemon may use
};

/// What a client promises to keep, and its deadline is promised for.
struct ClientDeclaration {
  /// The least distance of two jobs.
  Duration period{0};
  /// From the release of a job to its end, at most the period.
  Duration deadline{0};
  /// How long a job has the device at most, alone, with its memory there.
  Duration wcet{0};
  /// A job goes on where its next work comes within this time after all of it has ended, while its WCET lasts.
  Duration gap{0};
  /// 1 to 99, larger is more urgent, where priorities are explicit.
  std::optional<int> priority;
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  friend bool operator==(const ClientDeclaration&, const ClientDeclaration&) = default;
};

inline constexpr std::size_t longest_client_name = 63;

/// For clients whose name and executable are these; of several rules the first one that fits holds.
struct ClientRule {
  /// What the client calls itself (RTEXEC_CLIENT): printable ASCII. Empty: any.
  std::string name;
  /// As /proc/PID/exe says. Empty: any.
  std::filesystem::path executable;
  /// How much device memory it may have. Absent: all that there is.
  std::optional<Bytes> memory;
  /// Made for the client, which then may make none itself.
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

/// bad_input, with every mistake and its line.
[[nodiscard]] Result<DaemonSettings> parse_daemon_settings(std::string_view toml, const std::filesystem::path& file);
[[nodiscard]] Result<DaemonSettings> read_daemon_settings(const std::filesystem::path& file);

} // namespace rtexec::config
