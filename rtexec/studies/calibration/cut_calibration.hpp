// Measures the cost of a cut on a device to which the next segment has been submitted ahead (`cut` of a board). It
// compares a network in one piece with the same network in several segments, in turn, on a device without other work.
// The host submits the next segment while the previous one executes, as the compute engine does with launch_ahead.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/device_interface.hpp"
#include "tasks/engine/graph/network.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::study {

struct CutCalibrationOptions {
  unsigned jobs = 200; // for each number of segments, and as many in one piece
  double margin = 1.2; // factor on the measured cost
};

/// A network in `segments` segments, compared with the network in one piece.
struct MeasuredCuts {
  std::uint32_t segments = 0;
  Duration whole{0}; // median of a job in one piece
  Duration cut{0};   // median of a job in segments
  Duration each{0};  // cost of each cut: (job in segments - preceding job in one piece) / number of cuts; median
  Duration worst{0}; // 99th percentile of that cost
};

struct CutCalibration {
  std::string device;
  std::vector<MeasuredCuts> measured; // by ascending segments
  Duration cut{0};                    // the longest `worst`, times the margin
};

/// Makes the same network each time, neither cut nor bound, and tuned as in a run.
using MakeNetwork = std::function<Result<std::unique_ptr<tasks::Network>>()>;

/// Measures 8, 16, ... 64 segments of at least two `dispatch` each, since admission launches no shorter ones ahead.
/// Returns bad_input if eight segments of the network would be shorter, or it has fewer than eight layers; the device's
/// errors; or cancelled if `going_on` returned false.
[[nodiscard]] Result<CutCalibration> calibrate_cut(
    hal::Device& device, const MakeNetwork& make, Duration dispatch, const CutCalibrationOptions& options,
    const std::function<bool(std::size_t done, std::size_t of)>& going_on);

} // namespace rtexec::study
