// Makes the dlsym calls of typical programs and prints the results. They must be the same with the preloaded library
// and without it, except for functions of CUDA once a driver is loaded. With an argument it looks a function up by a
// weak reference instead.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void ask(const char* where, void* handle, const char* name) {
  ::dlerror();
  void* found = ::dlsym(handle, name);
  const char* error = ::dlerror();
  const char* reason = error != nullptr ? std::strstr(error, "undefined symbol") : nullptr;
  std::printf("%s %s: %s%s\n", where, name, found != nullptr ? "found" : "none",
              reason != nullptr ? ", undefined symbol" : "");
}

/// Prints which library contains the function that cuGetProcAddress_v2 returns.
void ask_driver(void* driver, const char* name, int version) {
  using Ask = int (*)(const char*, void**, int, std::uint64_t, int*);
  void* function = nullptr;
  const int code = reinterpret_cast<Ask>(::dlsym(driver, "cuGetProcAddress_v2"))(name, &function, version, 0, nullptr);
  Dl_info info{};
  if (function != nullptr) ::dladdr(function, &info);
  const char* slash = info.dli_fname != nullptr ? std::strrchr(info.dli_fname, '/') : nullptr;
  std::printf("%s of %d: %d %s\n", name, version, code, slash != nullptr ? slash + 1 : "nowhere");
}

} // namespace

/// A program that tests with a weak reference whether there is a driver, and uses it. The driver may be loaded later.
extern "C" [[gnu::weak]] int cuMemAlloc_v2(unsigned long long* pointer, std::size_t size);

int ask_weakly() {
  unsigned long long pointer = 0;
  const auto allocate = [&] { return &cuMemAlloc_v2 != nullptr ? cuMemAlloc_v2(&pointer, 1) : -1; };
  const int before = allocate();
  const bool opened = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr;
  std::printf("%d, then with%s a driver %d\n", before, opened ? "" : "out", allocate());
  return 0;
}

int main(int count, char**) {
  if (count > 1) return ask_weakly();
  for (const char* name : {"malloc", "no_such_function", "cuMemAlloc_v2", "cuGetProcAddress_v2", "cuNoSuchFunction"}) {
    ask("default", RTLD_DEFAULT, name);
    ask("next", RTLD_NEXT, name);
    ask("program", ::dlopen(nullptr, RTLD_LAZY), name);
  }
  std::printf("next finds the same malloc: %d\n", ::dlsym(RTLD_NEXT, "malloc") == ::dlsym(RTLD_DEFAULT, "malloc"));
  std::printf("dlsym by dlsym: %d\n", ::dlsym(RTLD_DEFAULT, "dlsym") != nullptr);

  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  std::printf("driver %d\n", driver != nullptr);
  if (driver == nullptr) return 0;
  ask("driver", driver, "cuMemAlloc_v2");
  ask("driver", driver, "cuNoSuchFunction");
  ask("driver", driver, "malloc");
  for (const int version : {2000, 3020, 12000, 13000, 14000}) {
    ask_driver(driver, "cuMemAlloc", version);
    ask_driver(driver, "cuCtxSynchronize", version);
  }
  ask_driver(driver, "cuNoSuchFunction", 12000);

  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([driver] {
      for (int round = 0; round < 2000; ++round) {
        if (::dlsym(driver, "cuMemFree_v2") == nullptr) std::printf("lost\n");
        if (::dlsym(driver, "cuNothing") != nullptr) std::printf("found nothing\n");
      }
    });
  }
  for (auto& thread : threads) thread.join();

  std::fflush(stdout);
  if (::fork() == 0) {
    ask("child", driver, "cuMemAlloc_v2");
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::wait(&status);
  std::printf("child %d\n", status);
}
