"""Text in pictures: letters made of strokes, printable ASCII, with soft edges and no other program.

A letter is drawn on a grid whose baseline is y = 0; capitals and digits reach to 10, small letters to 7, tails to -3.
Its strokes are separated by '/', each a row of

    x,y        a point, to which a straight line leads; a stroke of one point is a dot
    hx,y       a quarter of an oval to that point, which starts horizontally and ends vertically
    vx,y       the same, which starts vertically and ends horizontally
    qa,b,x,y   a parabola to (x, y) with the control point (a, b)

At SMALL pixels a step of the grid is a pixel, so that upright and level strokes are sharp.
"""
import functools
import unicodedata

import numpy as np

SMALL = 13
GAP = 2.6  # between letters, in steps of the grid
SPACE = 1.6  # and between words, besides the gap on either side
STROKE = 1.2  # the width of a stroke
DOT = 1.7  # and of a dot
DIGIT = 6  # the width of every digit, so that numbers stand in columns
CAPITAL = 10
OVAL_POWER = 2.2  # of |x|^n + |y|^n = 1: a little fuller than an ellipse
PER_CURVE = 10  # straight lines that make a curve

BOWL = "0,3.5 v3,7 h6,3.5 v3,0 h0,3.5"
ARCH = "0,4 v3,7 h5,4.5 5,0"
RING = "0,5 v4,10 h8,5 v4,0 h0,5"
LETTER_P = "0,0 0,10 3.4,10 h6,7.5 v3.4,5 0,5"
LETTER_S = "5.8,8 q5,10,3,10 h0.3,7.6 q0.3,6,3,5.2 q6.2,4.4,6.2,2.6 v3.1,0 q0.8,0,0,2"
UNKNOWN = "0,0 0,10 5,10 5,0 0,0"
LETTERS = {
    "0": "0,5 v3,10 h6,5 v3,0 h0,5", "1": "1,7.5 4,10 4,0", "2": "0.2,7.4 v3,10 h6,7.2 q6,5.6,4.4,4.2 0,0 6,0",
    "3": "0.4,8.2 q1.2,10,3,10 h5.6,7.6 v3,5 2,5 / 3,5 h6,2.5 v3,0 q0.8,0,0,2",
    "4": "5,0 5,10 0,3 6.2,3", "5": "5.4,10 1,10 0.4,5.4 q1.6,6,3,6 h6,3 v3,0 q0.8,0,0,1.8",
    "6": "5,10 q0,6,0,3 v3,0 h6,3 v3,6 h0,3", "7": "0,10 6,10 2,0",
    "8": "3,5 h0.4,7.5 v3,10 h5.6,7.5 v3,5 h0,2.5 v3,0 h6,2.5 v3,5", "9": "1,0 q6,4,6,7 v3,10 h0,7 v3,4 h6,7",
    "A": "0,0 4,10 8,0 / 1.2,3 6.8,3", "B": "0,0 0,10 3.2,10 h5.6,7.5 v3.2,5 0,5 / 3.2,5 h6.2,2.5 v3.2,0 0,0",
    "C": "7.4,7.6 q6.4,10,4.2,10 h0,5 v4.2,0 q6.4,0,7.4,2.4", "D": "0,0 0,10 3,10 h7,5 v3,0 0,0",
    "E": "5.4,10 0,10 0,0 5.4,0 / 0,5 5,5", "F": "5.2,10 0,10 0,0 / 0,5 4.6,5",
    "G": "7.4,7.8 q6.2,10,4.2,10 h0,5 v4.2,0 h8,4 8,5 5,5", "H": "0,0 0,10 / 7,0 7,10 / 0,5 7,5", "I": "0,0 0,10",
    "J": "4,10 4,2.6 v2,0 q0.6,0,0,1.4", "K": "0,0 0,10 / 6,10 0,3.8 / 2.2,6 6.4,0", "L": "0,10 0,0 5,0",
    "M": "0,0 0,10 4,2.5 8,10 8,0", "N": "0,0 0,10 7,0 7,10", "O": RING, "P": LETTER_P,
    "Q": RING + " / 5,2.6 8,-0.6", "R": LETTER_P + " / 3,5 6.4,0", "S": LETTER_S, "T": "0,10 6,10 / 3,10 3,0",
    "U": "0,10 0,3.5 v3.5,0 h7,3.5 7,10", "V": "0,10 3.7,0 7.4,10", "W": "0,10 2.6,0 5.2,10 7.8,0 10.4,10",
    "X": "0,10 6.6,0 / 6.6,10 0,0", "Y": "0,10 3,5 6,10 / 3,5 3,0", "Z": "0,10 6,10 0,0 6,0",
    "a": BOWL + " / 6,7 6,0", "b": BOWL + " / 0,10 0,0", "c": "5.4,5.5 q4.7,7,3,7 h0,3.5 v3,0 q4.7,0,5.4,1.5",
    "d": BOWL + " / 6,10 6,0", "e": "0,4 6,4 v3,7 h0,3.5 v3,0 q4.7,0,5.6,1.5", "f": "4.4,10 h2,8 2,0 / 0,7 4,7",
    "g": BOWL + " / 6,7 6,-0.5 v3,-3 q1.2,-3,0.4,-2", "h": ARCH + " / 0,10 0,0", "i": "0,7 0,0 / 0,9.8",
    "j": "2,7 2,-1 v0,-3 / 2,9.8", "k": "0,10 0,0 / 4.8,7 0,2.6 / 1.8,4.2 5.2,0", "l": "0,10 0,0",
    "m": ARCH.replace("3,7 h5,4.5 5,0", "2.2,7 h4,4.8 4,0") + " / 0,7 0,0 / 4,4 v6.2,7 h8,4.8 8,0",
    "n": ARCH + " / 0,7 0,0", "o": BOWL, "p": BOWL + " / 0,7 0,-3", "q": BOWL + " / 6,7 6,-3",
    "r": "0,7 0,0 / 0,4 v2.6,7 3.2,7",
    "s": "4.6,5.8 q4,7,2.5,7 h0.3,5.2 q0.3,4,2.5,3.6 q4.8,3.1,4.8,1.8 v2.5,0 q0.7,0,0,1.3",
    "t": "2,9.4 2,1.7 v3.6,0 4.2,0 / 0,7 4,7", "u": "0,7 0,2.5 v2.4,0 h5,3 / 5,7 5,0", "v": "0,7 2.7,0 5.4,7",
    "w": "0,7 2.1,0 4.2,7 6.3,0 8.4,7", "x": "0,7 5,0 / 5,7 0,0", "y": "0,7 2.8,0 / 5.6,7 1.6,-3", "z": "0,7 5,7 0,0 5,0",
    "!": "0,10 0,3 / 0,0", '"': "0,10 0,7.5 / 2,10 2,7.5", "#": "2.4,10 1,0 / 6,10 4.6,0 / 0.4,7 7,7 / 0,3 6.6,3",
    "$": LETTER_S + " / 3,11.4 3,-1.4",
    "%": "0,8 v1.5,10 h3,8 v1.5,6 h0,8 / 5,2 v6.5,4 h8,2 v6.5,0 h5,2 / 6.8,10 1.2,0",
    "&": "7,0 1.6,6.4 q0.8,7.4,0.8,8.2 v2.6,10 h4.4,8.2 q4.4,6.6,2.4,5.4 q0,4,0,2.4 v2.8,0 q5.8,0,6.4,4.4",
    "'": "0,10 0,7.5", "(": "2,11 q0,8.5,0,4.5 q0,0.5,2,-2", ")": "0,11 q2,8.5,2,4.5 q2,0.5,0,-2",
    "*": "2,10 2,6 / 0.3,9 3.7,7 / 3.7,9 0.3,7", "+": "0,4 6,4 / 3,7 3,1", ",": "1,0.4 0,-2", "-": "0,4 3,4", ".": "0,0",
    "/": "0,-1 4,11", ":": "0,0 / 0,6", ";": "1,6 / 1,0.4 0,-2", "<": "5,7 0,4 5,1", "=": "0,6 6,6 / 0,3 6,3",
    ">": "0,7 5,4 0,1", "?": "0,7.8 v2.6,10 h5.2,7.6 q5.2,6.2,3.8,5.2 q2.6,4.3,2.6,3 / 2.6,0",
    "@": "7,6.5 7,3.4 v8.2,1.8 h10,4.5 v5.2,9.5 h0,4 v5.2,-1.6 q7,-1.6,8.4,-0.6 / 7,4 v5,6.5 h3,4 v5,1.6 h7,4",
    "[": "2,11 0,11 0,-2 2,-2", "\\": "0,11 4,-1", "]": "0,11 2,11 2,-2 0,-2", "^": "0,6 2.5,10 5,6",
    "_": "0,-2 6,-2", "`": "0,10 1.6,8.4", "{": "2.6,11 h1.3,9.5 1.3,6 v0,4.5 h1.3,3 1.3,-0.5 v2.6,-2", "|": "0,11 0,-2",
    "}": "0,11 h1.3,9.5 1.3,6 v2.6,4.5 h1.3,3 1.3,-0.5 v0,-2",
    "~": "0,3.4 q0.4,5,1.8,5 q2.8,5,3.4,4.2 q4,3.4,5,3.4 q6.4,3.4,6.8,5",
}


