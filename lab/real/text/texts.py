"""The texts that the fixtures are checked with, and the corpus that their small vocabularies are trained on."""

TEXTS = [
    "a red circle on a blue background",
    "Ada Lovelace met Charles Babbage in London, on 5 June 1833.",
    "It isn't cheap: $3.50 (plus tax)!",
    "Crème brûlée, naïve façade, ÅNGSTRÖM",
    "El niño comió piñas en Málaga; ¿por qué no?",
    "東京は日本の首都です。",
    "Привет, мир — как дела?",
    "mixed 中文 and English 🙂👩‍🚀 text",
    "tabs\tand\nnew lines   and  blanks ",
    "antidisestablishmentarianism unhappiness",
    "",
    "x",
]
PAIRS = [
    ("a man plays a guitar", "somebody makes music"),
    ("the sky is blue", ""),
    ("Short.", "A much longer second text, with several words in it, and a number: 12345."),
    ("A much longer first text, with several words in it, and a number: 12345.", "Short."),
]
ENTITIES = [
    "Ada Lovelace met Charles Babbage in London.",
    "Crème brûlée is served in Málaga, Zürich and New York City",
    "antidisestablishmentarianism 東京 unhappiness 🙂 ends",
    "It isn't cheap: $3.50 (plus tax)!",
]
# With blanks around them, as Python and as JavaScript understand them, and with capitals.
SENTENCES = [
    "a red circle",
    "  A Red Circle \t\n",
    "\u001c\u0085 A RED Circle\u00a0\u3000\u001f",
    "\ufeffA Red Circle\ufeff",
    "ΟΔΟΣ İstanbul ẞ ",
    " \n ",
]
LONG = " ".join(["a long text about circles and squares, number"] * 30)

CORPUS = TEXTS + [text for pair in PAIRS for text in pair] + ENTITIES + [
    "a small green square above a large yellow star",
    "two blue rings next to a pink heart on a white background",
    "the man played the guitar while the music was playing",
    "London and New York are cities; Zürich is a city too",
    "happiness is not happily unhappy, and cheap things are not taxed",
] * 3
