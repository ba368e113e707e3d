// Simulates one regulated core and a device in steps of a microsecond, from the rules of regulation and not from the
// analysis. Priorities are static, and each step moves at most one line of memory. The core is held once it has used up
// its budget of the period. An adversary chooses phases, latencies, the steps in which a part moves its lines, and the
// background traffic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::policies::test {

struct RegulatedTask { // times in microseconds; the most urgent task first
  int period = 0;
  int before = 0, device = 0, after = 0;
  int lines_before = 0, lines_after = 0; // at most one in each microsecond
  long long device_done = 0;             // EDF: relative deadline of the device part
};

struct RegulatedModel {
  int period = 0;  // of regulation
  int budget = 0;  // lines
  int latency = 0; // of releases and ticks, and from an exhausted budget until the core stands still
  int tick = 0;    // execution time of the regulating thread in each period
  bool carry = true;
  bool edf = false; // EDF on the device
};

class RegulatedCoreModel {
 public:
  RegulatedCoreModel(const RegulatedModel& model, std::vector<RegulatedTask> tasks, unsigned seed)
      : model_(model), tasks_(std::move(tasks)), random_(seed) {
    jobs_.resize(tasks_.size());
    worst_.assign(tasks_.size(), 0);
    ready_ = worst_;
    ambush_ = chance(2) ? Ambush::none : chance(2) ? Ambush::held : Ambush::soon;
    quick_ticks_ = chance(2);
    greed_ = pick(0, 3);
    grid_ = pick(0, model.period - 1);
    tick_at_ = grid_;
    for (Job& job : jobs_) job.next = pick(0, 2 * model.period);
  }

  /// Simulates until `end` and returns the longest response of each task.
  std::vector<int> run(int end) {
    for (now_ = 0; now_ < end; ++now_) step();
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (jobs_[i].stage != Stage::none) worst_[i] = std::max(worst_[i], end - jobs_[i].released);
    return worst_;
  }
  /// Returns, by task, the longest time from a release to the end of the first part.
  [[nodiscard]] const std::vector<int>& ready() const { return ready_; }
  int holds = 0;

 private:
  /// The adversary's timing of releases: any time, just after the core was held, or so that parts become ready just
  /// then.
  enum class Ambush { none, held, soon };
  enum class Stage { none, released, before, waiting, device, after };
  struct Job {
    Stage stage = Stage::none;
    int next = 0;            // earliest release
    int released = 0;        // nominal release
    int ready = 0;           // when the first part is ready
    int left = 0;            // remaining time of the part
    std::vector<char> moves; // lines that each of its steps moves, the last step first
  };

  int pick(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }
  bool chance(int of) { return pick(1, of) == 1; }
  int latency() { return chance(2) ? model_.latency : pick(0, model_.latency); }

  std::vector<char> profile(int steps, int lines) {
    std::vector<char> moves(static_cast<std::size_t>(steps), 0);
    std::fill_n(moves.begin(), lines, 1); // moves the lines late, since the last step comes first
    const int shape = pick(0, 2);
    if (shape == 0) std::ranges::reverse(moves);
    if (shape == 1) std::ranges::shuffle(moves, random_);
    return moves;
  }

  void begin(Job& job, Stage stage, int steps, int lines) {
    job.stage = stage;
    job.left = steps;
    job.moves = profile(steps, lines);
  }

  void regulate() {
    just_held_ = false;
    if (now_ == tick_at_) {
      grid_ += model_.period;
      tick_at_ = grid_ + latency();
      const int over = used_ > given_ ? used_ - given_ : 0;
      debt_ = model_.carry ? debt_ + over : 0;
      const int paid = std::min(debt_, model_.budget);
      debt_ -= paid;
      given_ = model_.budget - paid;
      used_ = 0;
      tick_left_ = quick_ticks_ ? 0 : model_.tick;
      held_ = given_ == 0;
      hold_at_.reset();
    }
    if (hold_at_ && now_ >= *hold_at_ && !held_) {
      held_ = just_held_ = true;
      ++holds;
    }
  }

  void move() {
    if (++used_ >= given_ && !hold_at_) hold_at_ = now_ + 1 + (ambush_ == Ambush::soon && chance(2) ? 0 : latency());
  }

  void release() {
    const bool soon = ambush_ == Ambush::soon && used_ + model_.latency == given_;
    const bool strike =
        ambush_ == Ambush::none || (ambush_ == Ambush::held && just_held_) || soon || chance(8 * model_.period);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      if (job.stage == Stage::none && now_ >= job.next && strike) {
        job.stage = Stage::released;
        job.released = now_;
        job.ready = now_ + (soon ? model_.latency : latency());
        job.next = now_ + tasks_[i].period + (ambush_ == Ambush::none && chance(8) ? pick(0, model_.period) : 0);
      }
      if (job.stage == Stage::released && now_ >= job.ready)
        begin(job, Stage::before, tasks_[i].before, tasks_[i].lines_before);
    }
  }

  void execute() {
    if (tick_left_ > 0) {
      --tick_left_;
      return;
    }
    if (held_) return;
    const auto on_core = [](const Job& job) { return job.stage == Stage::before || job.stage == Stage::after; };
    const auto job = std::ranges::find_if(jobs_, on_core);
    if (job == jobs_.end()) {
      if (greed_ == 0 || (greed_ == 1 && chance(2)) || greed_ == 3) move();
      return;
    }
    const bool moves = job->moves.back() != 0;
    job->moves.pop_back();
    --job->left;
    if (moves) move();
    if (job->left > 0) return;
    const auto i = static_cast<std::size_t>(job - jobs_.begin());
    if (job->stage == Stage::after) return finish(i);
    job->stage = Stage::waiting;
    ready_[i] = std::max(ready_[i], now_ + 1 - job->released);
  }

  void finish(std::size_t task) {
    jobs_[task].stage = Stage::none;
    worst_[task] = std::max(worst_[task], now_ + 1 - jobs_[task].released);
  }

  void serve() {
    if (!on_device_) {
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].stage != Stage::waiting) continue;
        if (!on_device_ || (model_.edf && due(i) < due(*on_device_))) on_device_ = i;
      }
      if (!on_device_) return;
      jobs_[*on_device_].stage = Stage::device;
      jobs_[*on_device_].left = tasks_[*on_device_].device;
    }
    Job& job = jobs_[*on_device_];
    if (--job.left > 0) return;
    served_ = *on_device_;
    on_device_.reset();
  }

  [[nodiscard]] long long due(std::size_t task) const {
    return jobs_[task].released * 1000LL + tasks_[task].device_done;
  }

  void step() {
    regulate();
    release();
    serve();
    execute();
    if (served_) begin(jobs_[*served_], Stage::after, tasks_[*served_].after, tasks_[*served_].lines_after);
    served_.reset();
  }

  const RegulatedModel model_;
  const std::vector<RegulatedTask> tasks_;
  std::mt19937 random_;
  std::vector<Job> jobs_;
  std::vector<int> worst_, ready_;
  Ambush ambush_ = Ambush::none;
  bool quick_ticks_ = false;
  int greed_ = 0;
  int now_ = 0;
  int grid_ = 0, tick_at_ = 0, tick_left_ = 0;
  int given_ = 1 << 30, used_ = 0, debt_ = 0;
  bool held_ = false, just_held_ = false;
  std::optional<int> hold_at_;
  std::optional<std::size_t> on_device_, served_;
};

} // namespace rtexec::policies::test
