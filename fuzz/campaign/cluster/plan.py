"""A campaign's folder: the plan, and what each shard's task has written about itself.

    DIR/campaign.json           the plan, written before anything is submitted (fuzz.json is the driver's)
    DIR/shard-I/                the folder of shard I: its archive, corpus and artifacts, and task.json
    DIR/log/                    what the jobs print
    DIR/archive.sqlite          the merged archive, merged.json: of which round

Every file is replaced whole: a reader sees the old text or the new one.
"""
import json
import os
import pathlib
import stat
import sys
import tempfile

VERSION = 1
LARGEST = 1 << 20  # bytes of a plan, or of what a task has written
USAGE, INFRASTRUCTURE, CONTEXT_LOST = 2, 3, 75  # exit codes; 75: the GPU's context is lost, start again


def complain(error):
    """One line, without what steers a terminal: paths may hold anything."""
    print("flashproof:", "".join(c if c.isprintable() else "?" for c in str(error)), file=sys.stderr)


class CampaignError(Exception):
    """One line for the user, and the exit code that goes with it."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def end_with(main):
    """Runs main(); an error becomes one line on stderr and its exit code."""
    try:
        sys.exit(main())
    except CampaignError as error:
        complain(error)
        sys.exit(error.code)
    except OSError as error:
        complain(error)
        sys.exit(INFRASTRUCTURE)


def write_json(path, value):
    """Replaces the file in one step; after a crash or a full disk the old text stands."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_file(path):
    """As read_file() of C++ (reference/system/read_file.h): a pipe is not waited for, a device not read for ever."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
            raise CampaignError(USAGE, f"{path}: must be a regular file of at most {LARGEST} bytes")
        return file.read(LARGEST)


def read_json(path):
    """The object in the file, None if there is no file; anything else is an error of the user's."""
    try:
        value = json.loads(read_file(path).decode("utf-8"))
    except FileNotFoundError:
        return None
    except (IsADirectoryError, NotADirectoryError):
        raise CampaignError(USAGE, f"{path}: must be a regular file") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CampaignError(USAGE, f"{path}: not a JSON object; was it edited?")
    return value


KEYS = {"campaign": int, "name": str, "round": int, "target": str, "shards": int, "seconds": int, "cores": int,
        "seed": int, "requeues": int, "exec": str, "flashproof": str, "driver": str}


def read_plan(folder):
    """The plan of a folder, None if it has none."""
    path = folder / "campaign.json"
    plan = read_json(path)
    if plan is None:
        return None
    bad = [key for key, kind in KEYS.items() if not isinstance(plan.get(key), kind)]
    if bad or plan["campaign"] != VERSION or not 1 <= plan["shards"] <= 10000:
        raise CampaignError(USAGE, f"{path}: not the plan of a campaign (version {VERSION}): {', '.join(bad) or 'values'}")
    return plan


def shard_folder(folder, index):
    return folder / f"shard-{index}"


def shard_folders(folder):
    """Those there are, by number: an earlier round may have had more shards than the plan."""
    found = []
    for path in folder.glob("shard-*"):
        number = path.name[len("shard-"):]
        if path.is_dir() and number.isascii() and number.isdigit():
            found.append((int(number), path))
    return [path for _, path in sorted(found)]


def absolute(text):
    return pathlib.Path(os.path.abspath(text))
