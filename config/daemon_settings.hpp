// What is asked of the daemon that schedules other programs: who may have how much of the device, and which
// declarations it makes for programs that make none. Plain values.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::config {

/// What a client promises to keep, and its deadline is promised for.
struct ClientDeclaration {
  /// The least distance of two jobs.
  Duration period{0};
  /// From the release of a job to its end, at most the period.
  Duration deadline{0};
  /// How long a job has the device at most, alone, with its memory there.
  Duration wcet{0};
  /// 1 to 99, larger is more urgent, where priorities are explicit.
  std::optional<int> priority;
  OnWcetExceeded on_overrun = OnWcetExceeded::tell;
  friend bool operator==(const ClientDeclaration&, const ClientDeclaration&) = default;
};

/// For clients whose name and executable are these; of several rules the first one that fits holds.
struct ClientRule {
  /// What the client calls itself (RTEXEC_CLIENT). Empty: any.
  std::string name;
  /// As /proc/PID/exe says. Empty: any.
  std::filesystem::path executable;
  /// How much device memory it may have. Absent: all that there is.
  std::optional<Bytes> memory;
  /// Made for the client, which then may make none itself.
  std::optional<ClientDeclaration> declaration;
};

} // namespace rtexec::config
