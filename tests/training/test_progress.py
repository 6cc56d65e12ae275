"""Progress: a bar in a terminal, elsewhere a line now and then."""

from small_runs import exact_match, make_trainer

from lossnet import build
from lossnet.training import Progress, ProgressLines, show_progress

METHOD = build("seal-nce")


def test_lines_without_a_terminal(capsys) -> None:
    assert isinstance(show_progress("accuracy"), ProgressLines)
    trainer = make_trainer(METHOD, max_epochs=20, patience=20)
    trainer.score = exact_match(trainer.nets)
    trainer.callbacks.append(ProgressLines("accuracy"))
    trainer.run()
    *lines, end = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert "was the best so far" in end
    assert lines[0].startswith(f"{trainer.phase.name}: epoch 2 of at most 20, energy loss ")
    assert "validation accuracy 0." in lines[-1]
    assert not any("\r" in line or "%" in line for line in lines)


def test_a_line_of_a_long_epoch(capsys) -> None:
    trainer = make_trainer(METHOD, max_epochs=11)
    trainer.callbacks.append(ProgressLines(seconds=0.0))
    trainer._epoch()
    assert ": epoch 1 of at most 11, " in capsys.readouterr().err


def test_nobody_reads(monkeypatch) -> None:
    class Gone:
        def write(self, text: str) -> int:
            raise BrokenPipeError

    trainer = make_trainer(METHOD, max_epochs=1)
    trainer.callbacks.append(ProgressLines())
    monkeypatch.setattr("sys.stderr", Gone())
    assert len(trainer.run()) == 1


def test_a_bar_in_a_terminal(monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert isinstance(show_progress("accuracy"), Progress)
