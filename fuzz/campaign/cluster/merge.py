"""The last job of a campaign: the union of the shards' archives and corpora. Running it again changes nothing.

usage: merge.py DIR

Shards that left no archive are counted, not an error: the others' work must not be lost with them.
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cluster import totals  # noqa: E402
from cluster.plan import INFRASTRUCTURE, USAGE, CampaignError, end_with, read_plan, shard_folders, write_json  # noqa: E402


def main():
    if len(sys.argv) != 2:
        raise CampaignError(USAGE, "usage: merge.py DIR")
    folder = pathlib.Path(sys.argv[1])
    plan = read_plan(folder)
    if plan is None:
        raise CampaignError(USAGE, f"{folder}: no campaign.json")
    shards = [shard for shard in shard_folders(folder) if (shard / "archive.sqlite").is_file()]
    if not shards:
        raise CampaignError(INFRASTRUCTURE, f"{folder}: no shard left an archive; see {folder}/log")
    code = subprocess.call([plan["driver"], "merge", str(folder), *map(str, shards)], stdin=subprocess.DEVNULL)
    if code:
        raise CampaignError(INFRASTRUCTURE, f"{folder}: the merge failed, exit {code}; the shards are as they were")
    merged = totals.read(folder / "archive.sqlite")
    if not isinstance(merged, dict):
        raise CampaignError(INFRASTRUCTURE, merged or f"{folder}: the merge left no archive")
    write_json(folder / "merged.json", {"round": plan["round"], "shards": len(shards)})
    missing = plan["shards"] - len(shards)
    print(f"merged {len(shards)} shards{f' ({missing} left no archive)' if missing > 0 else ''}: {totals.sentence(merged)}", flush=True)
    return 0


if __name__ == "__main__":
    end_with(main)
