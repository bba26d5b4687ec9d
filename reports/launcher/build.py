"""Configures a preset where that is needed, and builds a target of it. ./flashproof calls it while no other call builds.

    build.py ROOT PRESET TESTS ARCHITECTURES TARGET

TESTS is ON, FAULTS for the seeded faults alone, or OFF; ARCHITECTURES are of the CUDA build or empty. What CMake and ninja say goes to build/PRESET/configure.log and
build.log; stderr has how far the build is and, where something fails, the end of its log. Exit 3 then.
"""

import os
import pathlib
import re
import select
import subprocess
import sys
import time


def tell(text):
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:  # nobody reads it
        pass


def say(text):
    tell(f"flashproof: {text}\n")


def run(command, **options):
    """With the descriptors of this process, the lock among them: it ends with the last process of the build."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, close_fds=False, **options)


def lines_of(path):
    return os.fsdecode(path.read_bytes()).split("\n") if path.exists() else []  # a path of any bytes is one of the command line's


def to_configure(root, build, tests, architectures):
    """The settings to configure with, none where nothing has changed; a moved tree has the old place in its cache. What was built once stays."""
    cache, done, presets = [], build / ".configured", root / "CMakePresets.json"
    if (build / "build.ninja").exists():
        cache = lines_of(build / "CMakeCache.txt")
    wanted = {"FLASHPROOF_TESTS": tests == "ON"}
    if not build.name.startswith("fuzz"):  # whose presets say it
        wanted["FLASHPROOF_FAULTS"] = tests != "OFF"
    settings = [f"{name}:BOOL=" + ("ON" if on or f"{name}:BOOL=ON" in cache else "OFF") for name, on in wanted.items()]
    if architectures:
        settings.append(f"CMAKE_CUDA_ARCHITECTURES:STRING={architectures}")
    same = all(line in cache for line in [f"CMAKE_HOME_DIRECTORY:INTERNAL={root}", *settings])
    if same and done.exists() and done.stat().st_mtime > presets.stat().st_mtime:
        return []
    return [f"-D{setting}" for setting in settings]


def configure(root, build, settings, architectures):
    say(f"configuring (preset {build.name}" + (f", GPU architecture {architectures})" if architectures else ")"))
    log = build / "configure.log"
    with open(log, "w") as file:
        failed = run(["cmake", "--fresh", "--preset", build.name, *settings], cwd=root, stdout=file).wait()
    if failed:
        say(f"CMake failed; the end of build/{build.name}/configure.log:")
        tell("".join(line + "\n" for line in lines_of(log)[-20:]))
        sys.exit(3)
    (build / ".configured").touch()


def jobs():
    """As many as there are cores and memory for: a compiler takes 1.5 GB."""
    cores = int(subprocess.run(["nproc"], check=True, capture_output=True).stdout)  # which OMP_NUM_THREADS limits
    available = [int(line.split()[1]) for line in lines_of(pathlib.Path("/proc/meminfo")) if line.startswith("MemAvailable:")]
    return max(1, min([cores, *(kb // 1500000 for kb in available)]))


def show_progress(source, log, preset, seconds):
    """Of ninja's output, which goes to the log: a line each tenth of the way and `seconds`, on a terminal one that is rewritten."""
    terminal = sys.stderr is not None and sys.stderr.isatty() and (os.environ.get("TERM") or "dumb") != "dumb"
    steps, start, end = (1000, "\r\033[K", "") if terminal else (10, "", "\n")
    at, shown, rest = None, -1, b""
    began = last = time.monotonic()
    while True:
        if select.select([source], [], [], seconds)[0]:
            read = os.read(source, 65536)
            if not read:
                break
            log.write(read)
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                step = re.match(rb"\[(\d+)/(\d+)\]", line)
                if step and int(step[2]) > 2:
                    at = int(step[1]), int(step[2])
        if at is None:
            continue
        now, clock = steps * at[0] // at[1], time.monotonic()
        if now != shown or clock - last >= seconds:
            shown, last = now, clock
            tell(f"{start}flashproof: building (preset {preset}): step {at[0]} of {at[1]}, {clock - began:.0f} s{end}")
    tell(start)


def causes(lines):
    """From the first failure on: without the compiler's command line, which stands below FAILED, and the steps that went well."""
    failures = ("FAILED: ", "CMake Error", "ninja: error")
    first = next((i for i, line in enumerate(lines) if line.startswith(failures)), len(lines))
    below = [line for before, line in zip(["", *lines[first:]], lines[first:]) if not before.startswith("FAILED: ")]
    return [line[:300] for line in below if not line.startswith("[")][:40]


def main(root, preset, tests, architectures, target):
    root = pathlib.Path(root)
    build = root / "build" / preset
    settings = to_configure(root, build, tests, architectures)
    if settings:
        configure(root, build, settings, architectures)
    command = ["cmake", "--build", str(build), "--parallel", str(jobs()), "--target", target]
    with open(build / "build.log", "wb") as log:
        ninja = run(command, stdout=subprocess.PIPE, env={**os.environ, "NINJA_STATUS": "[%f/%t] "})
        try:
            show_progress(ninja.stdout.fileno(), log, preset, 30)
        except OSError:  # the disk is full
            ninja.terminate()
            ninja.wait()
            raise
    if ninja.wait():
        say(f"the build failed; from build/{preset}/build.log:")
        tell("".join(line + "\n" for line in causes(lines_of(build / "build.log"))))
        sys.exit(3)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        say(str(error))
        sys.exit(3)
