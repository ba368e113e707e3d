// Connects the inputs and outputs of a task set, and of a program, to the sources and sinks that serve them.
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

/// An output of a task that stays on the device on its way to inputs of other tasks. Tasks are indices in the set.
struct DeviceLink {
  std::size_t producer = 0, output = 0;
  bool on_host = false; // its bytes are also read on the host
  struct Reader {
    std::size_t task, input;
  };
  std::vector<Reader> readers;
  std::shared_ptr<Latest> latest; // must get device memory before the tasks' channels are opened
};

struct Connected {
  std::vector<std::unique_ptr<TaskIo>> tasks;
  std::vector<DeviceLink> links;
};

/// Makes the channels of each task. `workloads` are parallel to the tasks, and outlive the result. Opens nothing.
/// Inputs without a source get `input` of the task, or noise, unless the program has an on_input. Linked tensors are
/// reported to workloads that support links. Returns bad_input with all errors at once, each after its task's name.
[[nodiscard]] Result<Connected> connect(const TaskSet& tasks, Workloads workloads,
                                        std::map<std::string, TaskCallbacks> callbacks);

/// Links the tensors of another workload of the task at `index`.
void tell_links(Workload& workload, std::size_t index, std::span<const DeviceLink> links);

/// Returns the fingerprint for measured WCETs of the task at `index`. It covers this workload, the sources of its
/// inputs, and its links on the device.
[[nodiscard]] std::string fingerprint(const TaskSet& set, std::size_t index, const Workload& workload,
                                      std::span<const DeviceLink> links);

} // namespace rtexec::channels
