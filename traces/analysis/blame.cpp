#include "traces/analysis/blame.hpp"

#include <algorithm>
#include <array>

namespace rtexec::traces {
namespace {

using Where = Share::Where;

constexpr std::size_t max_named = 4;

std::string what(const Share& share, policies::JobId job, const std::vector<TaskStatistics>& tasks) {
  const std::string who =
      share.culprit ? tasks[share.culprit->task].setup().name + " (job " + std::to_string(share.culprit->number) + ")"
                    : "";
  const std::string doing = share.where == Where::core        ? "the CPU part of "
                            : share.where == Where::execution ? "the execution of "
                            : share.where == Where::swap_in   ? "the swap-in of "
                                                              : "the swap-out for ";
  switch (share.cause) {
  case Cause::release_latency: return "until its thread ran";
  case Cause::queueing:
    if (share.culprit->task == job.task) return "behind its own job " + std::to_string(share.culprit->number);
    return "behind " + doing + who;
  case Cause::blocking_execution:
  case Cause::blocking_copy: return "blocked by " + doing + who + ", which is less urgent";
  case Cause::copy_engine: return "waiting for the copy engine" + (share.culprit ? ", which served " + who : "");
  case Cause::swap_out: return "making room (swap-out)";
  case Cause::swap_in: return "its own swap-in";
  case Cause::execution: return share.where == Where::core ? "its own CPU parts" : "its own execution";
  case Cause::throttled: return "throttled";
  case Cause::overhead:
    if (share.where == Where::core) return "kept from its core by something that was not recorded";
    return share.culprit ? "on the device without executing" : "waiting for the device, which was idle";
  }
  return "";
}

std::string worded(const Share& share, const JobBreakdown& job, const std::vector<TaskStatistics>& tasks) {
  std::string text = readable(share.time) + " " + what(share, job.job, tasks);
  if (share.overrun > Duration(0)) text += ", " + readable(share.overrun) + " above its WCET";
  return share.usual > Duration(0) ? text + " (usually " + readable(share.usual) + ")" : text;
}

std::string counted(std::uint32_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Describes preemptions: "; preempted 2 times by front, 8.20 ms; reload of 12 chunks, 9.00 ms"
std::string worded(const Preemptions& preemptions, const std::vector<TaskStatistics>& tasks) {
  std::string text;
  for (const Preemptions::By& by : preemptions.by)
    text += (text.empty() ? "; preempted " : ", ") + counted(by.times, "time") + " by " + tasks[by.task].setup().name +
            ", " + readable(by.time);
  if (preemptions.reloaded > 0)
    text += "; reload of " + counted(preemptions.reloaded, "chunk") + ", " + readable(preemptions.reloading);
  return text;
}

std::string headline(const JobBreakdown& job, const TaskStatistics& task) {
  const std::string who = "job " + std::to_string(job.job.number) + " of " + task.setup().name;
  const std::string took = readable(job.response) + " of " + readable(job.deadline);
  switch (job.outcome) {
  case JobOutcome::failed: return who + " failed after " + took;
  case JobOutcome::aborted: return who + " was abandoned after " + took;
  case JobOutcome::late: return who + " was " + readable(job.response - job.deadline) + " late (" + took + ")";
  case JobOutcome::in_time: return who + " took " + took;
  }
  return who;
}

std::string name_of(policies::JobId job, const std::vector<TaskStatistics>& tasks) {
  return "job " + std::to_string(job.number) + " of " + tasks[job.task].setup().name;
}

/// A piece of a chain's path, and its cause.
struct Piece {
  Duration time{0};
  std::string what;
};

std::vector<Piece> pieces_of(const ChainStep& step, const std::vector<TaskStatistics>& tasks) {
  const std::string job = name_of(step.job, tasks);
  std::vector<Piece> pieces{{step.until_release(), "until " + job + " was released"},
                            {step.held(), "until the deadline of " + job}};
  for (const Share& share : step.delays)
    pieces.push_back({std::min(share.time, step.until_read()), job + " began late: " + what(share, step.job, tasks)});
  for (const Share& share : step.shares) pieces.push_back({share.time, job + ": " + what(share, step.job, tasks)});
  return pieces;
}

} // namespace

void Preemptions::add(std::uint32_t task, Duration time) {
  auto one = std::ranges::find(by, task, &By::task);
  if (one == by.end()) one = by.insert(one, By{.task = task});
  ++one->times;
  one->time += time;
}

std::string_view name(Cause cause) {
  static constexpr std::array<std::string_view, causes> names{
      "release-latency", "queueing", "blocking-execution", "blocking-copy", "copy-engine",
      "swap-out",        "swap-in",  "execution",          "throttled",     "overhead"};
  return names[static_cast<std::size_t>(cause)];
}

void explain(JobBreakdown& job, const std::vector<TaskStatistics>& tasks) {
  const TaskStatistics& task = tasks[job.job.task];
  for (Share& share : job.shares) share.usual = task.usual(share);
  const auto excess = [](const Share& share) { return share.time - share.usual; };
  std::ranges::stable_sort(job.shares, std::ranges::greater(), excess);
  job.blame = headline(job, task);
  std::size_t named = 0;
  for (const Share& share : job.shares) {
    const bool worth = excess(share) > job.response / 100;
    if (named == max_named || (named > 0 && !worth)) break;
    job.blame += (named++ == 0 ? ": " : "; ") + worded(share, job, tasks);
  }
  job.blame += worded(job.preemptions, tasks);
}

void explain(ChainPath& path, const std::vector<TaskStatistics>& tasks) {
  Piece longest;
  for (const ChainStep& step : path.steps)
    for (Piece& piece : pieces_of(step, tasks))
      if (piece.time > longest.time) longest = std::move(piece);
  path.blame = readable(longest.time) + " of " + readable(path.reaction) + " " + longest.what;
}

std::string advice(const ChainAnalysis& chain, const std::vector<TaskStatistics>& tasks) {
  const auto& parts = chain.all.parts;
  if (parts.empty()) return "";
  const auto most = std::ranges::max_element(parts, {}, &ChainPart::waits);
  if (most->waits * 20 < chain.all.whole()) return "";
  const auto place = static_cast<std::size_t>(most - parts.begin());
  const auto name = [&](std::size_t at) { return tasks[chain.setup.places[at].task].setup().name; };
  const std::string shorter = "a shorter period of '" + name(place) + "'";
  const bool follows = place > 0 && chain.setup.places[place].waits == Duration(0);
  const std::string source = "a quicker source of '" + name(place) + "'";
  const std::string fix = follows ? shorter
                          : place > 0
                              ? "trigger = \"after:" + name(place - 1) + "\" of '" + name(place) + "', or " + shorter
                          : chain.setup.triggered ? source
                                                  : (chain.setup.from_sampling ? source + ", " : "") + shorter +
                                                        ", or trigger = \"input\" if a source reports events";
  return readable(most->waits) + " of " + readable(chain.all.whole()) + " in the mean, and " +
         readable(chain.longest.parts[place].waits) + " of " + readable(chain.longest.whole()) +
         " in the mean of the longest " + std::to_string(chain.longest.reactions) + ", until '" + name(place) +
         "' was released; to shorten it: " + fix;
}

} // namespace rtexec::traces
