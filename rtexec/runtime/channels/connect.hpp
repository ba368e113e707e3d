// Connects the inputs and outputs of a task set, and of a program, to the sources and sinks that serve them.
#pragma once

#include <rtexec/channels.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>
#include "rtexec/runtime/channels/latest_mailbox.hpp"
#include "rtexec/runtime/channels/task_io.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::channels {

using Workloads = std::span<const std::unique_ptr<Workload>>;

/// A link: an output of a task that passes to inputs of other tasks without leaving the device. Tasks are identified by
/// their indices in the set.
struct DeviceLink {
  std::size_t producer = 0, output = 0;
  bool on_host = false; // true: the output's bytes are also read on the host
  struct Reader {
    std::size_t task, input;
  };
  std::vector<Reader> readers;
  /// Holds the values. use_memory() must set its device memory before the tasks' channels are opened.
  std::shared_ptr<LatestMailbox> latest;
};

struct Connected {
  std::vector<std::unique_ptr<TaskIo>> tasks;
  std::vector<DeviceLink> links;
};

/// Makes the sources and sinks of each task, without opening them. `workloads` has one element for each task, in the
/// same order, and must outlive the result. An input without a source is read from the file that the task's key `input`
/// names. Without that key, the input gets noise. If the program has an on_input callback for the task, the program
/// fills inputs without a source. Reports to each workload that supports links which of its inputs and outputs are
/// linked to tensors of other tasks. Returns bad_input with all errors at once, each after its task's name.
[[nodiscard]] Result<Connected> connect(const TaskSet& tasks, Workloads workloads,
                                        std::map<std::string, TaskCallbacks> callbacks);

/// Tells `workload` which of its inputs and outputs are linked to tensors of other tasks. `workload` replaces the
/// workload with which the task at `index` was connected.
void tell_links(Workload& workload, std::size_t index, std::span<const DeviceLink> links);

/// Returns the fingerprint for measured WCETs of the task at `index`. The fingerprint changes with the workload, the
/// sources of its inputs, and its links on the device.
[[nodiscard]] std::string fingerprint(const TaskSet& set, std::size_t index, const Workload& workload,
                                      std::span<const DeviceLink> links);

} // namespace rtexec::channels
