// What a cut costs on a device that has the next segment ahead (`cut` of a board): a network in one piece and in
// several segments, in turn, on a device that nobody else uses. The host hands the next segment to the device while the
// one before executes, as the compute engine does with launch_ahead.
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
  unsigned jobs = 200; // of each number of segments, and as many in one piece
  double margin = 1.2; // what is measured counts so many times
};

/// A network in `segments` segments beside itself in one piece.
struct MeasuredCuts {
  std::uint32_t segments = 0;
  Duration whole{0}; // a job in one piece, at the median
  Duration cut{0};   // and in segments
  Duration each{0}; // what each cut adds: the job in segments less the one in one piece before it, by cuts; the median,
  Duration worst{0}; // and what 99 % of the jobs are not above
};

struct CutCalibration {
  std::string device;
  std::vector<MeasuredCuts> measured; // by ascending segments
  Duration cut{0};                    // the longest `worst`, with the margin
};

/// The same network each time, neither cut nor bound, and as a run would use it: tuned.
using MakeNetwork = std::function<Result<std::unique_ptr<tasks::Network>>()>;

/// In 8, 16, ... 64 segments of at least two `dispatch`, since admission takes no shorter ones for ahead. bad_input:
/// eight segments of the network are shorter, or it has no eight layers; the device's errors; cancelled: `going_on`
/// returned false.
[[nodiscard]] Result<CutCalibration> calibrate_cut(
    hal::Device& device, const MakeNetwork& make, Duration dispatch, const CutCalibrationOptions& options,
    const std::function<bool(std::size_t done, std::size_t of)>& going_on);

} // namespace rtexec::study
