"""Find the cells that a text mentions, in any spelling: `D5`, `5D`, `(D, 5)`, `row D, column five`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spotball_adapters.replies.vocabulary import UNSPACED_SCRIPTS
from spotball_core.errors import GridError
from spotball_core.grid import Grid


@dataclass(frozen=True, slots=True)
class CellMention:
    """A mention of a cell in a text.

    Attributes:
        start: offset of its first character.
        end: offset after its last character.
        cell: its label, or None if it is outside the grid.
        loose: whether the spelling may be a coincidence, as in `a, 5` or `3D`. It then counts only where a cell is
            expected.
    """

    start: int
    end: int
    cell: str | None
    loose: bool = False


# Not inside a word. Characters of scripts without blanks between words may touch a cell.
_UNSPACED = UNSPACED_SCRIPTS
_START, _END = rf"(?<![^\W{_UNSPACED}])(?<![0-9][.])", rf"(?![^\W{_UNSPACED}])(?![.,:][0-9]|%)"
_GAP = r"[ \t]{0,4}'?[-,_:/|]?[ \t]{0,4}|[.]|\][ \t]{0,2}\["
_LABEL = re.compile(
    rf"{_START}(?:([A-Za-z]{{1,2}})({_GAP})([0-9]{{1,3}})|([0-9]{{1,3}})({_GAP})([A-Za-z]{{1,2}})){_END}"
)

_ROWS = (
    r"rows?|reihe|zeile|fila|renglón|ligne|rangée|rang|riga|fileira|linha|rij|rząd|rzędzie|rzędu|wiersz|wierszu|satır|sıra|ряд|ряду"
    r"|строка|строке|строки|рядок|рядку|الصف|صف|ردیف|שורה|पंक्ति|hàng|dòng|baris|rad|rada|řada|řádek|rivi|sor|rând|行|줄|행"
)
_COLUMNS = (
    r"columns?|cols?\.?|spalte|columna|colonne|colonna|coluna|kolom|kolumna|kolumnie|kolumny|sütun|столбец|столбце|столбца|колонка"
    r"|колонке|стовпець|стовпці|والعمود|العمود|عمود|ستون|עמודה|स्तंभ|कॉलम|cột|kolumn|kolonne|sloupec|sloupci|sarake|oszlop|coloană|列|열"
)
_NUMBERS = (
    (
        "one first eins erste ersten uno primera primer un une première premier prima primo um primeira один "
        "первый первом первой 一"
    ),
    "two second zwei zweite zweiten dos segunda segundo deux deuxième due seconda dois segunda два второй втором 二",
    (
        "three third drei dritte dritten tres tercera tercer trois troisième tre terza três terceira три третий "
        "третьем третьей 三"
    ),
    (
        "four fourth vier vierte vierten cuatro cuarta cuarto quatre quatrième quattro quarta quatro четыре "
        "четвёртый четвертый четвёртом 四"
    ),
    "five fifth fünf fünfte fünften cinco quinta quinto cinq cinquième cinque quinta пять пятый пятом пятой 五",
    "six sixth sechs sechste sechsten seis sexta sexto sixième sei sesta шесть шестой шестом 六",
    (
        "seven seventh sieben siebte siebten siete séptima séptimo sept septième sette settima sete sétima семь "
        "седьмой седьмом 七"
    ),
    "eight eighth acht achte achten ocho octava octavo huit huitième otto ottava oito oitava восемь восьмой восьмом 八",
    "nine ninth neun neunte neunten nueve novena noveno neuf neuvième nove nona девять девятый девятом 九",
    "ten tenth zehn zehnte zehnten diez décima décimo dix dixième dieci decima dez десять десятый десятом 十",
)
_NUMBER_OF = {word: number for number, words in enumerate(_NUMBERS, 1) for word in words.split()}
_FIRST, _LAST = ("top", "leftmost", "topmost", "upper"), ("bottom", "rightmost", "last", "bottommost", "lowest")
_WORD = "|".join(sorted((*_NUMBER_OF, *_FIRST, *_LAST), key=len, reverse=True))
_NO_LETTER = rf"(?![^\W0-9_{_UNSPACED}])"
_NUMBER = rf"(?:{_WORD}|[0-9]{{1,3}}(?:st|nd|rd|th|\.(?!\s)|\.(?=[ \t][^\W\d_])|ª|º|e|è|er|番目|번째)?)"
_LETTER = rf"[a-z]{_NO_LETTER}"
_AGAIN = r"(?:[ \t]{0,3}\([ \t]{0,3}(?:[a-z]|[0-9]{1,2}(?:st|nd|rd|th)?)[ \t]{0,3}\))?"
_LINK = r"[ \t]{0,3}(?:[:=#]|number|letter|nr\.|no\.)?[ \t]{0,3}"
_FAR_SIDE = r"bottom|right|unten|rechts|abajo|derecha|bas|droite|basso|destra|baixo|direita|снизу|справа"
_SIDE = rf"top|left|oben|links|arriba|izquierda|haut|gauche|alto|sinistra|cima|esquerda|сверху|слева|{_FAR_SIDE}"
_COUNTED = (
    r"(?:(?:from|of|counting from|counted from|von|vom|desde|por|depuis|en partant|à partir|du|de|da|dal|a partire)"
    r"[ \t]+(?:(?:the|la|du|de|dal|dalla|a|o)[ \t]+){0,2})?(?:dall'|de l')?"
)
# "上から4行目", "从下往上数第二行", "위에서 4번째 행".
_ORIGIN = (
    r"[从自由]?(?:[上左][面边]?(?:から|[往到向而数起])[下右]?|[下右][面边]?(?:から|[往到向而数起])[上左]?)数?起?[ \t]?"
    r"|(?:위|왼쪽|아래|오른쪽)에서[ \t]?"
)
_FAR_ORIGIN = re.compile(r"[从自由]?[下右아오]")


def _axis(words: str, value: str, name: str) -> str:
    """Return a regular expression that matches a row or a column, such as "row D", "fourth row" or "column 3"."""
    after = rf"(?:{words}){_NO_LETTER}{_LINK}(?P<{name}_after>{value}){_AGAIN}"
    origin = rf"(?P<{name}_origin>{_ORIGIN})?第?"
    before = rf"{origin}(?P<{name}_before>{value})[ \t]{{0,2}}-?(?:{words})目?{_NO_LETTER}{_AGAIN}"
    return rf"(?:{before}|{after})(?:[ \t]+(?:down|across|{_COUNTED}(?P<{name}_side>{_SIDE})(?:[ \t]+(?:side|edge))?))?"


_ROW, _COLUMN = _axis(_ROWS, rf"(?:{_NUMBER}|{_LETTER})", "row"), _axis(_COLUMNS, _NUMBER, "col")
_JOINT = (
    r"[ \t]{0,3}[,;/&|)(\n]{0,2}[ \t\n*-]{0,4}"
    r"(?:(?:and|of|in|at|und|y|et|e|en|и|و|i|ve|và|的|the|der|de|la|del|della|da|dan)[ \t]{1,3}){0,3}"
)
_IN_WORDS = tuple(
    re.compile(rf"(?<![^\W{_UNSPACED}]){first}{_JOINT}{second}", re.I)
    for first, second in ((_ROW, _COLUMN), (_COLUMN, _ROW))
)
_PAIR = re.compile(
    r"\(?row,[ \t]?col(?:umn)?\)?[ \t]?(?:[:=]|is)[ \t]?"
    r"\(?(?P<row_after>[0-9]{1,2}|[a-z]),[ \t]?(?P<col_after>[0-9]{1,2})\)?",
    re.I,
)
_AXIS_WORD = re.compile(rf"{_ROWS}|{_COLUMNS}", re.I)


def mentions(text: str, grid: Grid) -> list[CellMention]:
    """Return the mentions of cells in a text, in the order in which they occur.

    Args:
        text: text in plain characters; see `readable_text.readable`.

    Examples:
        >>> [each.cell for each in mentions("D5, not 4e; the third column of row B; Z9", Grid.standard())]
        ['D5', 'E4', 'B3', None]
    """
    candidates = [*_in_words(text, grid), *_labels(text, grid)]
    candidates.sort(key=lambda mention: (mention.start, -mention.end))
    disjoint: list[CellMention] = []
    for mention in candidates:
        if not disjoint or mention.start >= disjoint[-1].end:
            disjoint.append(mention)
    return disjoint


def _labels(text: str, grid: Grid) -> Iterator[CellMention]:
    place = 0
    while match := _LABEL.search(text, place):
        letters, gap, digits = (match[1], match[2], match[3]) if match[1] else (match[6], match[5], match[4])
        place = match.end()
        sign = gap.strip()
        touching = gap in ("", "-", "_")
        upper = letters.isupper()
        if not (touching or upper or sign) and letters in "ai":
            place = match.start() + 1
            continue
        # "A 4 meter gap" and "white, 7" do not name a cell; "D 5" does.
        loose = not (touching or (upper and not sign and letters != "A")) or match[1] is None or not (upper or touching)
        cell = _label(grid, letters + digits)
        if cell or not loose:
            yield CellMention(match.start(), match.end(), cell, loose)


def _in_words(text: str, grid: Grid) -> Iterator[CellMention]:
    if not _AXIS_WORD.search(text):
        return
    for pattern in (*_IN_WORDS, _PAIR):
        for match in pattern.finditer(text):
            parts = match.groupdict("")
            row, col = _number(parts, "row", grid.rows), _number(parts, "col", grid.cols)
            inside = 1 <= row <= grid.rows and 1 <= col <= grid.cols
            yield CellMention(match.start(), match.end(), grid.label((row, col)) if inside else None)


def _number(parts: Mapping[str, str], axis: str, count: int) -> int:
    """Return the number of the row or column in a match, counted from the top or the left, from 1."""
    word = (parts[f"{axis}_after"] or parts[f"{axis}_before"]).lower()
    if word in _FIRST:
        return 1
    if word in _LAST:
        return count
    if digits := re.match("[0-9]+", word):
        number = int(digits[0])
    else:
        number = _NUMBER_OF.get(word) or ord(word) - ord("a") + 1
    side, origin = parts.get(f"{axis}_side", ""), parts.get(f"{axis}_origin", "")
    return count + 1 - number if re.fullmatch(_FAR_SIDE, side, re.I) or _FAR_ORIGIN.match(origin) else number


def _label(grid: Grid, text: str) -> str | None:
    try:
        return grid.label(text)
    except GridError:
        return None
