#!/usr/bin/env python3
"""kernel_4_9.py COMMAND...: runs it, and all that it starts, as on Linux 4.9 as far as system calls tell: what came later
answers as that kernel would, by a seccomp filter. --list prints what is taken away, and since when there is it.

Not seen by a filter, and so left as this kernel has it: what lies in memory (attributes of perf_event and of the
scheduler), flags that 4.9 passes over without a word (of mmap, clone), and files of /proc and /sys."""
import ctypes
import errno
import os
import platform
import struct
import sys

# Name, version, number on x86-64 and on arm64. From 424 on, numbers are the same everywhere, and none is in 4.9.
CALLS = [("statx", "4.11", 332, 291), ("io_pgetevents", "4.18", 333, 292), ("rseq", "4.18", 334, 293)]
FIRST_LATER, LAST_LATER = 424, 511
LATER = [("pidfd_send_signal", "5.1", 424), ("io_uring_setup", "5.1", 425), ("io_uring_enter", "5.1", 426),
         ("io_uring_register", "5.1", 427), ("open_tree", "5.2", 428), ("move_mount", "5.2", 429), ("fsopen", "5.2", 430),
         ("fsconfig", "5.2", 431), ("fsmount", "5.2", 432), ("fspick", "5.2", 433), ("pidfd_open", "5.3", 434),
         ("clone3", "5.3", 435), ("close_range", "5.9", 436), ("openat2", "5.6", 437), ("pidfd_getfd", "5.6", 438),
         ("faccessat2", "5.8", 439), ("process_madvise", "5.10", 440), ("epoll_pwait2", "5.11", 441),
         ("mount_setattr", "5.12", 442), ("quotactl_fd", "5.14", 443), ("landlock_create_ruleset", "5.13", 444),
         ("landlock_add_rule", "5.13", 445), ("landlock_restrict_self", "5.13", 446), ("memfd_secret", "5.14", 447),
         ("process_mrelease", "5.15", 448), ("futex_waitv", "5.16", 449), ("set_mempolicy_home_node", "5.17", 450),
         ("cachestat", "6.5", 451), ("fchmodat2", "6.6", 452), ("futex_wake", "6.7", 454), ("futex_wait", "6.7", 455),
         ("futex_requeue", "6.7", 456)]
# What a call cannot do yet: name, numbers, which argument, its bits, from, to, the answer, and since when it can.
ARGUMENTS = [
    ("membarrier: no command at all", (324, 283), 0, 0xffffffff, 0, 0, 0, "4.14"), # tells which there are
    ("membarrier: expedited", (324, 283), 0, 0xffffffff, 2, 0xffffffff, errno.EINVAL, "4.14"),
    ("madvise: WIPEONFORK to COLLAPSE", (28, 233), 2, 0xffffffff, 18, 99, errno.EINVAL, "4.14"),
    ("memfd_create: HUGETLB, NOEXEC_SEAL, EXEC", (319, 279), 1, 0xfffffffc, 1, 0xffffffff, errno.EINVAL, "4.14"),
    ("preadv2: NOWAIT", (327, 286), 5, 0xfffffff8, 1, 0xffffffff, errno.EINVAL, "4.14"),
    ("pwritev2: NOWAIT", (328, 287), 5, 0xfffffff8, 1, 0xffffffff, errno.EINVAL, "4.14"),
    ("fcntl: hints", (72, 25), 1, 0xffffffff, 1035, 1038, errno.EINVAL, "4.13"),
    ("prctl: what follows CAP_AMBIENT", (157, 167), 0, 0xffffffff, 48, 4095, errno.EINVAL, "4.15"),
    ("prctl: SET_VMA", (157, 167), 0, 0xffffffff, 0x53564d41, 0x53564d41, errno.EINVAL, "5.17"),
    ("getrandom: INSECURE", (318, 278), 2, 0xfffffffc, 1, 0xffffffff, errno.EINVAL, "5.6"),
    ("futex: LOCK_PI2", (202, 98), 1, 0x7f, 13, 0x7f, errno.ENOSYS, "5.14"),
]
MACHINES = {"x86_64": (0, 0xc000003e), "aarch64": (1, 0xc00000b7)}

LOAD, AND, EQUAL, ABOVE, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
ALLOW, ANSWER = 0x7fff0000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16


def filter_of(machine):
    which, architecture = MACHINES[machine]
    code = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, ANSWER | errno.ENOSYS), (LOAD, 0, 0, NUMBER)]
    for number in (numbers[which] for _, _, *numbers in CALLS):
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ANSWER | errno.ENOSYS)]
    code += [(AT_LEAST, 0, 2, FIRST_LATER), (ABOVE, 1, 0, LAST_LATER), (RETURN, 0, 0, ANSWER | errno.ENOSYS)]
    for _, numbers, argument, bits, first, last, answer, _ in ARGUMENTS:
        code += [(LOAD, 0, 0, NUMBER), (EQUAL, 0, 5, numbers[which]), (LOAD, 0, 0, FIRST_ARGUMENT + 8 * argument),
                 (AND, 0, 0, bits), (AT_LEAST, 0, 2, first), (ABOVE, 1, 0, last), (RETURN, 0, 0, ANSWER | answer)]
    return code + [(RETURN, 0, 0, ALLOW)]


def install(code):
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    program = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(text)))
    set_seccomp, filtering, no_new_privileges = 22, 2, 38
    if libc.prctl(set_seccomp, filtering, ctypes.byref(program), 0, 0) == 0:
        return
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_seccomp, filtering, ctypes.byref(program), 0, 0) != 0:
        sys.exit(f"kernel_4_9.py: no filter: {os.strerror(ctypes.get_errno())}")


def main():
    if sys.argv[1:] == ["--list"]:
        for name, version in [(name, version) for name, version, *_ in CALLS + LATER] + [(a[0], a[-1]) for a in ARGUMENTS]:
            print(f"{version:>6}  {name}")
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    elif platform.machine() not in MACHINES:
        sys.exit(77)
    else:
        install(filter_of(platform.machine()))
        os.execvp(sys.argv[1], sys.argv[1:])


main()
