// Short names for events and actions of the device scheduler.
#pragma once

#include "policies/scheduler/device_scheduler.hpp"

#include <array>
#include <ostream>
#include <vector>

namespace rtexec::policies {

inline void PrintTo(const Action& action, std::ostream* out) {
  constexpr std::array kinds{"start", "copy in", "copy out", "refuse", "drop", "fail"};
  const auto& [task, slot, frame] = action.transfer;
  *out << kinds.at(static_cast<std::size_t>(action.kind)) << " {" << action.job.task << ", " << action.job.number
       << "} {";
  *out << task << ", " << slot << ", " << frame << "} segment " << action.segment << " + " << action.committed;
}

} // namespace rtexec::policies

namespace rtexec::policies::test {

using List = std::vector<Action>;

inline Instant at(std::int64_t ns) { return Instant{Duration(ns)}; }

inline Event request(std::uint32_t task, std::uint64_t number, std::int64_t deadline) {
  return {Event::Kind::job_requested, {task, number}, at(0), at(deadline)};
}
inline Event withdrawal(std::uint32_t task, std::uint64_t number) {
  return {Event::Kind::job_withdrawn, {task, number}, at(0), {}};
}
inline Event completion(std::uint32_t task, std::uint64_t number) {
  return {Event::Kind::execution_done, {task, number}, at(0), {}};
}
inline Event segment_done(std::uint32_t task, std::uint64_t number, std::uint32_t segment) {
  return {Event::Kind::segment_done, {task, number}, at(0), {}, {}, false, segment};
}
inline Event copied_in(Transfer transfer, bool failed = false) {
  return {Event::Kind::copied_in, {}, at(0), {}, transfer, failed};
}
inline Event copied_out(Transfer transfer, bool failed = false) {
  return {Event::Kind::copied_out, {}, at(0), {}, transfer, failed};
}

inline Action start(std::uint32_t task, std::uint64_t number) {
  return {Action::Kind::start_execution, {task, number}, {}};
}
inline Action start(std::uint32_t task, std::uint64_t number, std::uint32_t segment, std::uint32_t committed = 0) {
  return {.kind = Action::Kind::start_execution, .job = {task, number}, .segment = segment, .committed = committed};
}
inline Action refuse(std::uint32_t task, std::uint64_t number) { return {Action::Kind::refuse, {task, number}, {}}; }
inline Action drop(std::uint32_t task, std::uint64_t number) { return {Action::Kind::drop, {task, number}, {}}; }
inline Action fail(std::uint32_t task, std::uint64_t number) { return {Action::Kind::fail, {task, number}, {}}; }
inline Action copy_in(JobId job, Transfer transfer) { return {Action::Kind::copy_in, job, transfer}; }
inline Action copy_out(JobId job, Transfer transfer) { return {Action::Kind::copy_out, job, transfer}; }

inline List feed(DeviceScheduler& scheduler, const Event& event) {
  const auto actions = scheduler.on(event);
  return {actions.begin(), actions.end()};
}

} // namespace rtexec::policies::test
