"""Processes as people deploy them: each serves whole turns, with a query and a search, after its parent has done so."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support import deployed

pytestmark = [pytest.mark.newest, pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")]
ROOT = Path(deployed.__file__).parents[2]
APP = f"""
import os, sys, threading, time
sys.path.insert(0, {str(ROOT)!r})
from tests.support.deployed import ANSWER, serve, turn
def check(): assert turn() == ANSWER
"""
FORK = """
from adk_context_pack.tables.columns import Column
Slow = type("Slow", (), {"__hash__": lambda _: time.sleep(3) or 1})
check(), threading.Thread(target=check).start()
threading.Thread(target=lambda: Column("n", [Slow()], frozenset({Slow})).counts).start()
for _ in range(4):
    child = os.fork()
    if not child:
        try: check()
        except BaseException: os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
POOLS = """
import multiprocessing
if __name__ == "__main__":
    check()
    for method in ("fork", "forkserver", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.apply(turn) == ANSWER
"""
THREAD = """
found = []
thread = threading.Thread(target=lambda: found.append(turn()))
thread.start(), thread.join()
assert found == [ANSWER]
"""
SMALL = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\ncheck()\n"
SCRIPTS = {"fork": FORK, "pools": POOLS, "a thread without a main guard": THREAD, "an address space of 1 GB": SMALL}
ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "ignore"}
BOUND = {"env": ENVIRONMENT, "timeout": 120}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_answers(name, tmp_path):
    """Forked while a turn runs, in pools of each kind, off the main thread, and with little memory."""
    (script := tmp_path / "deployed_app.py").write_text(APP + SCRIPTS[name])
    subprocess.run([sys.executable, script], check=True, **BOUND)  # noqa: S603 - the text above


READ_ONLY = """
mount --bind / "$0" && mount -o remount,ro,bind "$0" && mount --bind /proc "$0/proc" && mount -t tmpfs none "$0/dev" &&
mknod "$0/dev/null" c 1 3 && mknod "$0/dev/urandom" c 1 9 || exit 77
chroot "$0" sh -c 'cd "$1" && ! touch x 2>/dev/null && ! touch /tmp/x 2>/dev/null && "$2" "$3"' . "$1" "$2" "$3"
"""


def test_a_container_whose_root_is_read_only(tmp_path):
    """Nothing is written to a disk, not even to a folder for temporary files."""
    (script := tmp_path / "deployed_app.py").write_text(APP + "check()\n")
    (root := tmp_path / "root").mkdir()
    command = ["unshare", "-m", "sh", "-c", READ_ONLY, root, ROOT, sys.executable, script]
    try:
        code = subprocess.run(command, **BOUND, check=False).returncode  # noqa: S603 - the text above
    except FileNotFoundError:
        code = 77
    if code in {1, 77}:
        pytest.skip("only root may mount here")
    assert code == 0


SERVERS = {
    "gunicorn": ["gunicorn", "--preload", "-w", "2", "-b", "127.0.0.1:{port}", "deployed_app:serve"],
    "uvicorn": ["uvicorn", "--interface", "wsgi", "--reload", "--port", "{port}", "deployed_app:serve"],
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_answers(name, tmp_path):
    """Gunicorn's workers answer after a turn in the parent, uvicorn's before and after a reload. None outlives it."""
    pytest.importorskip(name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (script := tmp_path / "deployed_app.py").write_text(APP + "check()\n" * (name == "gunicorn"))
    command = [sys.executable, "-m", *(each.replace("{port}", port) for each in SERVERS[name])]
    server = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, start_new_session=True)  # noqa: S603 - fixed
    try:
        before = pids_of(port, 2 if name == "gunicorn" else 1)
        if name == "uvicorn":
            script.write_text(script.read_text() + "# changed\n")
            assert pids_of(port, 1, known=before)
    finally:
        os.kill(server.pid, signal.SIGTERM)
        server.wait(timeout=60)
    left = 600
    while any(is_of(process, server.pid) for process in Path("/proc").glob("[0-9]*")) and (left := left - 1):
        time.sleep(0.1)
    assert left


def pids_of(port: str, most: int, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Returns the processes that answered, once there are as many as are wanted beside those that are known."""
    found = set()
    for _ in range(600):
        try:
            with urlopen(f"http://127.0.0.1:{port}", timeout=60) as reply:
                pid, answer = reply.read().decode().split(" ", 1)
        except OSError:
            time.sleep(0.1)
            continue
        assert answer == deployed.ANSWER
        found |= {pid} - known
        if len(found) >= most:
            return frozenset(found)
    raise AssertionError(f"{len(found)} of {most} processes answered")


def is_of(process: Path, session: int) -> bool:
    """Returns whether a process is of a session of processes."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3]) == session
    except OSError:
        return False


def test_celery_answers(tmp_path):
    """A task of a preforking worker answers after a turn in its parent."""
    pytest.importorskip("celery")
    (tmp_path / "deployed_app.py").write_text(APP + CELERY)
    command = [sys.executable, "-m", "celery", "-A", "deployed_app", "worker", "-P", "prefork", "-c", "1"]
    worker = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT)  # noqa: S603 - fixed
    try:
        asked = [sys.executable, "-c", "from deployed_app import answer; print(answer.delay().get(timeout=60))"]
        done = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True, **BOUND)  # noqa: S603
        assert done.stdout.strip().endswith(deployed.ANSWER)
    finally:
        worker.terminate()
        worker.wait(timeout=60)


CELERY = """
from celery import Celery
check()
app = Celery(broker="filesystem://", backend="file://" + os.getcwd())
folder = dict.fromkeys(("data_folder_in", "data_folder_out", "control_folder"), os.getcwd())
app.conf.broker_transport_options = folder
@app.task
def answer(): return turn()
"""
