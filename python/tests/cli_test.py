import functools
import pathlib
import shlex
import subprocess
import sys
import sysconfig

import kernels
import pytest
from block_text import replay_line, unfolded

import flashproof

HERE = pathlib.Path(__file__).parent


def run(*words, folder=HERE):
    return subprocess.run([sys.executable, "-m", "flashproof", *words], cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_check_and_its_replay_line(tmp_path):
    small = ("--family", "normal", "--law", "within_bound", "--cases", "4", "--measured", "4")  # one case may be a single zero
    assert run("kernels:attention", *small).returncode == 0
    done = run("kernels:wrong_shape", *small, "--witnesses", str(tmp_path), "--junit", str(tmp_path / "j.xml"), "--json", str(tmp_path / "r.json"))
    assert done.returncode == 1 and (tmp_path / "j.xml").is_file() and (tmp_path / "r.json").is_file()
    again = replayed(done, HERE)
    assert again.returncode == 1 and "wrong_shape" in again.stdout, again.stdout + again.stderr


def test_the_console_script_is_the_module(tmp_path):
    script = pathlib.Path(sysconfig.get_path("scripts")) / "flashproof"
    if not script.is_file():
        pytest.skip("not installed by pip: no console script")
    (tmp_path / "neighbour.py").write_text("NAME = 'f'\n")
    (tmp_path / "mine.py").write_text("import neighbour\n")
    for where in ("mine.py:no_such", "mine:no_such"):
        done = subprocess.run([script, where], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (2, run(where, folder=tmp_path).stderr) and "has no" in done.stderr, done.stderr


def replayed(done, folder):
    line = shlex.split(replay_line(done.stdout).replace("\\\n", ""))
    return subprocess.run([sys.executable, *line[1:]], cwd=folder, capture_output=True, text=True, timeout=120)


def test_what_decides_nothing_is_no_pass_and_no_finding():
    for law in ("within_bound", "rerun_is_bitwise"):
        copies = run("kernels:attention", "--replay", "attention:sentinels:0:format=f32", "--law", law)
        assert copies.returncode == 4 and "no case was judged right or wrong" in unfolded(copies.stdout), (law, copies.stdout)
    alone = run("kernels:nothing", "--family", "normal", "--law", "rerun_is_bitwise", "--cases", "4", "--measured", "0")
    assert alone.returncode == 4 and alone.stdout.startswith("UNDECIDED ") and " was not asked, and says fail(class_mismatch)" in unfolded(alone.stdout), alone.stdout


def test_a_law_that_says_nothing_of_the_kernel_is_no_pass_and_no_finding():
    done = run("kernels:softmax", "--problem", "softmax", "--returns", "o", "--law", "merge_commutes", "--measured", "0")
    assert done.returncode == 4 and "no law that was asked says anything about this kernel" in unfolded(done.stdout), done.stdout


def test_gradients_of_nothing_decided_have_the_same_exit_code(tmp_path):
    problem = ("--problem", "attention_backward")
    backward = (*problem, "--cases", "0", "--measured", "3")
    honest = run("gradient_kernels:right", *backward, "--family", "normal")
    assert honest.returncode == 0 and honest.stdout.startswith("PASS ") and "\ndecided " in honest.stdout, honest.stdout
    alone = run("gradient_kernels:nothing", *problem, "--family", "normal", "--law", "rerun_is_bitwise", "--cases", "4", "--measured", "0")
    assert alone.returncode == 4 and "undecided rerun_is_bitwise: class_matches_semantics was not asked, and says fail(class_mismatch)" in unfolded(alone.stdout), alone.stdout
    open_family = run("gradient_kernels:right", *backward, "--family", "underflow_beside_huge", "--cases", "4", "--junit", str(tmp_path / "j.xml"))
    assert open_family.returncode == 4 and open_family.stdout.startswith("UNDECIDED ") and " was decided: " in unfolded(open_family.stdout), open_family.stdout
    assert 'type="undecided"' in (tmp_path / "j.xml").read_text()


def test_cases_that_only_together_contradict_a_declaration_replay_together():
    small = ("--problem", "softmax", "--returns", "o")
    # A law that says nothing of a softmax leaves the measured cases their conclusion.
    for asked in (("--law", "within_bound", "--measured", "0"), ("--cases", "0", "--measured", "2"), ("--law", "merge_commutes", "--measured", "2")):
        done = run("kernels:two_minds", *small, *asked)
        said = "no single one of the declarations that an open one stands for explains every case"
        assert done.returncode == 1 and unfolded(done.stdout).count(said) == 1, done.stdout
        again = replayed(done, HERE)
        assert again.returncode == 1 and said in unfolded(again.stdout), again.stdout + again.stderr
        words = shlex.split(replay_line(done.stdout).replace("\\\n", ""))
        cases = [case for option, case in zip(words, words[1:]) if option == "--replay"]
        assert len(cases) > 1
        for case in cases:  # none of them fails alone
            assert run("kernels:two_minds", *small, "--law", "within_bound", "--replay", case).returncode == 0, case
    result = flashproof.check(kernels.two_minds, problem="softmax", returns="o", laws=["within_bound"], measured=0)
    again = flashproof.replay(kernels.two_minds, result.findings[0].together, law="within_bound", problem="softmax", returns="o")
    assert [f.together for f in again.findings] == [result.findings[0].together], str(again)


def test_two_runs_that_differ_differ_again_in_a_replay(tmp_path):
    for where, law, more in (("kernels:drifts", "rerun_is_bitwise", ("--measured", "0")),
                             ("gradient_kernels:drifts", "rerun_is_bitwise", ("--problem", "attention_backward"))):
        for witnesses in ((), ("--witnesses", str(tmp_path))):
            done = run(where, "--family", "normal", "--law", law, *more, *witnesses)
            assert done.returncode == 1 and f"{law}: nondeterministic" in done.stdout, done.stdout + done.stderr
            again = replayed(done, HERE)
            assert again.returncode == 1 and f"{law}: nondeterministic" in again.stdout, again.stdout + again.stderr


def test_a_replay_line_names_what_was_checked_or_nothing(tmp_path, monkeypatch):
    def closure(q, k, v):
        return q[:0]

    def place(function, **options):
        options = dict(families=["normal"], laws=["within_bound"], cases=1, measured=0, returns="o", **options)
        return shlex.split(flashproof.check(function, **options).findings[0].replay)[3]

    wrapper = functools.wraps(kernels.attention)(lambda q, k, v: q[:0])  # its name leads to what it wraps
    for function in (closure, wrapper, functools.partial(closure), kernels.Loses(0)):
        assert place(function) == "MODULE:FUNCTION"
    here = pathlib.Path(kernels.__file__).resolve().parent
    for folder, named in ((here, "kernels"), (here.parent, f"{here.name}/kernels.py"), (tmp_path, f"{here}/kernels.py")):
        monkeypatch.chdir(folder)
        assert place(kernels.wrong_shape) == f"{named}:wrong_shape"
    assert place(closure, where="mine.py:closure") == "mine.py:closure"


def test_a_replay_line_says_what_was_promised():
    done = run("kernels:knows_its_batch", "--family", "normal", "--law", "batch_invariance_is_bitwise", "--cases", "4", "--measured", "0",
               "--batch-invariant", "--without", "gqa")
    assert done.returncode == 1 and "batch_invariance_is_bitwise: nondeterministic" in done.stdout, done.stdout
    again = replayed(done, HERE)
    assert again.returncode == 1 and "batch_invariance_is_bitwise: nondeterministic" in again.stdout, again.stdout + again.stderr


def test_a_replay_line_of_a_file_names_the_file(tmp_path):
    (tmp_path / "my kernels.py").write_text("def mine(q, k, v):\n    return q[:0]\n")
    done = run("my kernels.py:mine", "--family", "normal", "--law", "within_bound", "--cases", "1", "--measured", "0", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    again = replayed(done, tmp_path)
    assert again.returncode == 1 and "wrong_shape" in again.stdout, again.stdout + again.stderr


def test_a_file_that_does_not_load_is_no_finding(tmp_path):
    for text in ("raise ValueError('first\\nsecond')", "def f(:", "import sys; sys.exit(1)"):
        (tmp_path / "mine.py").write_text(text)
        for where in ("mine.py:f", "mine:f"):
            done = run(where, folder=tmp_path)
            assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr


def test_what_ends_the_run_and_is_no_error_is_no_verdict(tmp_path):
    (tmp_path / "k.py").write_text("""def ends(error):
    def attention(q, k, v):
        raise error
    return attention
base, generator = ends(BaseException("first\\nsecond")), ends(GeneratorExit())
""")
    for name in ("base", "generator"):
        done = run(f"k.py:{name}", "--family", "normal", "--returns", "o", "--json", str(tmp_path / "r.json"), folder=tmp_path)
        assert done.returncode == 3 and done.stdout == "", (name, done)
        assert done.stderr.startswith("flashproof: ") and done.stderr.count("\n") == 1 and not (tmp_path / "r.json").exists(), (name, done)


def test_what_a_module_leaves_for_the_exit_changes_no_verdict(tmp_path):
    (tmp_path / "k.py").write_text("import atexit, os\ndef wrong(q, k, v):\n    atexit.register(os._exit, 0)\n    return q * 0 + 7\n")
    done = run("k.py:wrong", "--family", "normal", "--without", "value_dim", "--measured", "2", "--cases", "0", folder=tmp_path)
    assert done.returncode == 1 and done.stdout.startswith("FAIL "), done.stdout + done.stderr


def test_errors_are_one_line():
    for words in (("kernels:nope",), ("nope.py:f",), ("kernels",), ("kernels:attention", "--dtype", "int8"), ("kernels:attention", "--arithmetic", "{x"),
                  ("no_such_module:f",)):
        done = run(*words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
