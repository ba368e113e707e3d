#include "rtexec/runtime/channels/iceoryx_binding.hpp"

#include <dlfcn.h>
#include <functional>
#include <iostream>
#include <pthread.h>
#include <streambuf>
#include <string_view>
#include <unistd.h>

namespace rtexec::channels::iceoryx {
namespace {

constexpr std::uint32_t fatal = 0; // the value of iox::ErrorLevel for fatal errors

struct ThreadErrors {
  std::uint32_t code = 0;
  bool any = false;
  bool fatal = false;
  bool ends_at_fatal = false;
  bool inside = false; // true: this thread is in a call to iceoryx
};
thread_local constinit ThreadErrors errors;

/// A stream buffer that replaces the stream buffer of std::cerr. It drops the output of iceoryx, and forwards all other
/// output. Installed for the life of the process.
class WithoutIceoryx final : public std::streambuf {
 public:
  explicit WithoutIceoryx(std::streambuf* rest) : rest_(rest) {}

 protected:
  int_type overflow(int_type letter) override {
    return is_iceoryx() ? traits_type::not_eof(letter) : rest_->sputc(traits_type::to_char_type(letter));
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return is_iceoryx() ? size : rest_->sputn(text, size);
  }
  int sync() override { return rest_->pubsync(); }

 private:
  static bool is_iceoryx() {
    char name[16] = {};
    return errors.inside || (::pthread_getname_np(::pthread_self(), name, sizeof name) == 0 &&
                             std::string_view(name) == "KeepAlive"); // the name of iceoryx's own thread
  }
  std::streambuf* rest_;
};

void silence_cerr() {
  [[maybe_unused]] static auto* before_cerr = [] {
    auto* buffer = new WithoutIceoryx(std::cerr.rdbuf()); // never freed: iceoryx may write until the process ends
    std::cerr.rdbuf(buffer);
    return buffer;
  }();
}

const char* (*name_of_error)(std::uint32_t code) = nullptr;

/// The type iox::HandlerFunction; its parameters of enumeration types have 32 bits.
using Handler = std::function<void(std::uint32_t code, std::function<void()> callback, std::uint32_t level)>;

void keep_error(std::uint32_t code, const std::function<void()>&, std::uint32_t level) {
  errors.code = code;
  errors.any = true;
  errors.fatal = errors.fatal || level == fatal;
  // If this handler returned from a fatal error, iceoryx would end the process. A thread for which
  // end_thread_at_fatal_errors() was called therefore waits here forever.
  while (level == fatal && errors.ends_at_fatal) ::pause();
}

template <class Function> bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

void take_over_errors(void* library) {
  auto* handler = static_cast<Handler*>(::dlsym(library, "_ZN3iox12ErrorHandler7handlerE"));
  if (handler == nullptr) return;
  *handler = keep_error;
  (void)find(library, "_ZN3iox12ErrorHandler8toStringENS_5ErrorE", name_of_error);
}

/// Fills `binding` with the functions of the library. Returns the name of the first function that the library lacks, or
/// null if it has all functions.
const char* fill(void* library, Binding& binding) {
#define NEED(member, symbol) \
  if (!find(library, symbol, binding.member)) return symbol
  NEED(set_log_level, "iox_set_loglevel");
  NEED(runtime_init, "iox_runtime_init");
  NEED(publisher_options, "iox_pub_options_init");
  NEED(publisher_create, "iox_pub_init");
  NEED(publisher_destroy, "iox_pub_deinit");
  NEED(loan, "iox_pub_loan_aligned_chunk");
  NEED(release_loan, "iox_pub_release_chunk");
  NEED(publish, "iox_pub_publish_chunk");
  NEED(has_subscribers, "iox_pub_has_subscribers");
  NEED(subscriber_options, "iox_sub_options_init");
  NEED(subscriber_create, "iox_sub_init");
  NEED(subscriber_destroy, "iox_sub_deinit");
  NEED(take, "iox_sub_take_chunk");
  NEED(release, "iox_sub_release_chunk");
  NEED(chunk_of, "iox_chunk_header_from_user_payload_const");
  NEED(has_chunks, "iox_sub_has_chunks");
#undef NEED
  return nullptr;
}

} // namespace

Result<Binding> load_binding(const char* library) {
  void* opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* why = ::dlerror();
    return fail(Errc::unsupported, std::string("Eclipse iceoryx 2.0 is not installed here: ") +
                                       (why == nullptr ? library : why) +
                                       ".\napt-get install iceoryx libiceoryx-binding-c2");
  }
  Binding binding{};
  if (const char* missing = fill(opened, binding); missing != nullptr)
    return fail(Errc::unsupported,
                std::string(library) + " has no function " + missing + ": it is not the C binding of iceoryx 2.0.");
  binding.set_log_level(0);
  silence_cerr();
  take_over_errors(opened);
  return binding;
}

Result<const Binding*> open_binding() {
  static const Result<Binding> opened = load_binding("libiceoryx_binding_c.so.2");
  if (!opened) return Unexpected(opened.error());
  return &*opened;
}

Call::Call() noexcept {
  errors = {};
  errors.inside = true;
}
Call::~Call() { errors.inside = false; }

bool Call::met_fatal_error() const noexcept { return errors.fatal; }

std::string Call::last_error() const {
  if (!errors.any) return "";
  return name_of_error != nullptr ? name_of_error(errors.code) : "error " + std::to_string(errors.code);
}

void Call::end_thread_at_fatal_errors() noexcept { errors.ends_at_fatal = true; }

} // namespace rtexec::channels::iceoryx
