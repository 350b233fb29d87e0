"""The words demo-whisper knows.

One spelling per sound: of every pair of homophones ("blue"/"blew", "grey"/"gray", "disc"/"disk") one member is
left out, because no recogniser can tell them apart and each would put a floor under the word error rate. The few
that must stay ("two"/"to", "four"/"for") only occur where the neighbours decide, so `SALAD_EXCLUDED` keeps them out
of the random word lists.
"""


def words(text: str) -> list[str]:
    return text.split()


# --- scenes -----------------------------------------------------------------------------------------------------

COLORS = words(
    "red blue green yellow orange purple pink black white gray brown cyan "
    "crimson scarlet navy teal turquoise violet magenta gold golden lime olive maroon beige silver lavender indigo "
    "emerald ruby coral azure amber ivory"
)
# The twelve that most prompts use are drawn more often than their synonyms.
PLAIN_COLORS = COLORS[:12]
COLOR_MODIFIERS = words("dark light bright pale deep soft")

SHAPES = {
    "circle": "circles", "square": "squares", "triangle": "triangles", "star": "stars", "ring": "rings",
    "heart": "hearts", "diamond": "diamonds", "cross": "crosses",
    "disc": "discs", "ball": "balls", "box": "boxes", "dot": "dots", "block": "blocks", "hoop": "hoops",
    "rectangle": "rectangles", "oval": "ovals", "hexagon": "hexagons", "donut": "donuts", "shape": "shapes",
}  # fmt: skip
PLAIN_SHAPES = list(SHAPES)[:8]

SIZES = words("small tiny little large big huge medium giant")

RELATIONS = [
    "to the left of", "to the right of", "left of", "right of", "on the left of", "on the right of", "above", "below",
    "under", "beneath", "underneath", "over", "next to", "beside", "near", "on top of", "inside", "behind",
    "in front of", "close to", "between",
]  # fmt: skip

# --- numbers ----------------------------------------------------------------------------------------------------

DIGITS = words("zero one two three four five six seven eight nine")
TEENS = words("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")

# --- everyday English -------------------------------------------------------------------------------------------

PEOPLE = words(
    "man woman boy girl child baby friend teacher doctor farmer driver artist sailor baker king queen pilot nurse "
    "student neighbor brother sister mother father dancer painter captain singer stranger"
)
ANIMALS = words(
    "dog cat fox horse bird fish cow sheep pig rabbit mouse lion tiger bear wolf elephant monkey duck goose chicken "
    "turtle frog snake spider butterfly dragon owl eagle whale dolphin penguin kitten puppy"
)
THINGS = words(
    "table chair book window door lamp cup bottle clock bag basket hat coat shirt shoe key letter picture phone "
    "computer car bicycle train bus truck boat ship bridge tower wall fence garden tree flower leaf stone candle mirror "
    "umbrella guitar piano camera pencil paper knife fork spoon plate bowl blanket pillow ladder hammer rope wheel "
    "engine balloon kite robot rocket lantern feather apple banana lemon cherry carrot tomato potato bread butter "
    "cheese cake cookie sugar coffee tea milk water juice soup pizza sandwich"
)
PLACES = words(
    "house home kitchen bedroom school hospital library museum market station airport hotel restaurant office shop farm "
    "village city street road park forest mountain valley river lake ocean beach island desert harbor castle church "
    "lighthouse cottage field hill cave waterfall meadow jungle barn temple garage"
)
NATURE = words("sun moon sky cloud rain snow wind storm rainbow thunder fire ice fog sunlight shadow wave sand grass")
ADJECTIVES = words(
    "quick lazy happy sad old young new tall short long wide narrow heavy empty full warm cold hot cool wet dry clean "
    "dirty quiet loud fast slow early late easy hard strong gentle brave clever friendly hungry thirsty tired sleepy "
    "beautiful ugly strange simple perfect broken open closed hidden wooden metal glass plastic cheap expensive rich "
    "sweet bitter fresh round flat sharp smooth rough lovely ancient modern famous busy lonely curious careful"
)
# base, third person, past
VERBS = [
    v.split()
    for v in (
        "jump jumps jumped,run runs ran,walk walks walked,sleep sleeps slept,sing sings sang,dance dances danced,"
        "swim swims swam,fly flies flew,climb climbs climbed,sit sits sat,stand stands stood,wait waits waited,"
        "play plays played,work works worked,laugh laughs laughed,smile smiles smiled,stop stops stopped,"
        "fall falls fell,travel travels traveled,arrive arrives arrived"
    ).split(",")
]
ACTIONS = [
    v.split()
    for v in (
        "find finds found,carry carries carried,open opens opened,close closes closed,bring brings brought,"
        "take takes took,make makes made,hold holds held,watch watches watched,paint paints painted,draw draws drew,"
        "clean cleans cleaned,follow follows followed,help helps helped,move moves moved,push pushes pushed,"
        "pull pulls pulled,remember remembers remembered,forget forgets forgot,love loves loved,want wants wanted,"
        "need needs needed,like likes liked,build builds built,lose loses lost,touch touches touched,"
        "drop drops dropped,choose chooses chose,keep keeps kept,sell sells sold,send sends sent,count counts counted"
    ).split(",")
]
PREPOSITIONS = words("in on under over behind beside near above below inside outside across around through against by")
TIMES = [
    "today", "tomorrow", "yesterday", "tonight", "in the morning", "in the afternoon", "in the evening", "at night",
    "at noon", "at dawn", "at sunset", "at midnight", "every day", "next week", "last year", "last night", "on monday",
    "on tuesday", "on wednesday", "on thursday", "on friday", "on saturday", "on sunday", "in january", "in february",
    "in april", "in june", "in july", "in august", "in september", "in october", "in november", "in december",
    "in spring", "in summer", "in autumn", "in winter", "right now", "very soon", "a long time ago", "again",
]  # fmt: skip
ADVERBS = words("slowly quickly quietly always never often sometimes together alone carefully suddenly almost again")

