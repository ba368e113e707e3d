// The part of the analyzer that tracks resources: chunk transfers and cores. Also makes the bars and marks for
// observers.
#include "traces/analysis/analyzer.hpp"

#include <algorithm>

namespace rtexec::traces {
namespace {

using policies::Action;
using policies::JobId;

Action::Kind kind_of(Direction direction) {
  return direction == Direction::in ? Action::Kind::copy_in : Action::Kind::copy_out;
}

} // namespace

// ---- transfers of a chunk ----

void Analyzer::expect_transfer(const Action& action) {
  if (action.kind == Action::Kind::copy_in || action.kind == Action::Kind::copy_out)
    pending_[action.kind == Action::Kind::copy_in ? 0 : 1].push_back({action, decision_.now});
}

void Analyzer::begin_transfer(const Record& record, Direction direction) {
  if (statistics_of(record.job.task) == nullptr) return;
  auto& engine = timeline_.engine(direction);
  auto& pending = pending_[static_cast<std::size_t>(direction)];
  const Action wanted{kind_of(direction), record.job, record.transfer};
  if (const auto known = std::ranges::find(pending, wanted, &PendingTransfer::action); known != pending.end()) {
    engine.pending.add(record.job, known->at, record.at);
    pending.erase(pending.begin(), std::next(known));
  }
  // Keeps the job's urgency for all its transfers, even if the job has been aborted and the next job was released
  auto& of = transfer_for_[static_cast<std::size_t>(direction)];
  if (!of || of->job != record.job) of = urgency(record.job);
  engine.transfers.forget_open();
  engine.transfers.open({record.transfer, *of}, record.at);
}

void Analyzer::end_transfer(const Record& record, Direction direction) {
  const auto* transfer = timeline_.engine(direction).transfers.close(
      [&](const ChunkTransfer& each) { return each.transfer == record.transfer && each.of.job == record.job; },
      record.at);
  if (transfer == nullptr) return;
  to_ = std::max(to_, record.at);
  const Duration took = transfer->end - transfer->begin;
  count_transfer(record, direction, took);
  const std::size_t lane = lane_of(direction == Direction::in ? GanttLane::Kind::copy_in : GanttLane::Kind::copy_out);
  count(lane, took, took);
  bar(direction == Direction::in ? GanttBar::Kind::swap_in : GanttBar::Kind::swap_out, lane, record.job,
      record.transfer.task, transfer->begin, transfer->end);
}

void Analyzer::count_transfer(const Record& record, Direction direction, Duration took) {
  if (!record.ok) return void(++swap_.failed);
  if (direction == Direction::in) {
    ++swap_.in;
    swap_.in_bytes += Bytes{record.bytes};
    return in_times_.add(took, record.job.number, record.at);
  }
  ++(record.bytes > 0 ? swap_.out : swap_.dropped);
  swap_.out_bytes += Bytes{record.bytes};
  out_times_.add(took, record.job.number, record.at);
}

void Analyzer::see_memory(Instant at) {
  const auto frames = replay_->frames_in_use();
  if (frames == frames_in_use_ || !released_) return;
  frames_in_use_ = frames;
  if (!frames || !setup_.swap) return;
  for (AnalysisObserver* observer : observers_) observer->memory({at, *frames * setup_.swap->chunk.count});
}

// ---- resources ----

std::size_t Analyzer::lane_of(GanttLane::Kind kind, std::uint32_t index) const {
  std::size_t lane = tasks_.size();
  while (lane < lanes_.size() && (lanes_[lane].kind != kind || lanes_[lane].index != index)) ++lane;
  return lane;
}

void Analyzer::count(std::size_t lane, Duration busy, Duration whole) {
  if (lane == lanes_.size()) return;
  ResourceAnalysis& resource = resources_[lane - tasks_.size()];
  ++resource.parts;
  resource.busy += busy;
  resource.longest = std::max(resource.longest, whole);
}

void Analyzer::end_throttle(const Record& record) {
  to_ = std::max(to_, record.at);
  const auto* throttle = timeline_.cores[record.core].throttles.close([](std::monostate) { return true; }, record.at);
  const std::size_t lane = lane_of(GanttLane::Kind::core, record.core);
  if (throttle == nullptr || lane == lanes_.size()) return;
  resources_[lane - tasks_.size()].throttled += throttle->end - throttle->begin;
  bar(GanttBar::Kind::throttled, lane, {}, 0, throttle->begin, throttle->end);
}

void Analyzer::bar(GanttBar::Kind kind, std::size_t lane, JobId job, std::uint32_t owner, Instant begin, Instant end) {
  if (lane == lanes_.size()) return;
  for (AnalysisObserver* observer : observers_)
    observer->bar({kind, static_cast<std::uint32_t>(lane), job, owner, begin, end});
}

void Analyzer::mark(GanttMark::Kind kind, JobId job, Instant at) {
  for (AnalysisObserver* observer : observers_) observer->mark({kind, job, at});
}

} // namespace rtexec::traces
