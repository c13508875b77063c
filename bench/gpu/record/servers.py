"""Starts server.py under tools and asks it."""
import glob
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))


def nsys():
    found = sorted(glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys") + glob.glob("/opt/nvidia/nsight-systems/*/bin/nsys"))
    return found[-1] if found else "nsys"


class Server:
    """server.py under a command line that runs it: ["lacuna", "record", …, "--"]."""

    def __init__(self, name, before, log, env=None):
        self.name, self.path = name, tempfile.mktemp(prefix="bench-", suffix=".sock")
        self.log = open(log, "w")
        self.process = subprocess.Popen([*before, sys.executable, os.path.join(here, "server.py"), self.path],
                                        stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})}, start_new_session=True)
        self.client = None

    def connect(self, limit=90):
        end = time.time() + limit
        while time.time() < end and self.process.poll() is None:
            try:
                s = socket.socket(socket.AF_UNIX)
                s.connect(self.path)
                self.client = s.makefile("rwb")
                self.socket = s
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"{self.name}: its server did not start; see {self.log.name}")

    def tell(self, line):
        try:
            self.client.write(line.encode() + b"\n")
            self.client.flush()
        except OSError:
            pass  # said by hear

    def hear(self):
        try:
            return json.loads(self.client.readline() or b'{"error": "the server ended"}')
        except OSError as e:
            return {"error": str(e)}

    def ask(self, **what):
        return self.ask_line(json.dumps(what))

    def ask_line(self, line):
        self.tell(line)
        return self.hear()

    def end(self, limit=60):
        self.client.close()
        self.socket.close()
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        return self.process.returncode
