#include "rtexec/sharing/daemon/work_record.hpp"

#include "traces/emit.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::daemon {

void JobRecord::released(std::uint32_t task, Instant release, Instant now, Instant deadline,
                         Instant ordered_by) noexcept {
  job_ = {task, job_.number + 1};
  open_ = true;
  traces::job_release(job_, release, now, deadline);
  traces::job_start(job_, now);
  traces::cpu_end(job_, now, Duration(0));
  traces::device_request(job_, now, ordered_by);
}

void JobRecord::granted(Instant now) noexcept { traces::device_begin(job_, now); }

void JobRecord::ended(Instant release, Instant end, Instant deadline, bool real_time) noexcept {
  open_ = false;
  traces::device_end(job_, end, {});
  traces::after_begin(job_, end);
  traces::job_end(job_, end, end - release, Duration(0));
  if (real_time && end > deadline) traces::job_miss(job_, end, deadline, end - deadline);
}

void JobRecord::cancelled(Instant now) noexcept { traces::device_end(job_, now, Unexpected(Errc::cancelled)); }

void JobRecord::failed(Instant now, Instant deadline) noexcept {
  open_ = false;
  traces::job_miss(job_, now, deadline, now - deadline);
}

void JobRecord::aborted(Instant now, Instant deadline) noexcept {
  if (!std::exchange(open_, false)) return;
  traces::job_abort(job_, now);
  traces::job_miss(job_, now, deadline, now - deadline);
}

void MoveRecord::moved(const policies::Action& action, Instant since, Instant told, Instant now, bool failed) noexcept {
  Instant& until = until_[action.kind == policies::Action::Kind::copy_in ? 1 : 0];
  const Instant begin = std::max(since, until);
  until = std::clamp(told, begin, std::max(begin, now));
  traces::swap_begin(action, begin);
  traces::swap_end(action, until, failed ? Status(Unexpected(Errc::io_error)) : Status(), failed ? Bytes{0} : chunk_);
}

} // namespace rtexec::daemon
