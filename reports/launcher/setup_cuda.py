"""./flashproof setup --cuda: nvcc from PyPI wheels into .cuda/, for a machine without a CUDA toolkit. Exit 3 where it cannot be had.

    setup_cuda.py ROOT --cuda
"""

import pathlib
import platform
import re
import shutil
import subprocess
import sys


def say(text):
    print(f"flashproof: {text}", file=sys.stderr)


def fail(text):
    say(text)
    sys.exit(3)


def pip(*arguments, log=subprocess.DEVNULL):
    command = ["python3", "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT).returncode == 0


def main(root, _):
    root = pathlib.Path(root)
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        fail(f"the wheels are for x86-64 Linux, this is {platform.system()} {platform.machine()}")
    if not pip("--version"):
        fail("pip is missing; as root: apt-get install --no-install-recommends -y python3-pip")
    new, log = root / ".cuda.new", root / "build/setup.log"
    log.parent.mkdir(exist_ok=True)
    shutil.rmtree(new, ignore_errors=True)
    say("installing nvcc 13.0 from PyPI into .cuda (100 MB to fetch, 280 MB on disk; log: build/setup.log)")
    with open(log, "w") as file:
        wheels = pathlib.Path(__file__).with_name("cuda-wheels.txt")
        installed = pip("install", "--no-input", "--no-deps", "--require-hashes", "--only-binary", ":all:",
                        "--target", str(new), "-r", str(wheels), log=file)
    if not installed:
        shutil.rmtree(new, ignore_errors=True)
        say("pip failed; the end of build/setup.log:")
        print("\n".join(log.read_text(errors="replace").splitlines()[-15:]), file=sys.stderr)
        sys.exit(3)
    # nvcc and CMake look for the runtime in lib64, the wheels have it in lib.
    (new / "nvidia/cu13/lib64").symlink_to("lib")
    shutil.rmtree(root / ".cuda", ignore_errors=True)
    new.rename(root / ".cuda")
    nvcc = root / ".cuda/nvidia/cu13/bin/nvcc"
    run = subprocess.run([nvcc, "--version"], capture_output=True, text=True)
    if run.returncode:
        fail("the nvcc of .cuda does not run")
    version = re.search(r"release.*, V(\S+)", run.stdout)
    say(f"nvcc {version[1] if version else ''} is in {nvcc.parent}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        fail(str(error))
