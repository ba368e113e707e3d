// The dlsym that programs see. For a name in the table of intercepted functions, it returns this library's function if
// the program would have found the driver's function. The C library answers all other calls. The C library's answer
// depends on the address of the caller. Therefore the stub (the exported symbol `dlsym`) jumps to the C library with
// unchanged registers.
#include "rtexec/sharing/preload/preloaded_library.hpp"
#include "rtexec/sharing/preload/symbols.hpp"

#include <dlfcn.h>

namespace rtexec::preload {
namespace {

struct Answer {
  void* symbol;
  std::uintptr_t is_answer; // 0: the stub must call the C library
};
constexpr Answer not_ours{nullptr, 0};

Answer answer(void* symbol) noexcept { return {symbol, 1}; }

} // namespace

extern "C" [[gnu::visibility("hidden"), gnu::used]] Answer rtexec_preload_dlsym(void* handle,
                                                                                const char* name) noexcept {
  const DlSym ask = real_dlsym();
  if (name == nullptr || name[0] != 'c' || name[1] != 'u') return not_ours;
  const auto id = find_symbol(name);
  if (!id) return not_ours;
  const bool searches_scope = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  if (driver_library() == nullptr) {
    // Without a driver, the program must not find this library's functions by their names. A search with RTLD_NEXT from
    // this library's position in the scope ignores this library's functions.
    void* found = searches_scope ? nullptr : ask(handle, name);
    return answer(found == nullptr || found == exported_function(*id) ? ask(RTLD_NEXT, name) : found);
  }
  // A search with RTLD_DEFAULT or RTLD_NEXT finds this library before the driver. Therefore the C library returns this
  // library's function, which is the correct answer.
  if (searches_scope) return not_ours;
  void* found = ask(handle, name);
  return answer(found != nullptr && found == real_function(*id) && takes_part() ? exported_function(*id) : found);
}

} // namespace rtexec::preload

#if defined(__x86_64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, @function
dlsym:
  endbr64
  pushq %rdi
  pushq %rsi
  subq $8, %rsp
  call rtexec_preload_dlsym
  addq $8, %rsp
  popq %rsi
  popq %rdi
  testq %rdx, %rdx
  jz 1f
  ret
1:
  jmp *rtexec_preload_real_dlsym(%rip)
  .size dlsym, . - dlsym
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, %function
dlsym:
  stp x29, x30, [sp, #-32]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  bl rtexec_preload_dlsym
  cbz x1, 1f
  ldp x29, x30, [sp], #32
  ret
1:
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  adrp x16, rtexec_preload_real_dlsym
  ldr x16, [x16, #:lo12:rtexec_preload_real_dlsym]
  br x16
  .size dlsym, . - dlsym
)");
#endif
