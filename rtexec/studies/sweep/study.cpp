#include "config/base/text.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include "policies/device/volume_search.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rtexec::study {
namespace {

using policies::DeviceTest;
using policies::MemoryModel;

constexpr Column edf_columns[] = {
    {"theorem1", DeviceTest::theorem1, MemoryModel::state, 1},
    {"baker", DeviceTest::baker, MemoryModel::state, 1},
    {"demand", DeviceTest::demand, MemoryModel::state, 1},
    {"pipelined-h1", DeviceTest::pipelined, MemoryModel::state, 1},
    {"pipelined", DeviceTest::pipelined, MemoryModel::state, 2},
    {"pipelined-constant", DeviceTest::pipelined, MemoryModel::constants, 2},
    {"classes", DeviceTest::pipelined, MemoryModel::classes, 2},
    {"one-process", DeviceTest::pipelined, MemoryModel::one_process, 2},
};

constexpr Column static_priority_columns[] = {
    {"rta", DeviceTest::rta, MemoryModel::state, 1},
    {"pipelined-h1", DeviceTest::pipelined, MemoryModel::state, 1},
    {"pipelined", DeviceTest::pipelined, MemoryModel::state, 2},
    {"pipelined-constant", DeviceTest::pipelined, MemoryModel::constants, 2},
    {"classes", DeviceTest::pipelined, MemoryModel::classes, 2},
    {"one-process", DeviceTest::pipelined, MemoryModel::one_process, 2},
};

constexpr Column segment_columns[] = {
    {"utilisation", Necessary::utilisation, MemoryModel::classes, 1},
    {"fits", Necessary::memory, MemoryModel::classes, 1},
    {"pipelined", DeviceTest::pipelined, MemoryModel::classes, 1},
    {"segmented-one-level", DeviceTest::segmented, MemoryModel::classes, 1, policies::Levels::one},
    {"segmented", DeviceTest::segmented, MemoryModel::classes, 1, policies::Levels::any},
};

/// Returns the study's point, with the varied quantity (number of tasks, utilisation or resolutions) set to `value`.
policies::StudyPoint point_at(const Study& study, double value) {
  policies::StudyPoint point = study.point;
  if (study.axis == Axis::tasks) point.tasks = static_cast<std::size_t>(value);
  if (study.axis == Axis::utilisation) point.utilisation = value;
  if (study.axis == Axis::high) point.high = static_cast<std::size_t>(value);
  return point;
}

policies::StudyDevice device_at(const Study& study, double value) {
  policies::StudyDevice device = study.device;
  if (study.axis == Axis::reduced) device.reduced = value;
  return device;
}

bool possible(const policies::DeviceSet& set, Necessary condition) {
  double utilisation = 0;
  for (const policies::DeviceTask& task : set.tasks)
    utilisation += static_cast<double>(task.execution) / static_cast<double>(task.period);
  return utilisation <= 1 && (condition == Necessary::utilisation || policies::fits(set, policies::max_of(set)));
}

bool proves(const Study& study, const Column& column, std::span<const policies::GeneratedTask> tasks,
            const policies::StudyDevice& device) {
  const policies::LayeredSet set =
      policies::layered_set_of(tasks, device, column.memory, column.copy_engines, study.order);
  if (const auto* condition = std::get_if<Necessary>(&column.test)) return possible(set.device, *condition);
  const DeviceTest test = std::get<DeviceTest>(column.test);
  if (test != DeviceTest::segmented) return policies::test_device(set.device, test, study.order).proved;
  if (!possible(set.device, Necessary::memory)) return false;
  const auto found = policies::search_preemption(set, study.order, column.levels);
  return found && found->proved;
}

} // namespace

std::span<const Column> columns(Order order, bool segments) {
  if (segments) return segment_columns;
  if (order == Order::edf) return edf_columns;
  return static_priority_columns;
}

std::string_view name_of(Axis axis) {
  switch (axis) {
  case Axis::tasks: return "n";
  case Axis::utilisation: return "utilisation";
  case Axis::reduced: return "reduced_percent";
  case Axis::high: break;
  }
  return "high_resolution";
}

std::string text_of(double value) { return config::significant(value, 15); }

std::uint32_t proved(const Study& study, double value, std::size_t number) {
  const auto tasks = policies::generate(study.source, point_at(study, value), study.seed, number);
  const policies::StudyDevice device = device_at(study, value);
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < study.tests.size(); ++i)
    if (proves(study, study.tests[i], tasks, device)) mask |= std::uint32_t{1} << i;
  return mask;
}

std::size_t Outcomes::count_known(const Part& part) const {
  std::size_t count = 0;
  for (std::size_t item = 0; item < size_; ++item)
    if (part.has(item % sets_) && known(item)) ++count;
  return count;
}

void work_out(const Study& study, Outcomes& outcomes, unsigned threads,
              const std::function<bool(std::span<const std::size_t>)>& finished, const Part& part) {
  std::vector<std::size_t> left;
  for (std::size_t item = 0; item < outcomes.size(); ++item)
    if (part.has(item % outcomes.sets()) && !outcomes.known(item)) left.push_back(item);
  std::atomic<std::size_t> next{0};
  const auto work = [&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
      if (mine >= left.size()) return;
      outcomes.set(left[mine], proved(study, study.values[left[mine] / outcomes.sets()], left[mine] % outcomes.sets()));
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work);

  std::size_t told = 0;
  const auto tell = [&] {
    const std::size_t first = told;
    while (told < left.size() && outcomes.known(left[told])) ++told;
    return finished(std::span(left).subspan(first, told - first));
  };
  while (tell() && told < left.size()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (std::jthread& worker : workers) worker.request_stop();
  workers.clear();
  if (told < std::min(next.load(), left.size())) tell();
}

std::vector<Row> rows_of(const Study& study, const Outcomes& outcomes) {
  std::vector<Row> rows;
  for (std::size_t row = 0; row < study.values.size(); ++row) {
    std::vector<std::size_t> counts(study.tests.size());
    for (std::size_t set = 0; set < study.sets; ++set)
      for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += outcomes.mask(row * study.sets + set) >> i & 1;
    rows.push_back({.value = study.values[row], .percent = {}});
    for (const std::size_t count : counts)
      rows.back().percent.push_back(100.0 * static_cast<double>(count) / static_cast<double>(study.sets));
  }
  return rows;
}

} // namespace rtexec::study
