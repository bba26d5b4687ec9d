"""What pip builds with: scikit-build-core, whose wheel auditwheel then makes whole. The libraries that Debian has no position-independent
archive of go into it, and its name says from which glibc on it runs."""

import os
import pathlib
import subprocess
import sys
import tempfile

from scikit_build_core import build as _core
from scikit_build_core.build import *  # noqa: F403


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory(dir=wheel_directory) as folder:
        plain = os.path.join(folder, _core.build_wheel(folder, config_settings, metadata_directory))
        whole = pathlib.Path(folder, "whole")
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", whole, plain], check=True)
        (wheel,) = whole.iterdir()
        wheel.rename(pathlib.Path(wheel_directory, wheel.name))
        return wheel.name
