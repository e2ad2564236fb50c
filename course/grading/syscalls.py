"""A system-call filter for processes that run other people's code (Linux, x86-64 and 64-bit ARM).

Namespaces and limits decide what a process can reach; this takes away the calls that no notebook
needs and that most holes in the kernel were found in. Anything else is allowed: a list of what
PyTorch may call would be wrong with its next version.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

# name → number on (x86-64, 64-bit ARM)
DENIED: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "personality": (135, 92),
    "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41),
    "mount": (165, 40), "umount2": (166, 39), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "fanotify_init": (300, 262),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "syslog": (103, 116),
}  # fmt: skip
CLONE, CLONE3, SOCKET = (56, 220), (435, 435), (41, 198)
AUDIT_ARCH = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW… flag
FAMILIES = (1, 2, 10)  # sockets within the machine, and over IP (to nowhere: there is no network)

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


def supported() -> bool:
    """Whether there is a filter for this processor."""
    return platform.machine() in AUDIT_ARCH


def program() -> list[tuple[int, int, int, int]]:
    """The filter as BPF instructions ``(code, jump if true, jump if false, k)``.

    Raises:
        KeyError: there is none for this processor (see `supported`).
    """
    column, architecture = AUDIT_ARCH[platform.machine()]
    code = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL),
            (_LOAD, 0, 0, _NUMBER)]  # fmt: skip
    if column == 0:  # the x32 calls are the same ones under other numbers
        code += _refuse_if(_AT_LEAST, 0x40000000, errno.EPERM)
    for name, numbers in DENIED.items():
        # Libraries that can do without a memfd ask whether there is one.
        reason = errno.ENOSYS if name.startswith("memfd") else errno.EPERM
        code += _refuse_if(_EQUAL, numbers[column], reason)
    # clone3 hides its flags behind a pointer; the C library falls back on clone.
    code += _refuse_if(_EQUAL, CLONE3[column], errno.ENOSYS)
    flags = _refuse_if(_ANY_BIT, NEW_NAMESPACES, errno.EPERM)
    code += [(_EQUAL, 0, 4, CLONE[column]), (_LOAD, 0, 0, _FIRST_ARGUMENT), *flags,
             (_LOAD, 0, 0, _NUMBER)]  # fmt: skip
    families = len(FAMILIES)
    code += [(_EQUAL, 0, families + 2, SOCKET[column]), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
    code += [(_EQUAL, families - i, 0, family) for i, family in enumerate(FAMILIES)]
    code.append((_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT))
    code.append((_RETURN, 0, 0, _ALLOW))
    return code


def _refuse_if(test: int, value: int, reason: int) -> list[tuple[int, int, int, int]]:
    return [(test, 0, 1, value), (_RETURN, 0, 0, _ERRNO | reason)]


def install() -> None:
    """Put this process and all that it starts under the filter, for good.

    Raises:
        OSError: the kernel refused.
    """
    code = program()
    packed = b"".join(struct.pack("HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    header = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    pointer = ctypes.create_string_buffer(header, len(header))
    if libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), pointer, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"installing the system-call filter: {os.strerror(number)}")
