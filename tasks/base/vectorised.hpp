// Macros that compile a kernel for several instruction sets. The best version that the processor supports is chosen
// when the program is loaded.
#pragma once

// Instrumented builds have only one version of each kernel, because the choice would run before the sanitizer is ready.
// ARM needs only one version, because its baseline has vector instructions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define RTEXEC_VECTORISED __attribute__((optimize("O3"), target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__GNUC__) && !defined(__clang__)
#define RTEXEC_VECTORISED __attribute__((optimize("O3")))
#else
#define RTEXEC_VECTORISED
#endif

/// Marks a kernel for the instruction set `set`. The caller must check that the processor supports `set`.
#if defined(__GNUC__) && !defined(__clang__)
#define RTEXEC_TARGET(set) __attribute__((optimize("O3"), target(set)))
#else
#define RTEXEC_TARGET(set) __attribute__((target(set)))
#endif

/// Marks a kernel for this program's baseline instruction set.
#if defined(__GNUC__) && !defined(__clang__)
#define RTEXEC_BASELINE __attribute__((optimize("O3")))
#else
#define RTEXEC_BASELINE
#endif

/// Precedes a loop whose iterations do not depend on each other.
#if defined(__clang__)
#define RTEXEC_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RTEXEC_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Marks a function that is a part of a vectorised kernel. It is compiled into the kernel, for the kernel's instruction
/// set.
#define RTEXEC_INLINE [[gnu::always_inline]] inline
