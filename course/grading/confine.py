"""What a forked process gives up before it runs anybody's code (Linux only).

The warm parent lives inside bubblewrap: no course folder, no home, no network. Its forks share
that view, so each one gets namespaces, a scratch directory and limits of its own here; two
submissions never meet. Everything is done through libc: there is no time to start a program.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 1 << 18
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
LAST_CAPABILITY = 63
SCRATCH = ("/tmp", "/dev/shm")

_libc = ctypes.CDLL(None, use_errno=True)


class ConfineError(OSError):
    """The kernel refused a step of the isolation."""


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise ConfineError(number, f"{what}: {os.strerror(number)}")


def _prctl(*args: int) -> int:
    return _libc.prctl(*[ctypes.c_ulong(a) for a in (*args, 0, 0, 0, 0)[:5]])


def _mount(kind: str, target: str, flags: int, options: str = "") -> None:
    result = _libc.mount(kind.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags),
                         options.encode() or None)  # fmt: skip
    _check(result, f"mounting {kind} on {target}")


def new_namespaces() -> None:
    """Processes, mounts and System V memory apart from everybody else's.

    The calling process keeps its process namespace; the next process it forks is the first of
    the new one.

    Raises:
        ConfineError: the kernel refused.
    """
    _check(_libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC), "making namespaces")
    result = _libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    _check(result, "making the mounts private")


def fresh_filesystems(scratch_mb: int) -> None:
    """An empty ``/tmp`` and ``/dev/shm`` of limited size, and a ``/proc`` that shows only us.

    Where the course or its environment lies below one of them (a clone in ``/tmp``), it is shown
    there again, read-only as it was: what is imported later has to be found.

    Raises:
        ConfineError: the kernel refused.
    """
    options = f"size={scratch_mb}m,mode=1777"
    shown = [(path, os.open(path, os.O_PATH)) for path in _mounted_below(SCRATCH)]
    for folder in SCRATCH:
        _mount("tmpfs", folder, MS_NOSUID | MS_NODEV, options)
    for path, descriptor in shown:
        _show_again(path, descriptor)
    _mount("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def _mounted_below(folders: tuple[str, ...]) -> list[str]:
    """Where something is mounted below these folders, as the sandbox's parent sees it."""
    with open("/proc/self/mountinfo") as table:
        places = [line.split()[4] for line in table]
    # The kernel writes a space, a tab, a line's end and a backslash as \ooo (octal).
    places = [re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), p) for p in places]
    return [p for p in places if p.startswith(tuple(f"{folder}/" for folder in folders))]


def _show_again(path: str, descriptor: int) -> None:
    above = "/"
    for part in path.split("/")[1:]:
        above = os.path.join(above, part)
        if not os.path.isdir(above):
            os.mkdir(above)
            os.chmod(above, 0o755)  # whatever the umask: the unprivileged user has to pass
    source = f"/proc/self/fd/{descriptor}".encode()
    result = _libc.mount(source, path.encode(), None, ctypes.c_ulong(MS_BIND | MS_REC), None)
    os.close(descriptor)
    _check(result, f"showing {path} again")


def die_with_parent() -> None:
    """Be killed when the parent goes."""
    _check(_prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL)), "asking to die with the parent")


def become(uid: int | None) -> None:
    """Change to an unprivileged user (``None``: stay who we are).

    Raises:
        OSError: this process may not change its user.
    """
    if uid is None:
        return
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_bounding_set() -> None:
    """No program started from here on can have a capability. Takes the right to do so: call it
    before `become`."""
    for capability in range(LAST_CAPABILITY + 1):
        _prctl(PR_CAPBSET_DROP, capability)  # fails for numbers past the kernel's last one


def drop_privileges() -> None:
    """No capabilities, and no way to gain any.

    Raises:
        ConfineError: a capability could not be dropped.
    """
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    _check(_prctl(PR_SET_NO_NEW_PRIVS, 1), "giving up new privileges")
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "dropping the capabilities")
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Cap") and int(line.split()[1], 16):
                raise ConfineError(f"capabilities are left: {line.strip()}")


def limit_resources(
    *, memory_mb: int, processes: int, file_mb: int, cpu_seconds: int, open_files: int = 256
) -> None:
    """Hard limits of this process and those it starts.

    ``memory_mb`` is on top of what this process has mapped already, which for PyTorch with CUDA
    can be many gigabytes of address space.
    """
    with open("/proc/self/statm") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    wanted = {
        resource.RLIMIT_AS: mapped + (memory_mb << 20),
        resource.RLIMIT_NPROC: processes,
        resource.RLIMIT_FSIZE: file_mb << 20,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_NOFILE: open_files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 1 << 16,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for which, value in wanted.items():
        resource.setrlimit(which, (value, value))


def close_all_but(keep: set[int]) -> None:
    """Close every descriptor that is not in ``keep``."""
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number not in keep:
            try:
                os.close(number)
            except OSError:
                continue  # the listing's own descriptor


def allow_own_proc() -> None:
    """Make ``/proc/self`` readable again after a change of user."""
    _check(_prctl(PR_SET_DUMPABLE, 1), "making the process dumpable")
