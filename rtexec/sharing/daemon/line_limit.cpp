#include "rtexec/sharing/daemon/line_limit.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::daemon {

std::optional<std::uint64_t> LineLimit::ask(uid_t user, Instant now) {
  Account& account = accounts_[user];
  const Instant next = std::max(account.paid_up_to, now) + pause;
  if (next - now > pause * burst) {
    ++account.left_out;
    return std::nullopt;
  }
  account.paid_up_to = next;
  return std::exchange(account.left_out, 0);
}

} // namespace rtexec::daemon
