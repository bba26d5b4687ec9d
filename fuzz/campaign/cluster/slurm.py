"""What is asked of Slurm: sbatch, squeue, scontrol, scancel. Nothing else here knows their output."""
import shutil
import subprocess

from .plan import INFRASTRUCTURE, CampaignError


def here():
    return shutil.which("sbatch") is not None


def call(*command, text=None):
    """Its stdout; a failure is one line that names the program."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=120, check=False)
    except FileNotFoundError:
        raise CampaignError(INFRASTRUCTURE, f"no {command[0]} on this machine") from None
    except subprocess.TimeoutExpired:
        raise CampaignError(INFRASTRUCTURE, f"{command[0]} did not answer in 120 s") from None
    if done.returncode:
        why = " ".join(done.stderr.split()) or f"exit {done.returncode}"
        raise CampaignError(INFRASTRUCTURE, f"{command[0]} failed: {why}")
    return done.stdout


def queue(name):
    """The campaign's jobs that wait or run: {shard number or "merge": (state, node, reason)}."""
    jobs = {}
    for line in call("squeue", "-h", "-r", f"--name={name},{name}-merge", "-o", "%j|%K|%T|%N|%r").splitlines():
        job, index, state, node, reason = line.strip().split("|", 4)
        jobs["merge" if job.endswith("-merge") else int(index)] = (state.lower(), node, reason)
    return jobs


def submit(options, script):
    """The job's number."""
    return call("sbatch", "--parsable", *options, text=script).strip().split(";")[0]


def cancel(name):
    call("scancel", f"--name={name}")
    call("scancel", f"--name={name}-merge")


def requeue(job):
    call("scontrol", "requeue", job)
