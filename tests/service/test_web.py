"""Test that a signal ends the server at any time."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytest.importorskip("uvicorn", reason="needs the study or gen extra")

ENDING = """
import os, signal, sys, threading, weakref

import uvicorn

from spotball_core.service.web import listening, serve_until_ended

class Thing: pass

number = int(sys.argv[1])

def at_once():
    signal.raise_signal(number)

def in_a_callback():
    thing = Thing()
    kept = weakref.ref(thing, lambda _: signal.raise_signal(number))
    del thing

def soon():
    threading.Timer(0.5, lambda: os.kill(os.getpid(), number)).start()

async def app(scope, receive, send): ...

before = signal.getsignal(number)
with listening("127.0.0.1", 0) as at:
    serve_until_ended(uvicorn.Config(app, lifespan="off", log_level="warning"), at, globals()[sys.argv[2]])
assert signal.getsignal(number) is before
print("ended")
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["at_once", "in_a_callback", "soon"])
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_serve_until_ended_ends_on_a_signal_at_any_time(ending: signal.Signals, when: str) -> None:
    line = [sys.executable, "-c", ENDING, str(int(ending)), when]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("ended\n", "", 0)
