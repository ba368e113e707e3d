// Sections fragmentation (the paper's Table II), beside (execution during copies) and mapping (map and unmap during
// kernels).
#pragma once

#include "test/bench/fragmentation.hpp"
#include "test/bench/swap_gpu.hpp"

#include <functional>

namespace rtexec::bench {

// ---- fragmentation ----

class FragmentationSection {
 public:
  explicit FragmentationSection(const Context& context) : context_(context) {}

  Result<json> run() {
    if (context_.options.models.empty()) return fail(Errc::bad_input, "no networks were given");
    std::printf(
        "  GB (1e9 bytes); object: each memory object in chunks of 2 MiB of its own; arena: the same objects one "
        "behind the other;\n"
        "  ours: weights, and scratch whose buffers share memory when they do not live at the same time, in chunks of "
        "2 MiB (and of 64 MiB)\n"
        "  %-22s %6s %6s %8s %16s %16s %8s %10s | paper: small large total object rt-swap\n",
        "network", "<2MiB", ">=2MiB", "total", "object", "arena", "ours", "(64 MiB)");
    for (const auto& model : context_.options.models) print(model);
    return result_;
  }

 private:
  static constexpr Bytes smallest = MiB * 2;

  static const char* paper(const std::string& name) {
    for (const auto& [prefix, row] : {std::pair("resnet", "1009 312 1.4 3.5 1.4"),
                                      {"densenet", "1689 129 0.9 4.0 0.9"},
                                      {"resnext", "962 359 2.2 4.2 2.2"},
                                      {"yolov3", "372 282 2.6 3.5 2.6"}})
      if (name.starts_with(prefix)) return row;
    return "-";
  }

  static Bytes ours(const tasks::Network& network, Bytes chunk) {
    return round_up(Bytes{network.constants().size()}, chunk) + round_up(network.scratch(), chunk);
  }

  void print(const std::string& model) {
    const std::string name = model_name(model);
    std::printf("  %-22s ", name.c_str());
    std::fflush(stdout);
    const auto network = build_network(model);
    if (!network) return std::printf("failed: %s\n", network.error().what.c_str()), void();
    const auto found = fragmentation((*network)->objects(), smallest);
    const auto short_text = [](Bytes size) { return std::to_string(gigabytes(size)).substr(0, 5); };
    const auto with_waste = [&](Bytes size) { return short_text(size) + " (+" + short_text(size - found.total) + ")"; };
    const Bytes small = ours(**network, smallest), large = ours(**network, MiB * 64);
    std::printf("%6zu %6zu %8.3f %16s %16s %8.3f %10.3f | %s\n", found.small, found.large, gigabytes(found.total),
                with_waste(found.per_object).c_str(), with_waste(found.arena).c_str(), gigabytes(small),
                gigabytes(large), paper(name));
    result_[name] = {{"small", found.small},
                     {"large", found.large},
                     {"total_bytes", found.total.count},
                     {"object_bytes", found.per_object.count},
                     {"arena_bytes", found.arena.count},
                     {"constant_bytes", (*network)->constants().size()},
                     {"scratch_bytes", (*network)->scratch().count},
                     {"ours_bytes", small.count},
                     {"ours_64_mib_bytes", large.count}};
  }

  const Context& context_;
  json result_ = json::object();
};

// ---- execution during copies ----

class BesideSection {
 public:
  explicit BesideSection(const Context& context) : context_(context) {}

  Result<json> run() {
    if (context_.options.models.empty()) return fail(Errc::bad_input, "no networks were given");
    std::printf(
        "  execution of one network, fp32, default kernels, ms between events; both copy engines move chunks of 64 MiB "
        "without a pause\n"
        "  %-22s %9s %9s %12s %12s %9s %9s %12s\n",
        "network", "p50", "p99", "p50 beside", "p99 beside", "p50 ratio", "p99 ratio", "copies GB/s");
    for (const auto& model : context_.options.models) {
      const auto measured = measure(model);
      if (!measured) std::printf("  %-22s failed: %s\n", model_name(model).c_str(), measured.error().what.c_str());
      else print(model_name(model), *measured);
      std::fflush(stdout);
    }
    return result_;
  }

 private:
  static constexpr Duration long_enough = std::chrono::milliseconds(1500);
  static constexpr std::size_t warm_ups = 30, most = 2000, least = 20;
  struct Measured {
    std::vector<double> alone, beside;
    double copies = 0; // GB/s, sum of both directions
  };

  /// Uses a new device for each network, so that none depends on the state left by another.
  Result<Measured> measure(const std::string& model) {
    auto network = build_network(model);
    if (!network) return Unexpected(network.error());
    auto device = hal::CudaDevice::open(
        {.capacity = CopyLoad::chunk * 2, .chunk = CopyLoad::chunk, .completion = Completion::spin});
    if (!device) return Unexpected(device.error());
    const auto outcome = measure_on(**device, **network);
    network->reset();
    return outcome;
  }