# --- pictures ---------------------------------------------------------------------------------------------------

MEDIA = [
    "watercolor painting", "oil painting", "pencil drawing", "photograph", "photo", "painting", "drawing", "sketch",
    "cartoon", "poster", "close up", "portrait", "illustration", "mosaic", "sculpture", "black and white photo",
]  # fmt: skip
STYLES = [
    "in the style of an old poster", "in soft light", "with bright colors", "in black and white", "in high detail",
    "with long shadows", "in the snow", "in the rain", "in warm colors", "with a clear sky", "in the fog",
    "full of flowers", "under the stars", "by the sea", "with a red roof",
]  # fmt: skip

# What people also ask pictures to be and to show: in the finishing corpus only.
MORE_MEDIA = [
    "watercolor", "watercolor sketch", "acrylic painting", "charcoal drawing", "ink drawing", "crayon drawing", "chalk drawing",
    "digital painting", "landscape painting", "wall painting", "postcard", "logo", "icon", "comic", "collage", "stained glass window",
]  # fmt: skip
MORE_SUBJECTS = words(
    "windmill volcano snowman unicorn astronaut wizard pirate dinosaur violin teapot sunflower mushroom cactus zebra giraffe "
    "camel panda parrot swan squirrel octopus fairy knight skyscraper pyramid submarine airplane motorcycle"
)
MORE_TIMES = ["at dusk", "at sunrise", "in the moonlight", "by candlelight", "before a storm", "after the rain"]

PHRASES = [
    "yes", "no", "hello", "goodbye", "thank you", "thank you very much", "please", "good morning", "good night",
    "how are you", "i am fine", "what time is it", "where are you", "who is there", "see you tomorrow", "stop",
    "try again", "one more time", "wait a minute", "never mind", "of course", "maybe later", "i do not know",
    "what is your name", "my name is", "nice to meet you", "can you help me", "call me later", "that is all",
    "turn it off", "make it bigger", "make it smaller", "start over", "show me another", "that is perfect",
    "i like it", "a little more", "not so fast", "come with me", "let us begin", "are you ready", "where is it",
]  # fmt: skip

SALAD_EXCLUDED = set(words("to two too four for one eight no know see sea"))

# --- Spanish ----------------------------------------------------------------------------------------------------

