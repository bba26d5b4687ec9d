"""A real Slurm of two nodes on the loopback interface, for tests: Debian's slurm-wlm and munge, no system folder, no service.

    with Cluster(folder) as cluster: ...      SLURM_CONF is set in cluster.environment

Everything lies in `folder` (short: munge's socket name is limited to 107 bytes). Leaving the block stops every daemon; if
the test itself is killed, a guard (this file as a program) notices that its standard input has ended and does the same.
"""
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
NODES = ("n0", "n1")

CONFIGURATION = """\
ClusterName=flashproof
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
SlurmdTimeout=10
KillWait=5
SlurmdParameters=config_overrides
MailProg=/bin/true
GresTypes=gpu
NodeName=n0 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 CoresPerSocket=2 RealMemory=1000 Gres=gpu:2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 CoresPerSocket=2 RealMemory=1000 Gres=gpu:2
PartitionName=ci Nodes=n[0-1] Default=YES MaxTime=INFINITE State=UP
"""
# Two of them need two files; nothing opens them.
GRES = "".join(f"NodeName={node} Name=gpu File=/dev/{device}\n" for node in NODES for device in ("zero", "null"))


def installed():
    return all(shutil.which(program, path=search_path()) for program in PROGRAMS)


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"  # where Debian keeps the daemons


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def children(pid):
    """All processes under this one, itself first."""
    found = [pid]
    for parent in found:
        try:
            tasks = pathlib.Path(f"/proc/{parent}/task").iterdir()
            for task in tasks:
                found += [int(child) for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def step_daemon(process):
    """The parent of a job's script: nothing in it but its name says what it is."""
    parent = pathlib.Path("/proc") / (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
    return [int(parent.name)] if (parent / "comm").read_text().strip() == "slurmstepd" else []


class Cluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"), PATH=search_path())
        self.pid_files = [self.folder / name for name in ("munged.pid", "slurmctld.pid", *(f"slurmd.{node}.pid" for node in NODES))]

    def __enter__(self):
        self.guard = subprocess.Popen([sys.executable, "-B", __file__, str(self.folder)], stdin=subprocess.PIPE, start_new_session=True)
        try:
            for attempt in range(3):  # a port may be taken between looking and listening
                if self.start():
                    return self
                self.stop()
            raise RuntimeError(f"no cluster after 3 attempts: {self.logs()}")
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.stop()
        self.guard.stdin.close()
        self.guard.wait()

    def start(self):
        folder, host = self.folder, socket.gethostname().split(".")[0]
        for name in ("state", *(f"spool.{node}" for node in NODES)):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).mkdir(mode=0o755)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, host=host, user=user, ports=free_ports(3)))
        (folder / "gres.conf").write_text(GRES)
        key = folder / "munge.key"
        key.unlink(missing_ok=True)
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        self.daemon("munged", "--force", f"--socket={folder}/munge.sock", f"--key-file={key}", f"--pid-file={folder}/munged.pid",
                    f"--seed-file={folder}/munge.seed", f"--log-file={folder}/munged.log")
        self.daemon("slurmctld", "-c")
        for node in NODES:
            self.start_node(node)
        return self.poll(lambda: self.call("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(len(NODES)), 15)

    def start_node(self, node):
        self.daemon("slurmd", "-N", node)

    def daemon(self, *command):
        subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=30, check=True)

    def call(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout if done.returncode == 0 else ""

    def poll(self, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.2)
        return False

    def kill_node(self, node):
        """As a power cut would: the daemon, its step daemons, the scripts and what they started, kill -9. Returns how many there were."""
        pids = children(int((self.folder / f"slurmd.{node}.pid").read_text()))
        for process in pathlib.Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                environment = (process / "environ").read_bytes().decode(errors="replace").split("\0")
                if {f"SLURM_CONF={self.folder}/slurm.conf", f"SLURMD_NODENAME={node}"} <= set(environment):
                    pids += [int(process.name), *step_daemon(process)]
            except OSError:  # it has ended meanwhile
                continue
        pids = list(dict.fromkeys(pids))
        for pid in pids:  # all at the same moment: a step daemon must not be left to report that its script ended
            kill(pid, signal.SIGSTOP)
        return sum(1 for pid in pids if kill(pid, signal.SIGKILL))

    def logs(self):
        text = []
        for file in sorted(self.folder.glob("*.log")):
            lines = file.read_text(errors="replace").splitlines()[-20:]
            text.append(f"--- {file.name}\n" + "\n".join(lines))
        return "\n".join(text)

    def stop(self):
        """Ends every job and daemon; what does not end in time is killed."""
        if (self.folder / "slurmctld.pid").exists():
            try:
                self.call("scancel", "--quiet", "--me")
                self.poll(lambda: not self.call("squeue", "-h").strip(), 15)
            except subprocess.TimeoutExpired:
                pass
        for files in (self.pid_files[1:], self.pid_files[:1]):  # munged last: the others need it to the end
            group = [pid for pid in map(running, files) if pid]
            for pid in group:
                kill(pid, signal.SIGTERM)
            if not self.poll(lambda group=group: not any(kill(pid, 0) for pid in group), 20):
                for pid in group:
                    kill(pid, signal.SIGKILL)


def running(pid_file):
    """The daemon that wrote this file, None if it has ended: its number may be another process's by now."""
    try:
        pid = int(pid_file.read_text())
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except (OSError, ValueError):
        return None
    return pid if name in PROGRAMS else None


def kill(pid, number):
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


if __name__ == "__main__":
    sys.stdin.buffer.read()
    Cluster(sys.argv[1]).stop()