  Result<Measured> measure_on(hal::CudaDevice& device, tasks::CudaNetwork& network) {
    if (const auto bound = bind_network(device, network); !bound) return Unexpected(bound.error());
    Measured measured;
    auto alone = time(device, network);
    if (!alone) return Unexpected(alone.error());
    measured.alone = std::move(*alone);

    const auto copying = CopyLoad::start(device, true, true);
    if (!copying) return Unexpected(copying.error());
    auto beside = time(device, network);
    const auto rate = (*copying)->stop();
    if (!beside || !rate) return Unexpected((beside ? rate.error() : beside.error()));
    measured.beside = std::move(*beside);
    measured.copies = *rate;
    return measured;
  }

  static Result<std::vector<double>> time(hal::CudaDevice& device, const tasks::CudaNetwork& network) {
    const auto& driver = device.driver();
    const auto stream = device.stream(hal::EngineKind::compute);
    std::array<api::Event, 2> events{};
    for (auto& event : events)
      if (const auto made = device.checked(driver.event_create(&event, api::event_default), "making an event"); !made)
        return Unexpected(made.error());
    std::vector<double> times;
    const Instant begin = hal::now();
    for (std::size_t i = 0; i < warm_ups + most && (times.size() < least || hal::now() - begin < long_enough); ++i) {
      (void)driver.event_record(events[0], stream);
      if (const auto launched = device.begin_run(network.graph()); !launched)
        return fail(launched.error(), "launching failed");
      (void)driver.event_record(events[1], stream);
      if (const auto done = device.end_run(network.graph()); !done) return fail(done.error(), "execution failed");
      float took = 0;
      if (const auto ended = device.checked(driver.event_synchronize(events[1]), "waiting for an event"); !ended)
        return Unexpected(ended.error());
      if (const auto known = device.checked(driver.event_elapsed(&took, events[0], events[1]), "reading an event");
          !known)
        return Unexpected(known.error());
      if (i >= warm_ups) times.push_back(static_cast<double>(took));
    }
    for (const auto event : events) (void)driver.event_destroy(event);
    return times;
  }

  void print(const std::string& name, const Measured& measured) {
    const double p50 = median(measured.alone), p99 = percentile(measured.alone, 0.99);
    const double p50_beside = median(measured.beside), p99_beside = percentile(measured.beside, 0.99);
    std::printf("  %-22s %9.3f %9.3f %12.3f %12.3f %9.3f %9.3f %12.1f\n", name.c_str(), p50, p99, p50_beside,
                p99_beside, p50_beside / p50, p99_beside / p99, measured.copies);
    result_[name] = {{"alone_ms", percentiles(measured.alone)},
                     {"beside_ms", percentiles(measured.beside)},
                     {"executions", measured.alone.size()},
                     {"executions_beside", measured.beside.size()},
                     {"copies_gb_s", measured.copies}};
  }

  const Context& context_;
  json result_ = json::object();
};

// ---- mapping during kernels ----

/// A chunk with one permanent mapping. Another mapping of it comes and goes.
class Remapping {
 public:
  static constexpr std::array<const char*, 3> calls{"map", "set access", "unmap"};
  using Times = std::array<std::vector<double>, 3>; // us

  Remapping(hal::CudaDevice& device, Bytes size) : device_(device), driver_(device.driver()), size_(size) {}
  ~Remapping() {
    if (mapped_[1]) (void)driver_.unmap(base_ + size_.count, size_.count);
    if (mapped_[0]) (void)driver_.unmap(base_, size_.count);
    if (created_) (void)driver_.release(handle_);
    if (base_ != 0) (void)driver_.address_free(base_, 2 * size_.count);
  }
  Remapping(const Remapping&) = delete;
  Remapping& operator=(const Remapping&) = delete;

  Result<> prepare() {
    const api::AllocationProperties properties;
    if (const auto done =
            device_.checked(driver_.address_reserve(&base_, 2 * size_.count, 0, 0, 0), "reserving addresses");
        !done)
      return done;
    if (const auto done = device_.checked(driver_.create(&handle_, size_.count, &properties, 0), "creating a chunk");
        !done)
      return done;
    created_ = true;
    if (const auto done = device_.checked(driver_.map(base_, size_.count, 0, handle_, 0), "mapping"); !done)
      return done;
    mapped_[0] = true;
    return device_.checked(driver_.set_access(base_, size_.count, &access_, 1), "setting access");
  }

  /// Measures at most `most` times, for about `time`.
  Result<Times> measure(int most, Duration time) {
    Times times;
    const auto place = base_ + size_.count;
    const auto call = [&](std::size_t which, auto function) -> Result<> {
      const Instant begin = hal::now();
      const api::Code code = function();
      times[which].push_back(microseconds(hal::now() - begin));
      return device_.checked(code, calls[which]);
    };
    const Instant end = hal::now() + time;
    for (int i = 0; i < most && hal::now() < end; ++i) {
      if (const auto done = call(0, [&] { return driver_.map(place, size_.count, 0, handle_, 0); }); !done)
        return Unexpected(done.error());
      mapped_[1] = true;
      if (const auto done = call(1, [&] { return driver_.set_access(place, size_.count, &access_, 1); }); !done)
        return Unexpected(done.error());
      if (const auto done = call(2, [&] { return driver_.unmap(place, size_.count); }); !done)
        return Unexpected(done.error());
      mapped_[1] = false;
    }
    return times;
  }

