"""Which language a person writes in: by script, then by the words every sentence needs.

Deterministic and modest: names, code, addresses and quotations count for nothing, and where the
rest does not decide, the answer is "" and the model is left to see for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAMES = {
    "ar": "Arabic",
    "be": "Belarusian",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "km": "Khmer",
    "ko": "Korean",
    "lo": "Lao",
    "my": "Burmese",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "ta": "Tamil",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "zh": "Chinese",
    "zh-hans": "Simplified Chinese",
    "zh-hant": "Traditional Chinese",
    "zh-cn": "Simplified Chinese",
    "zh-tw": "Traditional Chinese",
}

READ = 8_000
BESIDE = (
    re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.S),
    re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://\S+", re.I | re.A),
    re.compile(r"(?:[\w.@~-]{0,80}[/\\])+[\w.@-]*", re.A),
    re.compile(r"\b\w+[._:]\w[\w._:]*|\b[a-z]+[A-Z]\w*|\b\w+\(\)|--[\w-]+", re.A),
    re.compile(r"\[[A-Z]{3,20}:[^\]\n]{0,80}\]"),
)
QUOTED = re.compile(
    r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|„[^“\n]{0,300}“|「[^」\n]{0,300}」"
)

HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
KANA = re.compile(r"[\u3040-\u30ff]")
LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
# A script of one language, as far as users go.
SCRIPTS = (
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("lo", re.compile(r"[\u0e80-\u0eff]")),
    ("my", re.compile(r"[\u1000-\u109f]")),
    ("km", re.compile(r"[\u1780-\u17ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("bn", re.compile(r"[\u0980-\u09ff]")),
    ("ta", re.compile(r"[\u0b80-\u0bff]")),
    ("ka", re.compile(r"[\u10a0-\u10ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
# Letters that tell apart what shares a script, the first that occurs.
LETTERS = {
    "ar": (("ur", re.compile("[ٹڈڑےں]")), ("fa", re.compile("[پچژگ]"))),
    "ru": (
        ("uk", re.compile("[іїєґ]", re.I)),
        ("be", re.compile("ў", re.I)),
        ("ru", re.compile("[ыэё]", re.I)),
        ("bg", re.compile(r"\b(?:се|да|това|съм|няма|трябва|във)\b", re.I)),
    ),
}
SIMPLIFIED = frozenset(
    "这个们说来时会对没过还为发开现样关长见问题让请把给东车书读写认变应该运试测错误码类员优启动远"
)
TRADITIONAL = frozenset(
    "這個們說來時會對沒過還為發開現樣關長見問題讓請給東車書讀寫認變應該運試測錯誤碼類員優啟動遠"
)
VIETNAMESE = re.compile(r"[\u1ea0-\u1ef9ơưƠƯ]")
WORDS = {
    "en": "the a an is are was to of in on and for it this that with not please when why what how "
    "should does do can we you i my from add fix make but so there",
    "de": "der die das den dem ist sind war nicht und mit für von zu auf ein eine einen bitte wir "
    "ich du es im wenn warum wie kannst soll noch aber nach bei",
    "fr": "le la les des un une est sont pas et dans pour avec sur que qui ce cette il je nous "
    "vous pourquoi faut du au aux ne s'il plaît",
    "es": "el la los las un una es son no y en para con por que de del lo se esta este como cuando "
    "añade hay pero porque qué arregla",
    "pt": "o a os as um uma é são não e em para com por que do da no na se isto esta este como "
    "quando mas porque você ao",
    "it": "il lo la i gli le un una è sono non e in per con che di del della nel questo questa "
    "come quando ma perché aggiungi si",
    "nl": "de het een is zijn niet en van op voor met dat deze dit als waarom hoe wij ik je maar "
    "nog naar bij kun moet",
    "pl": "jest są nie i w na do z że to się jak dlaczego dla ale czy proszę ten ta tego już tak",
    "cs": "je jsou není a v na do s že to se jak proč pro ale prosím ten ta tohle už když který",
    "ro": "este sunt nu și în pe la cu că de un o să se ca dar pentru când acest această din",
    "hu": "a az és nem hogy egy van meg ez is de mert kérlek miért hogyan ha már csak",
    "tr": "bir ve bu için değil ile ne nasıl neden var yok ama da de lütfen olarak çok şu mi",
    "sv": "och är inte det att en ett för med på som av till den vi jag du varför hur om men",
    "da": "og er ikke det at en et for med på som af til den vi jeg du hvorfor hvordan men",
    "fi": "ja on ei se että tämä mutta kun miksi miten ole voi niin jos ovat",
    "id": "yang dan di ke dari untuk tidak ini itu dengan pada adalah tolong kenapa bagaimana "
    "saya kita akan bisa sudah",
}
STOPWORDS = {code: frozenset(words.split()) for code, words in WORDS.items()}


def name(code: str) -> str:
    """The language's English name; what is no known code is its own name."""
    return NAMES.get(code.strip().lower().replace("_", "-"), code.strip())


def instruction(setting: str, said: Iterable[str]) -> str:
    """The sentence that names the language: the one of the setting, else that of the first
    text that shows one."""
    if setting.strip().lower() not in ("", "auto"):
        return f"Write in {name(setting)}."
    found = next(filter(None, map(of, said)), "")
    return f"Write in {name(found)}." if found else "Write in the language of the user's request."


def of(text: str) -> str:
    """The code of the language a text is written in, "" where it does not show."""
    text = text[:READ]
    for beside in BESIDE:
        text = beside.sub(" ", text)
    unquoted = QUOTED.sub(" ", text)
    text = unquoted if sum(char.isalpha() for char in unquoted) >= 4 else text
    return _by_script(text) or _by_word(text)


def _by_script(text: str) -> str:
    """A script other than Latin, unless it is a small thing in a Latin text: a sign of Chinese
    weighs as much as a word of four letters."""
    latin = len(LATIN.findall(text))
    han, kana = len(HAN.findall(text)), len(KANA.findall(text))
    if han + kana >= 2 and (han + kana) * 4 >= latin:
        return "ja" if kana * 12 >= han and kana else _chinese(text)
    for code, script in SCRIPTS:
        count = len(script.findall(text))
        if count >= 2 and count * 3 >= latin:
            return next((one for one, sign in LETTERS.get(code, ()) if sign.search(text)), code)
    return ""


def _chinese(text: str) -> str:
    simplified = sum(char in SIMPLIFIED and char not in TRADITIONAL for char in text)
    traditional = sum(char in TRADITIONAL and char not in SIMPLIFIED for char in text)
    return "zh-hant" if traditional > simplified else "zh"


def _by_word(text: str) -> str:
    if VIETNAMESE.search(text):
        return "vi"
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text.lower())
    scores = sorted(
        ((sum(word in known for word in words), code) for code, known in STOPWORDS.items()),
        key=lambda one: (-one[0], one[1]),
    )
    (best, code), (second, _other) = scores[:2]
    needed = 1 if code == "en" and text.isascii() and len(words) <= 12 else 2
    return code if best >= needed and best > second else ""
