"""A small process that starts one command and reports its seconds, processor seconds and memory.

Run by its path, without this package: what it imports would count as memory of the command, since the
system begins a new process with the memory of the one that started it.
"""

import os
import signal
import sys
import time

# The unit of ru_maxrss: kilobytes, but bytes on macOS.
UNIT = 1 if sys.platform == "darwin" else 1024


def main() -> None:
    """``launcher.py REPORT COMMAND...``: REPORT is an open file descriptor."""
    report, argv = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(report, False)
    begun = time.perf_counter()
    try:
        pid = os.posix_spawnp(argv[0], argv, os.environ)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        sys.exit(127)  # as a shell says it
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - begun
    cpu = usage.ru_utime + usage.ru_stime
    os.write(report, f"{wall!r} {cpu!r} {usage.ru_maxrss * UNIT}".encode())
    code = os.waitstatus_to_exitcode(status)
    if code < 0:  # ended as the command was
        if -code not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
