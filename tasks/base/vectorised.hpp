// Kernels are compiled for several instruction sets; the fitting one is chosen when the program is loaded.
#pragma once

// Instrumented builds have one version: the choice runs before a sanitizer is ready. ARM's baseline has vectors
// already.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define RTEXEC_VECTORISED __attribute__((optimize("O3"), target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__GNUC__) && !defined(__clang__)
#define RTEXEC_VECTORISED __attribute__((optimize("O3")))
#else
#define RTEXEC_VECTORISED
#endif

/// One version of a kernel, for one of these instruction sets; who calls it has to ask the processor.
#if defined(__GNUC__) && !defined(__clang__)
#define RTEXEC_TARGET(set) __attribute__((optimize("O3"), target(set)))
#else
#define RTEXEC_TARGET(set) __attribute__((target(set)))
#endif

/// For this program's baseline.
#if defined(__GNUC__) && !defined(__clang__)
#define RTEXEC_BASELINE __attribute__((optimize("O3")))
#else
#define RTEXEC_BASELINE
#endif

/// Before a loop whose iterations do not depend on each other.
#if defined(__clang__)
#define RTEXEC_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RTEXEC_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Part of a vectorised kernel: compiled into it, for the same instruction set.
#define RTEXEC_INLINE [[gnu::always_inline]] inline
