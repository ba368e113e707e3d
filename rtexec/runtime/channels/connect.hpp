// From what a task set and a program say of inputs and outputs to what fills and takes them.
#pragma once

#include <rtexec/channels.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "rtexec/runtime/channels/latest.hpp"
#include "rtexec/runtime/channels/task_io.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::channels {

using Workloads = std::span<const std::unique_ptr<Workload>>;

/// An output of a task that stays on the device on its way to inputs of others. Tasks by their place in the set.
struct DeviceLink {
  std::size_t producer = 0, output = 0;
  bool on_host = false; // its bytes are read there as well
  struct Reader {
    std::size_t task, input;
  };
  std::vector<Reader> readers;
  std::shared_ptr<Latest> latest; // which is to be given memory of the device before the tasks' channels are opened
};

struct Connected {
  std::vector<std::unique_ptr<TaskIo>> tasks;
  std::vector<DeviceLink> links;
};

/// Of each task, whose workloads are parallel and outlive it. bad_input: all errors at once, each behind its task's
/// name. Opens nothing. Inputs for which nothing is said are fed with `input` of the task, or with
/// noise, save where the program has an on_input. Workloads that can are told which of their tensors are linked.
[[nodiscard]] Result<Connected> connect(const TaskSet& tasks, Workloads workloads,
                                        std::map<std::string, TaskCallbacks> callbacks);

/// Tells another workload of the task at `index` which of its tensors are linked.
void tell_links(Workload& workload, std::size_t index, std::span<const DeviceLink> links);

/// That of the task at `index` with this workload, of what feeds it, and of what stays on the device: a measured WCET
/// depends on them.
[[nodiscard]] std::string fingerprint(const TaskSet& set, std::size_t index, const Workload& workload,
                                      std::span<const DeviceLink> links);

} // namespace rtexec::channels
