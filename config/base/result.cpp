#include <rtexec/result.hpp>

namespace rtexec {

int exit_code(Errc code) {
  switch (code) {
  case Errc::bad_input:
  case Errc::unsupported: return 2;
  case Errc::not_proved: return 3;
  case Errc::missed: return 4;
  case Errc::refused:
  case Errc::out_of_memory:
  case Errc::device_fault:
  case Errc::device_lost:
  case Errc::cancelled:
  case Errc::io_error:
  case Errc::corrupted:
  case Errc::stale: return 5;
  }
  std::unreachable();
}

const char* name(Errc code) {
  switch (code) {
  case Errc::bad_input: return "bad input";
  case Errc::not_proved: return "not proved";
  case Errc::missed: return "missed";
  case Errc::refused: return "refused";
  case Errc::out_of_memory: return "out of memory";
  case Errc::unsupported: return "unsupported";
  case Errc::device_fault: return "device fault";
  case Errc::device_lost: return "device lost";
  case Errc::cancelled: return "cancelled";
  case Errc::io_error: return "input/output error";
  case Errc::corrupted: return "corrupted";
  case Errc::stale: return "stale";
  }
  std::unreachable();
}

} // namespace rtexec
