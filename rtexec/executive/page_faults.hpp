#pragma once

namespace rtexec::executive {

/// Minor and major page faults of a thread of this process so far; 0 when it has ended.
[[nodiscard]] long page_faults(int kernel_id);

} // namespace rtexec::executive
