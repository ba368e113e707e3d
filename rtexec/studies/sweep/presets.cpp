#include "rtexec/studies/sweep/presets.hpp"

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using policies::DeviceNeed;
using policies::NetworkSizes;

/// Returns `count` gigabytes in the units of the paper on RT-Swap (Kang et al., RTSS 2023): 1 GB is 1024 MB, and 1 MB
/// is 1 MiB. In the paper, chunks have 64 MB, and the capacity is 24 GB.
constexpr Bytes gb(double count) { return {static_cast<std::uint64_t>(count * (1 << 30) + 0.5)}; }

/// The networks of RT-Swap, Table III, at 256, 416 and 608 pixels. The third value is the size of the constants
/// (weights), which is not in the table. In the table, swappable memory grows linearly with the number of pixels,
/// within 0.03 GB. Extrapolated to zero pixels, only weights remain. So the extrapolated value is assumed to be the
/// size of the weights: 0.27, 0.24, 0.11 and 0.23 GB.
std::vector<NetworkSizes> rt_swap_networks() {
  const auto size = [](double footprint, double swappable, double constants, Duration execution) {
    return DeviceNeed{
        .execution = execution, .footprint = gb(footprint), .swappable = gb(swappable), .constants = gb(constants)};
  };
  return {{size(1.4, 0.7, 0.27, 29ms), size(2.4, 1.4, 0.27, 36ms), size(3.8, 2.7, 0.27, 48ms)},  // ResNet
          {size(2.3, 1.1, 0.24, 48ms), size(3.6, 2.6, 0.24, 51ms), size(6.2, 5.2, 0.24, 63ms)},  // YOLOv3
          {size(1.0, 0.4, 0.11, 31ms), size(1.6, 0.9, 0.11, 34ms), size(2.7, 1.8, 0.11, 42ms)},  // DenseNet
          {size(1.6, 1.0, 0.23, 41ms), size(3.2, 2.2, 0.23, 45ms), size(5.7, 4.5, 0.23, 63ms)}}; // ResNeXt
}

std::vector<double> steps(double least, double most, double step) {
  std::vector<double> values;
  for (double value = least; value <= most; value += step) values.push_back(value);
  return values;
}

/// Returns the study of RT-Swap (Kang et al., RTSS 2023, section VII-B). The device has 24 GB, of which the first four
/// tasks leave less than 1 GB.
Study rt_swap(Axis axis, std::vector<double> values) {
  Study study;
  study.source_name = "rt-swap";
  study.source.networks = rt_swap_networks();
  study.source.start = 4;
  study.source.start_footprint = {gb(23), gb(24)};
  study.source.period = {3s, 5s};
  study.device.capacity = gb(24);
  study.device.chunk = gb(1.0 / 16);
  study.device.cost.in_per_chunk = 5660us;
  study.device.cost.out_per_chunk = 5240us;
  study.axis = axis;
  study.values = std::move(values);
  return study;
}

Study fig7b() {
  Study study = rt_swap(Axis::reduced, steps(0, 70, 10));
  study.point.tasks = 5;
  return study;
}

Study fig7c() {
  Study study = rt_swap(Axis::high, steps(0, 10, 1));
  study.source.start = 0;
  study.point.tasks = 10;
  return study;
}

Study wide() {
  Study study = rt_swap(Axis::tasks, steps(7, 20, 1));
  study.source_name = "rt-swap-wide";
  study.source.period = {500ms, 10s};
  study.source.periods = policies::Distribution::log_uniform;
  return study;
}

/// Returns a study of tasks with very different periods. For example, one to three detectors share the device with
/// networks whose executions take longer than the detectors' periods.
Study mixed_rates() {
  Study study;
  study.source_name = "mixed-rates";
  study.source.fast = {.count = {1, 3}, .period = {20ms, 50ms}, .execution = {1ms, 5ms}};
  study.source.period = {300ms, 3s};
  study.source.periods = policies::Distribution::log_uniform;
  study.source.execution = {30ms, 250ms};
  study.source.layers = {20, 60};
  study.source.footprint = {gb(0.25), gb(2)};
  study.source.footprints = policies::Distribution::log_uniform;
  study.device.reduced = 33;
  study.device.chunk = gb(1.0 / 16);
  study.device.cost.in_per_chunk = 1200us;
  study.device.cost.out_per_chunk = 1200us;
  study.device.cut_overhead = 20us;
  study.axis = Axis::tasks;
  study.values = steps(2, 8, 1);
  return study;
}

} // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {"rt-swap-fig7a", "RT-Swap, Fig. 7(a): four tasks that fill 24 GB, and more",
       rt_swap(Axis::tasks, steps(4, 13, 1))},
      {"rt-swap-fig7b", "RT-Swap, Fig. 7(b): five tasks, the capacity reduced", fig7b()},
      {"rt-swap-fig7c", "RT-Swap, Fig. 7(c): ten tasks, more and more of them at high resolution", fig7c()},
      {"rt-swap-wide", "RT-Swap, Fig. 7(a), with periods log-uniform from 0.5 s to 10 s", wide()},
      {"mixed-rates", "Tasks of 20 ms to 50 ms beside n networks of 300 ms to 3 s, not all of whose weights fit",
       mixed_rates()},
  };
  return all;
}

} // namespace rtexec::study
