#include "rtexec/cli/reports/cut_calibration_report.hpp"

#include <rtexec/units.hpp>
#include "rtexec/cli/text/table.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {

void print(std::ostream& out, const CutCalibration& calibration) {
  out << "Cuts on " << calibration.device << ": jobs in segments, compared with jobs in one piece\n";
  report::Table table({"segments", "in one piece p50", "in segments p50", "each cut p50", "p99"});
  for (const MeasuredCuts& each : calibration.measured)
    table.add({std::to_string(each.segments), readable(each.whole), readable(each.cut), readable(each.each),
               readable(each.worst)});
  table.print(out);
}

nlohmann::json to_json(const CutCalibration& calibration, const std::string& file) {
  nlohmann::json measured = nlohmann::json::array();
  for (const MeasuredCuts& each : calibration.measured)
    measured.push_back({{"segments", each.segments},
                        {"whole_p50_ns", each.whole.count()},
                        {"in_segments_p50_ns", each.cut.count()},
                        {"cut_p50_ns", each.each.count()},
                        {"cut_p99_ns", each.worst.count()}});
  return {{"device", calibration.device},
          {"cut_ns", calibration.cut.count()},
          {"measured", std::move(measured)},
          {"file", file}};
}

} // namespace rtexec::study
