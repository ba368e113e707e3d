// The functions of the preloaded library that <rtexec/client.h> looks up at run time.
#include "rtexec/sharing/preload/preloaded_library.hpp"
#include "rtexec/sharing/preload/client_process.hpp"

#include <rtexec/client.h>

#include <array>
#include <cstdio>
#include <exception>

namespace rtexec::preload {
namespace {

thread_local constinit std::array<char, 512> error{};

int failed(int code, const char* what) noexcept {
  std::snprintf(error.data(), error.size(), "%s", what);
  return code;
}
int done() noexcept {
  error[0] = '\0';
  return RTEXEC_CLIENT_OK;
}
int absent() noexcept {
  if (turned_away())
    return failed(RTEXEC_CLIENT_REFUSED, "This process is not a client; the reason was printed on standard error.");
  return failed(RTEXEC_CLIENT_ABSENT, "There is no daemon, or no CUDA context yet.");
}

int declare(ClientProcess& process, const rtexec_job_declaration& wanted, std::int64_t* response_bound_ns) {
  const protocol::Declare declaration{.header = {},
                                      .period_ns = wanted.period_ns,
                                      .deadline_ns = wanted.deadline_ns,
                                      .wcet_ns = wanted.wcet_ns,
                                      .priority = wanted.priority,
                                      .on_overrun = static_cast<protocol::OnOverrun>(wanted.on_overrun),
                                      .reserved = {}};
  const bool known = RTEXEC_OVERRUN_TELL <= wanted.on_overrun && wanted.on_overrun <= RTEXEC_OVERRUN_STOP;
  if (!known || !protocol::valid(declaration))
    return failed(RTEXEC_CLIENT_REFUSED,
                  "The declaration is invalid; it must have 1 us <= wcet <= deadline <= period <= 1000 s, 0 <= "
                  "priority <= 99, on_overrun one of RTEXEC_OVERRUN_...");
  process.gate().synchronised(); // ends an idle job first, so that it does not delay the declaration
  const auto bound = process.client().declare(declaration);
  if (!bound) {
    const bool unproved = bound.error().code == Errc::not_proved;
    return failed(unproved ? RTEXEC_CLIENT_NOT_PROVED : RTEXEC_CLIENT_REFUSED, bound.error().what.c_str());
  }
  if (response_bound_ns != nullptr) *response_bound_ns = bound->count();
  return done();
}

} // namespace
} // namespace rtexec::preload

#define API extern "C" [[gnu::visibility("default")]]
using namespace rtexec::preload;

API int rtexec_client_job_declare(const rtexec_job_declaration* declaration, std::int64_t* response_bound_ns) noexcept {
  if (declaration == nullptr) return failed(RTEXEC_CLIENT_REFUSED, "The declaration must not be null.");
  ClientProcess* process = ClientProcess::enter();
  if (process == nullptr) return absent();
  try {
    return declare(*process, *declaration, response_bound_ns);
  } catch (const std::exception& exception) { return failed(RTEXEC_CLIENT_REFUSED, exception.what()); }
}

API int rtexec_client_job_begin() noexcept {
  ClientProcess* process = ClientProcess::enter();
  if (process == nullptr) return absent();
  if (process->gate().begin()) return done();
  return failed(RTEXEC_CLIENT_REFUSED, "The device was not granted: its memory could not be brought back.");
}

API int rtexec_client_job_end() noexcept {
  ClientProcess* process = ClientProcess::existing();
  if (process == nullptr) return absent();
  process->gate().end();
  return done();
}

API const char* rtexec_client_last_error() noexcept { return error.data(); }