 private:
  hal::CudaDevice& device_;
  const api::Driver& driver_;
  Bytes size_;
  api::AccessDescriptor access_{.location = {}, .flags = api::AccessFlags::read_write};
  api::DevicePointer base_ = 0;
  api::AllocationHandle handle_ = 0;
  bool created_ = false;
  std::array<bool, 2> mapped_{};
};

class MappingSection {
 public:
  explicit MappingSection(const Context& context) : context_(context) {}

  Result<json> run() {
    std::vector<std::unique_ptr<Neighbour>> neighbours;
    for (int i = 0; i < 2; ++i) {
      auto neighbour = Neighbour::make();
      if (!neighbour) return Unexpected(neighbour.error());
      neighbours.push_back(std::move(*neighbour));
    }
    auto device = hal::CudaDevice::open({.capacity = CopyLoad::chunk * 6, .chunk = CopyLoad::chunk});
    if (!device) return Unexpected(device.error());
    Remapping remapping(**device, CopyLoad::chunk);
    if (const auto ready = remapping.prepare(); !ready) return Unexpected(ready.error());
    std::printf("  one chunk of 64 MiB, us a call\n  %-34s %6s", "meanwhile", "calls");
    for (const char* name : Remapping::calls) std::printf(" | %-10s %8s %9s", name, "p99", "max");
    std::printf("\n");
    measure(remapping, "nothing", [] { return Result<>(); });
    for (const Bytes size : {MiB * 128, MiB * 256}) measure_size(**device, size);
    for (const auto& [name, in, out] :
         {std::tuple("copies in", true, false), {"copies out", false, true}, {"copies both ways", true, true}})
      measure_beside_copies(remapping, **device, name, in, out);
    measure_beside_own(remapping, **device);
    measure(remapping, "kernels of one other process", [&] { return neighbours[0]->start(); });
    measure(remapping, "kernels of two other processes", [&] { return neighbours[1]->start(); });
    if (result_.empty()) return fail(Errc::refused, "nothing could be measured");
    return result_;
  }

 private:
  static constexpr int most = 500;
  static constexpr Duration time = std::chrono::seconds(4);

  void measure(Remapping& remapping, const char* name, const std::function<Result<>()>& begin) {
    std::printf("  %-34s ", name);
    std::fflush(stdout);
    const auto begun = begin();
    if (!begun) return std::printf("failed: %s\n", begun.error().what.c_str()), void();
    const auto times = remapping.measure(most, time);
    if (!times) return std::printf("failed: %s\n", times.error().what.c_str()), void();
    std::printf("%6zu", (*times)[0].size());
    json one;
    for (std::size_t i = 0; i < times->size(); ++i) {
      const auto& each = (*times)[i];
      std::printf(" | %10.1f %8.1f %9.1f", median(each), percentile(each, 0.99), percentile(each, 1));
      one[Remapping::calls[i]] = percentiles(each);
    }
    std::printf("\n");
    std::fflush(stdout);
    result_[name] = one;
  }

  void measure_size(hal::CudaDevice& device, Bytes size) {
    Remapping remapping(device, size);
    const std::string name = "nothing, a chunk of " + readable(size);
    measure(remapping, name.c_str(), [&] { return remapping.prepare(); });
  }

  void measure_beside_copies(Remapping& remapping, hal::CudaDevice& device, const char* name, bool in, bool out) {
    std::unique_ptr<CopyLoad> load;
    measure(remapping, name, [&]() -> Result<> {
      auto started = CopyLoad::start(device, in, out);
      if (!started) return Unexpected(started.error());
      load = std::move(*started);
      return {};
    });
    if (!load) return;
    if (const auto stopped = load->stop(); !stopped)
      std::printf("  copying failed: %s\n", stopped.error().what.c_str());
  }

  /// Uses a network, if there is one.
  void measure_beside_own(Remapping& remapping, hal::CudaDevice& device) {
    constexpr const char* name = "a network of this process";
    if (context_.options.models.empty()) return std::printf("  %-34s left out: no network\n", name), void();
    auto network = build_network(context_.options.models.front());
    if (!network) return std::printf("  %-34s failed: %s\n", name, network.error().what.c_str()), void();
    const auto stream = device.stream(hal::EngineKind::compute);
    std::unique_ptr<Load> load;
    measure(remapping, name, [&]() -> Result<> {
      if (const auto bound = bind_network(device, **network); !bound) return bound;
      const auto pipeline = Pipeline::open(device, stream);
      if (!pipeline) return Unexpected(pipeline.error());
      const auto executable = static_cast<api::GraphExec>((*network)->graph().handle());
      load = std::make_unique<Load>(device, [&device, stream, executable, work = *pipeline] {
        return work->add(device.driver().graph_launch(executable, stream));
      });
      return {};
    });
    if (!load) return;
    if (const auto stopped = load->stop(); !stopped)
      std::printf("  the network failed: %s\n", stopped.error().what.c_str());
  }

  const Context& context_;
  json result_ = json::object();
};

} // namespace rtexec::bench
