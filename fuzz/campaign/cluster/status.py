"""`campaign --status DIR`: a line for each shard and the merged totals, from the folder and Slurm's queue."""
from . import slurm, totals
from .plan import INFRASTRUCTURE, USAGE, CampaignError, read_json, read_plan, shard_folder


def state_of(index, plan, task, queue):
    """(state, where or why) of one shard."""
    if task.get("round") != plan["round"]:
        task = {}
    if queue and index in queue:
        state, node, reason = queue[index]
        return state, node or (f"({reason})" if reason not in ("None", "") else "")
    if queue is None:
        return task.get("state", "unknown"), f"on {task['node']}" if task else "(no Slurm here)"
    if not task:
        return "never ran", "(can every node see the folder?)"
    if task["state"] in ("running", "requeued"):
        return "lost", f"(on {task['node']}, no end written)"
    return task["state"], f"on {task['node']}"


def shard_line(folder, index, plan, queue):
    home = shard_folder(folder, index)
    task = read_json(home / "task.json") or {}
    state, where = state_of(index, plan, task, queue)
    if task.get("round") != plan["round"]:
        task = {}
    found = totals.read(home / "archive.sqlite")
    if isinstance(found, dict):
        found = f"{found['executions']} executions, {found['elites']} elites, {found['findings']} findings"
    line = f"shard {index:<4} {state:<10} {where:<16} {task.get('seconds', 0):>7.0f} of {plan['seconds']} s  "
    again = "".join(f", {task[word]} {word}" for word in ("restarts", "failures") if task.get(word))
    return state, line + (found or "no archive yet") + again


def show(folder):
    """Prints it. Returns what `--wait` exits with: 3 if a shard or the merge is missing, 1 if a shard ended with findings."""
    plan = read_plan(folder)
    if plan is None:
        raise CampaignError(USAGE, f"{folder}: no campaign.json, so no campaign was submitted into it")
    queue = slurm.queue(plan["name"]) if slurm.here() else None
    print(f"{plan['name']}: {plan['target']}, round {plan['round']}, {plan['shards']} shards, submitted {plan['submitted']}")
    states = []
    for index in range(plan["shards"]):
        state, line = shard_line(folder, index, plan, queue)
        states.append(state)
        print(line)
    merged = totals.read(folder / "archive.sqlite")
    round_merged = (read_json(folder / "merged.json") or {}).get("round", 0)
    if isinstance(merged, dict):
        old = "" if round_merged == plan["round"] else f" (of round {round_merged}; this round's merge is still to come)"
        print(f"merged{old}: {totals.sentence(merged)}")
    else:
        print(f"merged: {merged or 'not yet'}")
    if round_merged != plan["round"] or not set(states) <= {"done", "findings", "stopped"}:
        return INFRASTRUCTURE
    return 1 if "findings" in states else 0
