#include "rtexec/studies/simulator/contention.hpp"

#include "policies/bandwidth/bandwidth_budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace rtexec::simulator {
namespace {

using policies::BandwidthDomain;
using policies::BandwidthRegulator;
using policies::Lines;

constexpr double never = std::numeric_limits<double>::infinity();

// Internal values are in nanoseconds, bytes, and bytes per nanosecond.
double rate_of(Bandwidth bandwidth) { return static_cast<double>(bandwidth.bytes_per_second) * 1e-9; }
double time_of(Duration duration) { return static_cast<double>(duration.count()); }
Duration duration_of(double ns) { return Duration(std::llround(ns)); }
Bytes as_bytes(double bytes) { return {static_cast<std::uint64_t>(std::llround(bytes))}; }

void cut(std::vector<double>& rates, std::span<const unsigned> cores, double most) {
  double sum = 0;
  for (const unsigned core : cores) sum += rates[core];
  if (sum <= most) return;
  for (const unsigned core : cores) rates[core] *= most / sum;
}

class Memory {
 public:
  explicit Memory(const SharedMemory& memory)
      : clusters_(memory.clusters), saturation_(rate_of(memory.saturation)), all_(memory.cores.size()) {
    std::iota(all_.begin(), all_.end(), 0U);
  }
  /// Replaces the demand of each core in `rates` by the rate that the core gets.
  void share(std::vector<double>& rates) const {
    for (const auto& [cores, most] : clusters_) cut(rates, cores, rate_of(most));
    cut(rates, all_, saturation_);
  }
  double saturation() const { return saturation_; }

 private:
  std::vector<SharedMemory::Cluster> clusters_;
  double saturation_;
  std::vector<unsigned> all_;
};

/// A seeded random generator that gives the same numbers with every standard library.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  /// Returns a random number from the interval [0, 1).
  double even() { return std::ldexp(static_cast<double>(engine_() >> 11), -53); }
  double exponential(double mean) { return -mean * std::log1p(-even()); }
  double bell() { return (even() + even() + even() + even()) / 4; }
  std::size_t index(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }

 private:
  std::mt19937_64 engine_;
};

struct Core {
  double alone = 0;       // bytes per ns without other traffic
  bool sweeps = false;    // true if it sweeps memory for the whole run
  double used = 0;        // bytes moved in this period
  double allowed = never; // bytes allowed in this period
  double stops = never;   // instant at which the core reacts to the end of its budget
  bool held = false;
  double moved = 0; // total of bytes moved
  double stood = 0; // total time for which a limit stopped the core
};

class Run {
 public:
  explicit Run(const ContentionRun& run)
      : run_(run),
        memory_(run.memory),
        cores_(run.memory.cores.size()),
        demand_(cores_.size()),
        given_(cores_.size()),
        chance_(run.noise ? run.noise->seed : 0) {
    for (std::size_t i = 0; i < cores_.size(); ++i) cores_[i].alone = rate_of(run.memory.cores[i]);
    for (const unsigned core : run.corunners) cores_[core].sweeps = true;
    if (run.noise) burst_begins_ = chance_.exponential(time_of(run.noise->gap));
    if (run.limit)
      regulator_.emplace(domains(),
                         policies::BandwidthRules{
                             .reclaim = false, .sharing = BandwidthSharing::none, .overshoot = run.limit->overshoot});
    if (run.limit) begin_periods();
    begin_part(true);
  }

  ContentionResult finish() {
    while (result_.frames.size() < run_.frames || frame_began_ < time_of(run_.length)) step();
    result_.length = duration_of(frame_began_);
    result_.device = duration_of(device_);
    for (const Core& core : cores_) {
      result_.moved.push_back(as_bytes(core.moved));
      result_.held.push_back(duration_of(core.stood));
    }
    return std::move(result_);
  }

 private:
  std::vector<BandwidthDomain> domains() const {
    const CoreLimit& limit = *run_.limit;
    std::vector<BandwidthDomain> domains(
        cores_.size(),
        {.budget = policies::lines_of(limit.limit, limit.line, limit.period), .always = false, .donates = true});
    if (!limit.feeder) domains.front() = {};
    return domains;
  }

  // ---- budgets ----

  double line() const { return static_cast<double>(run_.limit->line.count); }
  double bytes_of(Lines lines) const {
    return lines == policies::unlimited ? never : static_cast<double>(lines) * line();
  }
  Lines used(const Core& core) const { return static_cast<Lines>(core.used / line() + 1e-6); }

