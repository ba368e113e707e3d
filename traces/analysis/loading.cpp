#include "traces/analysis/loading.hpp"

#include "traces/common_time.hpp"

#include <algorithm>
#include <cstddef>

namespace rtexec::traces {
namespace {

/// Returns the interval `of` of each tile, in the order in which the GPU received the tiles.
std::vector<TimeInterval> stretches(const ContentsSetup& contents, TimeInterval TileSetup::*of) {
  std::vector<TimeInterval> all;
  for (const TileSetup& tile : contents.tiles) all.push_back(tile.*of);
  return all;
}

/// Reports the loading intervals of one task, which a Gantt chart shows as bars.
class Loading {
 public:
  Loading(const std::vector<GanttLane>& lanes, std::uint32_t task, AnalysisObserver& observer)
      : lanes_(lanes), task_(task), observer_(observer) {}

  void tell(const TaskSetup& task) {
    for (std::uint32_t buffer = 0; buffer < task.contents.size(); ++buffer) {
      const ContentsSetup& contents = task.contents[buffer];
      for (std::uint32_t tile = 0; tile < contents.tiles.size(); ++tile) {
        const TileSetup& each = contents.tiles[tile];
        if (each.was_prefetched())
          bar(GanttBar::Kind::prefetch, GanttLane::Kind::copy_in, buffer, tile, each.prefetched);
        bar(GanttBar::Kind::make, GanttLane::Kind::device, buffer, tile, each.made);
      }
      bar(GanttBar::Kind::contents, GanttLane::Kind::task, buffer, 0, contents.made);
    }
    if (task.loaded) bar(GanttBar::Kind::load, GanttLane::Kind::task, 0, 0, *task.loaded);
  }

 private:
  void bar(GanttBar::Kind kind, GanttLane::Kind of, std::uint32_t buffer, std::uint32_t tile,
           const TimeInterval& interval) {
    const std::uint32_t index = of == GanttLane::Kind::task ? task_ : 0;
    const auto lane =
        std::ranges::find_if(lanes_, [&](const GanttLane& each) { return each.kind == of && each.index == index; });
    if (lane == lanes_.end()) return;
    observer_.bar({.kind = kind,
                   .lane = static_cast<std::uint32_t>(lane - lanes_.begin()),
                   .job = {.task = task_, .number = tile},
                   .owner = buffer,
                   .begin = interval.begin,
                   .end = interval.end});
  }

  const std::vector<GanttLane>& lanes_;
  std::uint32_t task_;
  AnalysisObserver& observer_;
};

} // namespace

ContentsAnalysis contents_of(const TaskSetup& task) {
  ContentsAnalysis sum;
  for (const ContentsSetup& contents : task.contents) {
    const auto prefetched = stretches(contents, &TileSetup::prefetched), made = stretches(contents, &TileSetup::made);
    ++sum.buffers;
    sum.tiles += made.size();
    sum.size += contents.size;
    sum.took += contents.made.end - contents.made.begin;
    sum.prefetched += length_of(prefetched);
    sum.made += length_of(made);
    sum.overlapped += together(prefetched, made);
  }
  return sum;
}

void show_loading(const RunSetup& setup, const std::vector<GanttLane>& lanes, AnalysisObserver& observer) {
  for (std::uint32_t i = 0; i < setup.tasks.size(); ++i) Loading(lanes, i, observer).tell(setup.tasks[i]);
}

} // namespace rtexec::traces