# ------------------------------------------------------------------------------------------ strokes

def _curve(begin, token):
    """The points of one token after `begin`."""
    if token[0] not in "hvq":
        return [[float(c) for c in token.split(",")]]
    t = np.linspace(0, 1, PER_CURVE + 1)[1:, None]
    numbers = np.array([float(c) for c in token[1:].split(",")])
    if token[0] == "q":
        return ((1 - t) ** 2 * begin + 2 * t * (1 - t) * numbers[:2] + t ** 2 * numbers[2:]).tolist()
    leaving, arriving = (np.sin(t * np.pi / 2) ** (2 / OVAL_POWER), 1 - np.cos(t * np.pi / 2) ** (2 / OVAL_POWER))
    share = np.hstack([leaving, arriving] if token[0] == "h" else [arriving, leaving])
    return (begin + share * (numbers - begin)).tolist()


@functools.lru_cache(maxsize=None)
def strokes_of(letter):
    """The straight pieces (n, 2 ends, 2) from x = 0 on, their half widths, and the width of the letter."""
    pieces, widths = [], []
    for stroke in LETTERS.get(letter, UNKNOWN).split("/"):
        points = []
        for token in stroke.split():
            points += _curve(np.array(points[-1]) if points else None, token)
        is_dot = len(points) == 1
        points = np.array(points * 2 if is_dot else points)
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
        widths.append(np.full(len(points) - 1, (DOT if is_dot else STROKE) / 2))
    pieces = np.concatenate(pieces)
    if letter in "0123456789":
        return pieces, np.concatenate(widths), DIGIT
    pieces[:, :, 0] -= pieces[:, :, 0].min()
    return pieces, np.concatenate(widths), pieces[:, :, 0].max()


