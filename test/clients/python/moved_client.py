"""Programs that were written for LiteLLM, with another host and nothing else."""

import contextlib
import io
import re
import subprocess

from cases import case, run, url
from moved_programs import curl, python

programs = {program.title: program for program in [*python, *curl]}
assert len(programs) == len(python) + len(curl) >= 50


def printed_by_python(text):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(text, "program", "exec"), {"__name__": "__main__"})
    return output.getvalue()


def printed_by_shell(text):
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, timeout=20, check=True).stdout


@case(*programs)
def program(title):
    _, text, prints = programs[title]
    moved = text.replace("http://0.0.0.0:4000", url)
    assert moved != text and "0.0.0.0" not in moved
    output = printed_by_shell(moved) if programs[title] in curl else printed_by_python(moved)
    assert re.search(prints, output.strip()), f"printed {output!r}"


run()