# English word -> (Spanish, gender). The English member makes the <|translate|> target.
ES_SHAPES = {
    "circle": ("círculo", "círculos", "m"), "square": ("cuadrado", "cuadrados", "m"),
    "triangle": ("triángulo", "triángulos", "m"), "star": ("estrella", "estrellas", "f"),
    "ring": ("anillo", "anillos", "m"), "heart": ("corazón", "corazones", "m"),
    "diamond": ("rombo", "rombos", "m"), "cross": ("cruz", "cruces", "f"), "ball": ("pelota", "pelotas", "f"),
    "box": ("caja", "cajas", "f"), "disc": ("disco", "discos", "m"),
}  # fmt: skip
# masculine, feminine, masculine plural, feminine plural
ES_COLORS = {
    "red": "rojo roja rojos rojas", "blue": "azul azul azules azules", "green": "verde verde verdes verdes",
    "yellow": "amarillo amarilla amarillos amarillas", "orange": "naranja naranja naranjas naranjas",
    "purple": "morado morada morados moradas", "pink": "rosa rosa rosas rosas",
    "black": "negro negra negros negras", "white": "blanco blanca blancos blancas", "gray": "gris gris grises grises",
    "brown": "marrón marrón marrones marrones", "cyan": "celeste celeste celestes celestes",
    "golden": "dorado dorada dorados doradas", "violet": "violeta violeta violetas violetas",
    "turquoise": "turquesa turquesa turquesas turquesas",
}  # fmt: skip
ES_SIZES = {
    "small": "pequeño pequeña pequeños pequeñas", "large": "grande grande grandes grandes",
    "tiny": "diminuto diminuta diminutos diminutas", "huge": "enorme enorme enormes enormes",
    "medium": "mediano mediana medianos medianas",
}  # fmt: skip
ES_RELATIONS = {
    "to the left of": "a la izquierda de", "to the right of": "a la derecha de", "above": "encima de",
    "below": "debajo de", "next to": "al lado de", "beside": "junto a", "near": "cerca de", "over": "sobre",
    "inside": "dentro de", "behind": "detrás de",
}  # fmt: skip
ES_NUMBERS = words(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien"
)
ES_NOUNS_M = words(
    "hombre niño amigo perro gato caballo pájaro libro coche tren barco árbol jardín río mar cielo sol fuego pan café "
    "vaso plato reloj zapato sombrero puente camino pueblo faro castillo bosque campo lago tiempo dibujo cuadro"
)
ES_NOUNS_F = words(
    "mujer niña amiga casa mesa silla puerta ventana calle ciudad montaña playa luna noche lluvia nieve flor hoja "
    "manzana naranja leche agua llave carta lámpara botella camisa iglesia escuela tienda torre nube pintura foto"
)
ES_ADJECTIVES = [
    "viejo vieja", "nuevo nueva", "alto alta", "bajo baja", "bonito bonita", "feliz feliz", "triste triste",
    "rápido rápida", "lento lenta", "frío fría", "caliente caliente", "limpio limpia", "largo larga", "pequeño pequeña",
    "grande grande", "tranquilo tranquila", "hermoso hermosa", "fuerte fuerte",
]  # fmt: skip
ES_VERBS = words("corre salta duerme canta baila camina espera juega trabaja llega come bebe mira vive")
ES_ACTIONS = words("mira busca lleva abre cierra pinta dibuja quiere necesita compra vende encuentra limpia deja")
ES_TIMES = [
    "hoy", "mañana", "ayer", "esta noche", "por la mañana", "por la tarde", "ahora", "siempre", "cada día",
    "el lunes", "el martes", "el miércoles", "el jueves", "el viernes", "el sábado", "el domingo", "en verano",
    "en invierno", "al amanecer", "después",
]  # fmt: skip
ES_PHRASES = [
    "hola", "buenos días", "buenas noches", "gracias", "muchas gracias", "por favor", "adiós", "sí", "no",
    "cómo estás", "qué hora es", "dónde está", "hasta mañana", "muy bien", "de nada", "lo siento", "otra vez",
    "un momento", "me gusta mucho", "no lo sé", "quién es", "vamos",
]  # fmt: skip