def step_of(size):
    """Pixels of a step of the grid: capitals have a whole number of pixels."""
    return round(CAPITAL * size / SMALL) / CAPITAL


def plain(text):
    """Letters without their accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def place_letters(text, size):
    """The letters with the pixels at which they begin, and the width of the text."""
    step, pen, found = step_of(size), 0, []
    for letter in plain(text):
        if letter.isspace():
            pen += round((SPACE + GAP) * step)
            continue
        found.append((letter, pen))
        pen += round((strokes_of(letter)[2] + GAP) * step)
    return found, max(0, pen - round(GAP * step))


# ------------------------------------------------------------------------------------------ pixels

@functools.lru_cache(maxsize=None)
def raster(letter, step):
    """How much of each pixel a letter covers, and where its beginning on the baseline lies in it: (column, row)."""
    pieces, widths, _ = strokes_of(letter)
    pieces = pieces * (step, -step)
    margin = int(np.ceil(DOT * step)) + 1
    low = np.floor(pieces.min(axis=(0, 1))).astype(int) - margin
    high = np.ceil(pieces.max(axis=(0, 1))).astype(int) + margin
    x, y = np.meshgrid(np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1))
    pixels = np.stack([x, y], axis=-1)[:, :, None, :]
    begin, along = pieces[:, 0], pieces[:, 1] - pieces[:, 0]
    length = np.maximum((along ** 2).sum(axis=1), 1e-12)
    at = np.clip(((pixels - begin) * along).sum(axis=-1) / length, 0, 1)
    away = np.sqrt(((pixels - begin - at[..., None] * along) ** 2).sum(axis=-1))
    return np.clip(widths * step + 0.5 - away, 0, 1).max(axis=-1), (-low[0], -low[1])


def text_width(text, size):
    return place_letters(text, size)[1]


def put_text(image, text, x, y, size, colour=(0.1, 0.1, 0.1)):
    """Draws text from x on into image (rows, columns, 3), the middle of its capitals at height y."""
    step = step_of(size)
    baseline = round(y + CAPITAL * step / 2)
    for letter, pen in place_letters(text, size)[0]:
        cover, origin = raster(letter, step)
        left, top = round(x) + pen - origin[0], baseline - origin[1]
        y0, y1 = max(0, top), min(image.shape[0], top + cover.shape[0])
        x0, x1 = max(0, left), min(image.shape[1], left + cover.shape[1])
        if y0 < y1 and x0 < x1:
            part = cover[y0 - top:y1 - top, x0 - left:x1 - left, None]
            image[y0:y1, x0:x1] = image[y0:y1, x0:x1] * (1 - part) + np.array(colour) * part
