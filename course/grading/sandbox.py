"""Start the warm parent under bubblewrap, or say why that cannot be done.

The sandbox sees the interpreter, the installed packages and the ``course`` package, read-only. It
does not see the course folder, a home, the network or any other process. Root starts it as root
(its environment may lie in a home of mode 0700) and its forks change to an unprivileged user, for
the limit on processes does not bind root.
"""

from __future__ import annotations

import functools
import os
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import course

PACKAGE = Path(course.__file__).resolve().parent
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
CONFIGURATION = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
    "/etc/localtime", "/etc/fonts", "/etc/mime.types",
)  # fmt: skip
CAPABILITIES = (
    "CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL", "CAP_SYS_PTRACE",
    "CAP_SYS_RESOURCE",
)  # fmt: skip
INSTALL = (
    "Install it (Debian, Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`), "
    "or grade in the project's container (see the instructor's page)."
)
# What container engines leave in the file system and the environment of what they start.
CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
CONTAINER_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST")
CONTAINER_HINT = (
    " A container keeps what is in it from making namespaces, and hides parts of /proc, unless it "
    "is told not to: start it with `--privileged`, or with `--security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined` (Kubernetes: "
    "`privileged: true` in the pod's securityContext)."
)


class SandboxError(RuntimeError):
    """Submissions cannot be isolated on this machine; the message says what to do."""


@functools.cache
def problem() -> str | None:
    """Why submissions cannot be isolated here, or ``None`` where they can."""
    if sys.platform != "linux":
        return (
            "Isolation needs Linux with bubblewrap, and this is "
            f"{sys.platform}. Grade in the project's container (see the instructor's page)."
        )
    if shutil.which("bwrap") is None:
        return f"bubblewrap (the program bwrap) is not installed. {INSTALL}"
    probe = subprocess.run(
        [*_bwrap(), "/usr/bin/env", "true"], capture_output=True, text=True, check=False
    )
    if probe.returncode == 0:
        return None
    said = probe.stderr.strip() or f"exit status {probe.returncode}"
    hint = ""
    if in_container() or "proc" in said:
        hint = CONTAINER_HINT
    elif "ermi" in said or "namespace" in said:
        hint = (
            " This system does not let ordinary users make user namespaces. Ask the administrator "
            "for `sysctl kernel.unprivileged_userns_clone=1` or `sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0` (or an AppArmor profile for bwrap), "
            "or grade as root or in a container."
        )
    return f"bubblewrap is installed but does not work here: {said}.{hint}"


def in_container() -> bool:
    """Whether this process runs in a container: Docker, Podman, Kubernetes."""
    return any(map(os.path.exists, CONTAINER_FILES)) or any(
        name in os.environ for name in CONTAINER_VARIABLES
    )


def require() -> None:
    """Raise unless submissions can be isolated.

    Raises:
        SandboxError: they cannot; the message says what to do.
    """
    reason = problem()
    if reason is not None:
        raise SandboxError(
            f"Nothing was graded. {reason} To grade without isolation, which lets a submission "
            "read the hidden tests, change grades and reach your files, set "
            "`c.SandboxExecute.isolation = 'none'` or pass --no-isolation: every grade is then "
            "marked so."
        )


def unprivileged_uid() -> int | None:
    """The user that forks change to when we are root, one per grading process."""
    if os.getuid() != 0:
        return None
    offset = os.getpid() % 1_000_000
    candidates = (1_900_000_000 + offset, 50_000 + offset % 9_000)
    with open("/proc/self/uid_map") as table:
        ranges = [tuple(map(int, line.split())) for line in table]
    for uid in candidates:
        if any(start <= uid < start + length for start, _, length in ranges):
            return uid
    raise SandboxError(
        f"Root of this container may not become any of the users {candidates}: map at least "
        "65536 users into it, or grade as an ordinary user."
    )


def readable_paths() -> list[str]:
    """Folders that the interpreter and its packages need, outside the system's own."""
    wanted = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    wanted |= {sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib")}
    if site.ENABLE_USER_SITE:
        wanted.add(site.getusersitepackages())
    wanted.add(str(PACKAGE))
    # The interpreter of a virtual environment is a link, often to a link.
    step = Path(sys.executable)
    while step.is_symlink():
        step = step.parent / step.readlink()
        wanted.add(str(Path(os.path.normpath(step)).parent.parent))
    found: list[str] = []
    for path in sorted(p for p in wanted if os.path.isdir(p)):
        inside = any(Path(path).is_relative_to(p) for p in (*SYSTEM, *found))
        if path != "/" and not inside:
            found.append(path)
    return found


def _bwrap() -> list[str]:
    command = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
               "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--hostname",
               "grading"]  # fmt: skip
    for path in SYSTEM:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            command += ["--ro-bind", path, path]
    for path in CONFIGURATION:
        command += ["--ro-bind-try", path, path]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in readable_paths():
        for above in reversed(Path(path).parents[:-1]):
            if not above.is_relative_to("/usr"):
                command += ["--dir", str(above)]  # 0755: what bubblewrap makes by itself is 0700
        command += ["--ro-bind", path, path]
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    command += ["--cap-drop", "ALL"]
    for capability in CAPABILITIES:
        command += ["--cap-add", capability]
    return [*command, "--"]


def _environment() -> dict[str, str]:
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "HOME": "/tmp/home", "USER": "learner", "LOGNAME": "learner", "TMPDIR": "/tmp",
        "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": os.environ.get("TZ", "UTC"),
        "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline", "MPLCONFIGDIR": "/tmp/home",
        "IPYTHONDIR": "/tmp/home/.ipython", "COURSE_CACHE": "/tmp/home/.cache",
        "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip


_BOOT = """
import socket, sys
sys.path[:] = [p for p in sys.path if p not in ("", {root!r})] + [{root!r}]
from course.grading import warm
warm.main(socket.socket(fileno={fd}), {preload!r}, {uid!r}, {isolated!r})
"""


def start_warm_parent(
    control: socket.socket, preload: Sequence[str], errors: IO[bytes], *, isolated: bool = True
) -> subprocess.Popen[bytes]:
    """Start the warm parent with its end of the control socket; what it says goes to ``errors``.

    Raises:
        SandboxError: isolation is asked for and cannot be had.
    """
    if isolated:
        require()
    elif sys.platform != "linux":
        raise SandboxError(
            f"Grading needs Linux, also without isolation, and this is {sys.platform}. Use the "
            "project's container (see the instructor's page)."
        )
    uid = unprivileged_uid() if isolated else None
    boot = _BOOT.format(root=str(PACKAGE.parent), fd=control.fileno(), preload=list(preload),
                        uid=uid, isolated=isolated)  # fmt: skip
    command = [sys.executable, "-P", "-c", boot]
    return subprocess.Popen(
        [*_bwrap(), *command] if isolated else command,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
        env=_environment(), cwd="/", pass_fds=[control.fileno()],
    )  # fmt: skip