  void begin_periods() {
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      Core& core = cores_[i];
      const Lines lines = regulator_->begin_period(i, used(core), true);
      core.used = 0;
      core.allowed = bytes_of(lines);
      core.stops = never;
      core.held = lines == 0;
    }
    tick_ = now_ + time_of(run_.limit->period);
  }

  /// Reports to the regulator that core `i` has moved all cache lines of its budget. Depending on the answer, the core
  /// gets more lines, is held, or begins a new period, or all cores continue without a limit.
  void ask(std::size_t i) {
    using Kind = BandwidthRegulator::Answer::Kind;
    Core& core = cores_[i];
    core.stops = never;
    const auto answer = regulator_->used_up(i, used(core), true);
    switch (answer.kind) {
    case Kind::more: core.allowed = core.used + bytes_of(answer.lines); break;
    case Kind::hold: core.held = true; break;
    case Kind::new_period: begin_periods(); break;
    case Kind::go_on:
      for (Core& each : cores_) {
        each.held = false;
        each.allowed = each.stops = never;
      }
    }
  }

  void use_up(std::size_t i) {
    Core& core = cores_[i];
    core.used = std::max(core.used, core.allowed);
    if (run_.limit->reaction == Duration(0)) return ask(i);
    core.stops = now_ + time_of(run_.limit->reaction);
  }

  // ---- the frame ----

  void begin_part(bool on_cpu) {
    on_cpu_ = on_cpu;
    left_ = time_of(on_cpu ? run_.frame.cpu : run_.frame.device);
    if (!on_cpu && run_.noise) left_ += chance_.bell() * time_of(run_.noise->jitter);
  }

  void end_part() {
    if (on_cpu_) {
      device_began_ = now_;
      return begin_part(false);
    }
    device_ += now_ - device_began_;
    result_.frames.push_back(duration_of(now_ - frame_began_));
    frame_began_ = now_;
    begin_part(true);
  }

  /// Returns the bandwidth that the CPU part of the frame demands.
  double feeder_demand() const {
    return run_.frame.cpu > Duration(0) ? static_cast<double>(run_.frame.traffic.count) / time_of(run_.frame.cpu) : 0;
  }

  // ---- noise ----

  void begin_burst() {
    const Noise& noise = *run_.noise;
    burst_core_ = noise.cores[chance_.index(noise.cores.size())];
    const double shortest = time_of(noise.shortest);
    burst_ends_ = now_ + shortest + chance_.even() * (time_of(noise.longest) - shortest);
    burst_begins_ = never;
  }

  void end_burst() {
    burst_ends_ = never;
    burst_begins_ = now_ + chance_.exponential(time_of(run_.noise->gap));
  }
  bool bursts(std::size_t i) const { return burst_ends_ != never && burst_core_ == i && !cores_[i].sweeps; }

  // ---- time ----

  void share_memory() {
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      const Core& core = cores_[i];
      demand_[i] = core.held ? 0 : core.sweeps || bursts(i) ? core.alone : i == 0 && on_cpu_ ? feeder_demand() : 0;
    }
    given_ = demand_;
    memory_.share(given_);
  }

  /// Returns the progress of the running part per nanosecond, in nanoseconds of its time without other traffic. Also
  /// sets the rate of core 0.
  double speed() {
    if (!on_cpu_) {
      double traffic = 0;
      for (std::size_t i = 0; i < cores_.size(); ++i) traffic += given_[i] * (bursts(i) ? run_.noise->severity : 1);
      return 1 / (1 + run_.frame.sensitivity * traffic / memory_.saturation());
    }
    if (cores_.front().held) return 0;
    if (!(demand_.front() > 0)) return 1;
    const double bound = run_.frame.memory_bound;
    const double progress = 1 / (1 - bound + bound * demand_.front() / given_.front());
    given_.front() = demand_.front() * progress;
    return progress;
  }

  void advance(double to, double speed) {
    const double passed = to - now_;
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      cores_[i].used += given_[i] * passed;
      cores_[i].moved += given_[i] * passed;
      if (cores_[i].held) cores_[i].stood += passed;
    }
    left_ -= speed * passed;
    now_ = to;
  }

  /// Advances the virtual time to the next event.
  void step() {
    share_memory();
    const double progress = speed();
    enum class Event { part, tick, used_up, reaction, burst, silence } event = Event::part;
    double next = progress > 0 ? now_ + std::max(left_, 0.0) / progress : never;
    std::size_t who = 0;
    const auto consider = [&](double at, Event what, std::size_t core = 0) {
      if (at >= next) return;
      next = std::max(at, now_);
      event = what;
      who = core;
    };
    consider(tick_, Event::tick);
    consider(burst_begins_, Event::burst);
    consider(burst_ends_, Event::silence);
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      const Core& core = cores_[i];
      consider(core.stops, Event::reaction, i);
      if (given_[i] > 0 && core.stops == never && core.allowed != never)
        consider(now_ + (core.allowed - core.used) / given_[i], Event::used_up, i);
    }
    advance(next, progress);
    switch (event) {
    case Event::part: return end_part();
    case Event::tick: return begin_periods();
    case Event::used_up: return use_up(who);
    case Event::reaction: return ask(who);
    case Event::burst: return begin_burst();
    case Event::silence: return end_burst();
    }
  }

  const ContentionRun& run_;
  Memory memory_;
  std::vector<Core> cores_;
  std::vector<double> demand_, given_; // current demand and current rate of each core
  Chance chance_;
  std::optional<BandwidthRegulator> regulator_;
  double now_ = 0, tick_ = never;
  double burst_begins_ = never, burst_ends_ = never;
  std::size_t burst_core_ = 0;
  bool on_cpu_ = true;
  double left_ = 0; // the remaining time of the running part, without other traffic
  double frame_began_ = 0, device_began_ = 0;
  double device_ = 0; // total time of the device parts that have ended
  ContentionResult result_;
};

} // namespace

std::vector<Bandwidth> shares(const SharedMemory& memory, std::span<const Bandwidth> demand) {
  std::vector<double> rates;
  for (const Bandwidth each : demand) rates.push_back(rate_of(each));
  Memory(memory).share(rates);
  std::vector<Bandwidth> result;
  for (const double rate : rates) result.push_back({static_cast<std::uint64_t>(std::llround(rate * 1e9))});
  return result;
}

ContentionResult simulate_contention(const ContentionRun& run) { return Run(run).finish(); }

} // namespace rtexec::simulator
