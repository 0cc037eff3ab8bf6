from __future__ import annotations

import unicodedata

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cmem.store import segment, signs
from cmem.store.schema_0001 import STATEMENTS

WORDS = {
    "ascii": ("Fix the auth.ts timeout, now!", "fix the auth ts timeout now"),
    "underscore splits": ("foo_bar __init__.py", "foo bar init py"),
    "han": ("修改了项目配置", "修改 改了 了项 项目 目配 配置 置"),
    "one han": ("项", "项"),
    "latin glued to han": ("payload优先使用LLM", "payload 优先 先使 使用 用 llm"),
    "kana keeps its marks": ("がぎ", "がぎ ぎ"),
    "half-width kana": ("ｶﾞ", "ガ"),
    "han and kana are one run": ("設定を", "設定 定を を"),
    "hangul": ("설정을 바꿨다", "설정 정을 을 바꿨 꿨다 다"),
    "hangul from jamo": (unicodedata.normalize("NFD", "설정"), "설정 정"),
    "thai": ("การตั้ง", "การ ารต รตั ตั้ ั้ง ้ง ง"),
    "lao": ("ລາວ", "ລາວ າວ ວ"),
    "khmer": ("ខ្មែរ", "ខ្ម ្មែ មែរ ែរ រ"),
    "burmese": ("မြန်", "မြန ြန် န် ်"),
    "accents of latin, greek, cyrillic": ("Café ÉCOLE ά ёж й", "cafe ecole α еж и"),
    "vietnamese": ("Tiếng Việt đường", "tieng viet duong"),
    "turkish": ("İSTANBUL ısı", "istanbul isi"),
    "german": ("Straße Größe", "strasse grosse"),
    "polish and norse": ("łódź Tromsø", "lodz tromso"),
    "full width": ("ＡＰＩ２", "api2"),
    "ligature and circled": ("ﬁle ①", "file 1"),
    "hindi keeps its vowels": ("हिन्दी में", "हिन्दी में"),
    "tamil": ("தமிழ்", "தமிழ்"),
    "pointed hebrew": ("שָׁלוֹם", unicodedata.normalize("NFKC", "שָׁלוֹם")),
    "arabic": ("السلام عليكم", "السلام عليكم"),
    "persian joiner": ("می‌خواهم", "میخواهم"),
    "emoji": ("ok 🎉 done", "ok 🎉 done"),
    "emoji family": ("👨‍👩‍👧", "👨 👩 👧"),
    "emoji skin": ("👍🏽", "👍 🏽"),
    "emoji flag": ("🇩🇪", "🇩 🇪"),
    "emoji keycap": ("1️⃣", "1"),
    "emoji in han": ("完成✅了", "完成 成 ✅ 了"),
    "box drawing is no word": ("│ a ─ b │", "a b"),
    "nul and surrogates": ("x\0y \ud800z", "x y z"),
    "soft hyphen": ("data\u00adbase", "database"),
    "nothing": (" -- \t ... ", ""),
    "empty": ("", ""),
    "long run is cut": ("a" * 130, " ".join(["a" * 64, "a" * 64, "aa"])),
    "long accented run is cut": ("é" * 70, " ".join(["e" * 64, "e" * 6])),
}
PARTS = {
    "camel": ("getUserById", "get user by id"),
    "acronym": ("HTTPServer parseJSON", "http server parse json"),
    "digits": ("utf8 sha256", "sha 256 utf 8"),
    "plain words have none": ("plain words HERE Title", ""),
    "each once": ("fooBar fooBar fooBar", "foo bar"),
    "a random string has none": ("a1b2c3d4e5f6g7h8", ""),
    "c++": ("C++ and c++.", "c++"),
    "c# and f#": ("C#, F#", "c# f#"),
    "no heading": ("# Title\n## Sub", ""),
    "no increment of nothing": ("++ i", ""),
    "dot file": ("cat .env config/.gitignore", ".env .gitignore"),
    "no method call": ("foo.bar() x.env", ""),
    "flag": ("git --no-verify -x ---", "--no-verify"),
    "none in han": ("修改了", ""),
}


@pytest.mark.parametrize(("text", "terms"), WORDS.values(), ids=WORDS)
def test_words(text, terms):
    assert segment.words(text) == terms


@pytest.mark.parametrize(("text", "terms"), PARTS.values(), ids=PARTS)
def test_parts(text, terms):
    assert segment.parts(text) == terms


@given(st.text())
@example("\ud83d\ude00 \U000e0041 ﷺ ŉ ǰ ΐ")
def test_any_text_gives_clean_terms(text):
    for terms in (segment.words(text), segment.parts(text)):
        assert terms == " ".join(terms.split())
        terms.encode()
        assert "\0" not in terms
        assert '"' not in terms


@given(st.text())
def test_same_text_gives_same_terms(text):
    again = "".join(list(text))
    assert (segment.words(text), segment.parts(text)) == (
        segment.words(again),
        segment.parts(again),
    )


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_road_and_general_road_agree(text):
    general = segment.words(text + " é").split()
    assert segment.words(text).split() == general[:-1]


def terms_of_index(texts: list[str]) -> set[str]:
    """The terms that our tokenizer makes of segmented texts."""
    conn = apsw.Connection(":memory:")
    (statement,) = (s for s in STATEMENTS if "USING fts5" in s)
    options = statement[statement.index("tokenize=") :].rstrip(") \n")
    conn.execute(f"CREATE VIRTUAL TABLE f USING fts5(t, {options})")
    conn.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, 'row')")
    conn.executemany("INSERT INTO f VALUES(?)", [(text,) for text in texts])
    return {term for (term,) in conn.execute("SELECT term FROM v")}


LETTERS = st.one_of(
    st.characters(),
    st.sampled_from("aZ9_-. \u0301\u0345éİßđǅαάё的がｶﾞ설ㅋกำ①❶❷ꧥ🎉\u200d\ufe0f½Ⅷ\u115f"),
)


@given(st.text(LETTERS, max_size=signs.SHORT - 3))
@example("a❶b❶ ❶a")
@example("a\ua9e5b \ua9e5")
@example("ª\u0301a\u0301\u0345é\u0301")
def test_short_road_and_long_road_agree(text):
    """Queries are short and what they look for is long."""
    # What follows the separator makes it long and changes nothing before.
    long = text + ". " + "é " * signs.SHORT
    segment._met[0] = 0
    assert segment.fold(text) == segment.fold(long)[: -2 * signs.SHORT - 2]
    assert segment.runs(text) == segment.runs(long)[: -signs.SHORT]


def test_every_letter_and_emoji_survives_the_tokenizer():
    letters = [chr(c) for c in range(0x80, 0x20000) if chr(c).isalnum() or 0x1F300 <= c < 0x1FA00]
    terms = {term for char in letters for term in segment.words(char).split()}
    kept = terms_of_index([" ".join(sorted(terms))])
    folded = {term for term in terms if term not in kept}
    # SQLite folds a few more letters; none is dropped or cut in two.
    assert all(len(terms_of_index([term])) == 1 for term in folded)


@pytest.mark.parametrize("term", ["c++", "c#", ".env", "--no-verif", "p_17_", "t_bugfix_", "🎉"])
def test_special_terms_stay_whole(term):
    assert terms_of_index([term + (" x" if term == "c++" else "")]) - {"x"} == {term}
