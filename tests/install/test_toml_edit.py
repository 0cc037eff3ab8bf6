"""One key changes; comments and everything else stay."""

from __future__ import annotations

import pytest

from cmem.errors import ConfigError
from cmem.install.toml_edit import remove_key, set_key


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", 'provider = "new"\n'),
        ("# mine", '# mine\nprovider = "new"\n'),
        ('a = 1\nprovider="old"   # why\nb = 2\n', 'a = 1\nprovider = "new"   # why\nb = 2\n'),
        ("provider = 'old'\r\n", 'provider = "new"\r\n'),
        ("provider = 7 # odd\n", 'provider = "new" # odd\n'),
        ('# provider = "x"\n', '# provider = "x"\nprovider = "new"\n'),
        ('a = 1\n\n[t]\nprovider = "x"\n', 'a = 1\n\nprovider = "new"\n[t]\nprovider = "x"\n'),
    ],
)
def test_the_key_is_set_where_it_belongs(text: str, after: str) -> None:
    assert set_key(text, "provider", "new") == after
    assert set_key(after, "provider", "new") == after


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a =", "could not read settings: config.toml: invalid value (at end of document)"),
        (
            'a = """\nprovider = "x"\n"""\n',
            'could not set provider in config.toml; write this line by hand: provider = "new"',
        ),
    ],
)
def test_a_text_that_cannot_be_edited_safely_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        set_key(text, "provider", "new")
    assert str(caught.value) == message


def test_values_of_every_form_are_replaced_and_quoted() -> None:
    value = 'llm -m "a b" \\x'
    line = 'command = "llm -m \\"a b\\" \\\\x"'
    for old in ('"a \\" b"', '["a", "b c"]', "'x'", "[]"):
        assert set_key(f"command = {old}  # why\n", "command", value) == f"{line}  # why\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", ""),
        ("a = 1\n", "a = 1\n"),
        ('a = 1\nmodel = "x"  # why\nb = 2\n', "a = 1\nb = 2\n"),
        ("model = 'x'", ""),
        ('# model = "y"\r\nmodel = "x"\r\n', '# model = "y"\r\n'),
        ('model = "x"\n[t]\nmodel = "y"\n', '[t]\nmodel = "y"\n'),
    ],
)
def test_a_key_goes_and_all_else_stays(text: str, after: str) -> None:
    assert remove_key(text, "model") == after


def test_a_key_that_cannot_be_taken_out_safely_stays() -> None:
    for text in ('a = """\nmodel = "x"\n"""\nmodel = "y"\n', 'model = """\nx"""\n'):
        with pytest.raises(ConfigError, match="delete its line by hand"):
            remove_key(text, "model")
