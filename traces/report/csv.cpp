#include "traces/report/csv.hpp"

#include "traces/report/export_names.hpp"

#include <algorithm>
#include <string_view>

namespace rtexec::traces {
namespace {

std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

std::string column(Cause cause) {
  std::string text(name(cause));
  std::ranges::replace(text, '-', '_');
  return text + "_ns";
}

void write_pwcet(const Pwcet& pwcet, std::ostream& out) {
  const auto& quantiles = pwcet.pot.quantiles;
  const auto rarest = std::ranges::min_element(quantiles, {}, &Quantile::exceedance);
  if (!pwcet.refused.empty() || !pwcet.pot.refused.empty() || rarest == quantiles.end()) out << ",,,,";
  else
    out << ',' << rarest->exceedance << ',' << static_cast<std::int64_t>(rarest->value) << ','
        << static_cast<std::int64_t>(rarest->confidence.low) << ','
        << static_cast<std::int64_t>(rarest->confidence.high);
  out << ',' << cell(pwcet.refused.empty() ? pwcet.pot.refused : pwcet.refused);
}

void write_stage(const TaskAnalysis& task, const StageAnalysis& stage, std::ostream& out) {
  const Distribution& d = stage.times;
  out << cell(task.setup.name) << ',' << stage.name << ',' << task.released << ',' << task.completed << ','
      << task.missed << ',' << d.count;
  for (const Duration value : {d.min, d.mean, d.p50, d.p90, d.p99, d.p999, d.p9999, d.max}) {
    out << ',';
    if (d.count) out << value.count();
  }
  out << ',';
  if (d.count) out << d.max_job;
  out << ',';
  if (stage.configured) out << stage.configured->count();
  write_pwcet(stage.pwcet, out);
  out << ',' << cell(task.invalid) << "\r\n";
}

} // namespace

JobsCsv::JobsCsv(std::ostream& out, const RunSetup& setup) : out_(out), setup_(setup) {
  for (const TaskSetup& task : setup.tasks) tasks_.push_back(cell(task.name));
  out_ << "task,job,nominal_ns,response_ns,deadline_ns,outcome";
  for (std::size_t i = 0; i < causes; ++i) out_ << ',' << column(static_cast<Cause>(i));
  out_ << "\r\n";
}

void JobsCsv::add(const JobBreakdown& job) {
  out_ << task_name(tasks_, job.job.task) << ',' << job.job.number << ',' << (job.nominal - setup_.start).count() << ','
       << job.response.count() << ',' << job.deadline.count() << ',' << name(job.outcome);
  for (const Duration time : job.by_cause) out_ << ',' << time.count();
  out_ << "\r\n";
}

void summary_csv(const Analysis& analysis, std::ostream& out) {
  out << "task,stage,released,completed,missed,count,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,p999_ns,p9999_ns,max_ns,max_"
         "job,configured_ns,"
         "pwcet_exceedance,pwcet_ns,pwcet_low_ns,pwcet_high_ns,pwcet_refused,invalid\r\n";
  for (const TaskAnalysis& task : analysis.tasks)
    for (const StageAnalysis& stage : task.stages) write_stage(task, stage, out);
}

} // namespace rtexec::traces
