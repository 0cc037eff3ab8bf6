"""Which language a prompt is written in."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmem.observer import language

PROMPTS = {
    "en": [
        "fix the tests",
        "Please add a retry to `fetch()`",
        "why is the build slow?",
        "run tests and commit",
        "translate the word “设置” in the menu",
        "what does 编译失败 mean in this log and why",
    ],
    "zh": [
        "把 ParserError 改成 warning 并且跑一下 tests",
        "修复登录超时的问题",
        "继续",
        '看看 src/app.py 里的 "the function is not in the module" 报错',
    ],
    "zh-hant": ["請修復登入逾時的問題", "這個測試沒有過"],
    "ja": ["ログインのバグを直してください", "設定を変更する", "テストを追加"],
    "ko": ["로그인 버그 고쳐줘", "README 업데이트 해줘"],
    "vi": ["sửa lỗi đăng nhập giúp tôi", "chạy lại test nhé bạn ơi"],
    "de": [
        "Bitte behebe den Fehler in src/app.py und starte die Tests",
        "warum ist das so langsam?",
    ],
    "fr": ["corrige le bug dans la page de connexion", "pourquoi les tests échouent ?"],
    "es": ["arregla el error de inicio de sesión", "¿por qué no funciona?"],
    "pt": ["corrija o erro de login, por favor, não funciona"],
    "it": ["aggiungi un test per la funzione", "perché non funziona la build?"],
    "nl": ["waarom werkt de test niet"],
    "pl": ["dlaczego to nie działa"],
    "ru": ["исправь ошибку входа", "почему тесты падают"],
    "uk": ["чому тести не проходять, виправ їх"],
    "bg": ["защо това не работи, няма грешка"],
    "ar": ["أصلح خطأ تسجيل الدخول"],
    "fa": ["چرا این کار نمی‌کند؟ پروژه را درست کن"],
    "ur": ["یہ ٹیسٹ کیوں نہیں چل رہا"],
    "he": ["תקן את הבאג"],
    "th": ["แก้บั๊กหน้าเข้าสู่ระบบ"],
    "el": ["διόρθωσε το σφάλμα"],
    "hi": ["लॉगिन की गलती ठीक करो"],
    "tr": ["bu test neden çalışmıyor, lütfen düzelt ve bir test ekle"],
    "id": ["tolong perbaiki bug login ini"],
    "sv": ["varför är det så långsamt och inte som det ska"],
    "": ["", "ok", "go", "npm run build", "src/app.py", '{"a": 1}', "```\nthe code is in it\n```"],
}


@pytest.mark.parametrize(
    ("code", "text"), [(c, one) for c, all_ in PROMPTS.items() for one in all_]
)
def test_language_of_a_prompt(code: str, text: str) -> None:
    assert language.of(text) == code


def test_every_language_found_has_a_name() -> None:
    codes = {code for code in PROMPTS if code} | set(language.STOPWORDS)
    assert codes <= set(language.NAMES)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text_has_a_known_language_or_none(text: str) -> None:
    assert language.of(text) in {"", *language.NAMES}


@pytest.mark.parametrize("piece", ["a", "a/", '"', "“", "a://", "[AAAA:", "`", "```", "的", "a.b"])
def test_long_prompts_take_little_time(piece: str) -> None:
    began = time.process_time()
    language.of(piece * 1_000_000)
    assert time.process_time() - began < 0.3
