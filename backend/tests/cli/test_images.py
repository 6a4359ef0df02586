"""The options of `cubeyard emulate` for images of users."""

from __future__ import annotations

import io

import pytest
import typer
from rich.console import Console

from cubeyard.cli.images import print_images, read_image


def test_an_image_is_read_with_words_as_a_shell_would() -> None:
    assert read_image(None, None, [], None) == []
    assert read_image("web:1", None, [], None) == [{"image": "web:1"}]
    result = read_image("web", "sh -c 'echo a b'", ["A=1", "B=x=y"], "00, 01")
    assert result == [
        {
            "image": "web",
            "command": ["sh", "-c", "echo a b"],
            "environment": {"A": "1", "B": "x=y"},
            "servers": ["00", "01"],
        }
    ]


def test_names_with_commas_stay_whole() -> None:
    assert read_image("web", None, [], "<0,1>,[2,3],00")[0]["servers"] == ["<0,1>", "[2,3]", "00"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((None, "sh", [], None), "--image-command is about an image"),
        ((None, None, [], "00"), "--image-servers is about an image"),
        (("web", "sh 'a", [], None), "No closing quotation"),
        (("web", None, ["A"], None), "--image-env A is not NAME=VALUE"),
        (("web", None, ["=a"], None), "is not NAME=VALUE"),
    ],
)
def test_what_cannot_be_read_is_told(
    given: tuple[str | None, str | None, list[str], str | None], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        read_image(*given)
    assert ended.value.exit_code == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_report_names_what_ended() -> None:
    ended = [{"server": f"{at:02}", "status": 3, "message": "no room", "at_secs": 1.5} for at in range(10)]
    console = Console(file=io.StringIO(), width=200)
    print_images(console, [{"image": "web:1", "servers": ["00", "01"], "ended": ended}])
    message = console.file.getvalue()  # type: ignore[attr-defined]
    assert "image web:1 beside 2 servers" in message
    assert "1.5 s  its program on server 00 ended with status 3: no room" in message
    assert "and 2 more" in message
