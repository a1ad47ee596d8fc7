"""Dates as feeds write them: RFC 822 in all its broken forms, ISO 8601, and a few of people's own.

No locale and no guessing: what has two readings, such as 03/04/2026, has none.
"""

import re
from datetime import date
from typing import Final

FIRST_YEAR: Final = 1450
LAST_YEAR: Final = 2300
_LOOKED_AT: Final = 80
_DAY: Final = 86_400
_EPOCH_DAY: Final = 719_163  # date(1970, 1, 1).toordinal()
_CLOCK: Final = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{1,2})(?:[:.](?P<second>\d{1,2}))?(?:[.,]\d{1,9})?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?(?![^\W\d]))?"
)
_ZONE: Final = r"\s*(?P<zone>(?:GMT|UTC|UT)?\s*[+-]\s*\d{1,2}:?\d{0,2}|[A-Za-z]{1,32}(?![^\W\d]))?"
_MONTH: Final = r"(?P<month>[^\W\d_]{3,12})\.?"
_WEEKDAY: Final = r"(?:[^\W\d_]{2,14}[\s.,][\s,]*)?"
_NO_MORE: Final = r"(?!.*\d)"
_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        # 2026-11-16T03:14:01.5+01:00, 2026/11/16 3:14, 20261116T031401Z, 2026-11, 2026
        (
            r"(?P<year>\d{4})(?P<gap>[-/.]?)(?P<number>\d{2})(?P=gap)(?P<day>\d{1,2})"
            rf"(?:(?:[Tt]|\s*,?\s*|-){_CLOCK}{_ZONE})?"
        ),
        (
            r"(?P<year>\d{4})(?P<number>\d{2})(?P<day>\d{2})[Tt]?"
            rf"(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?P<second>\d{{2}})?{_ZONE}"
        ),
        rf"(?P<year>\d{{4}})-(?P<number>\d{{1,2}})(?:-(?P<day>\d{{1,2}}))?{_NO_MORE}",
        r"(?P<year>\d{4})-?[Ww](?P<week>\d{2})(?:-?(?P<weekday>\d))?",
        r"(?P<year>\d{4})-(?P<ordinal>\d{3})",
        rf"(?P<year>\d{{4}}){_NO_MORE}",
        # Mon, 16 Nov 2026 03:14:01 GMT; 16-Nov-26 3:14 PM; 16. November 2026
        (
            rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[\s.-]*(?:de\s+)?{_MONTH}[\s,-]*(?:de\s+)?"
            rf"(?P<year>\d{{2,4}})(?:[\s,T-]+(?:at\s+|um\s+)?{_CLOCK}{_ZONE})?"
        ),
        # Mon Nov 16 03:14:01 UTC 2026
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_CLOCK}{_ZONE}\s+(?P<year>\d{{4}})",
        # November 16, 2026, 3:14 PM
        (
            rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s+(?P<year>\d{{4}})"
            rf"(?:[\s,-]+(?:at\s+)?{_CLOCK}{_ZONE})?"
        ),
        # 16.11.2026 03:14: with dots, the day always goes first
        (
            rf"(?P<day>\d{{1,2}})\.\s?(?P<number>\d{{1,2}})\.\s?(?P<year>\d{{4}})"
            rf"(?:[\s,]+{_CLOCK}{_ZONE})?"
        ),
    )
)
_SECONDS: Final = re.compile(r"\d{9,10}")
_MILLISECONDS: Final = re.compile(r"\d{12,13}")
_OFFSET: Final = re.compile(r"(?:GMT|UTC|UT)?\s*([+-])\s*(\d{1,2}):?(\d{2})?", re.IGNORECASE)
_HOURS: Final = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0,
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "akst": -9, "akdt": -8, "hst": -10, "ast": -4, "adt": -3, "nst": -3.5, "ndt": -2.5,
    "art": -3, "brt": -3, "clt": -4, "cot": -5, "pet": -5,
    "bst": 1, "west": 1, "cet": 1, "met": 1, "mez": 1, "cest": 2, "mest": 2, "mesz": 2,
    "eet": 2, "eest": 3, "sast": 2, "cat": 2, "eat": 3, "wat": 1, "msk": 3, "msd": 4, "trt": 3,
    "gst": 4, "pkt": 5, "ist": 5.5, "npt": 5.75, "bdt": 6, "ict": 7, "wib": 7, "hkt": 8,
    "sgt": 8, "pht": 8, "awst": 8, "jst": 9, "kst": 9, "acst": 9.5, "aest": 10, "acdt": 10.5,
    "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip
# By language; those of several are written once.
_MONTHS: Final = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "jänner feber mrz . . . . . sept okt . dez",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv fevrier . avr . . juil aout . . . decembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "ene fév . abr . . . ago setiembre . . dic",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        ". fev marco . . . . . set out . .",
        (
            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
            "dicembre"
        ),
        "gen . . . mag giu lug . . ott . .",
        "januari februari maart april mei juni juli augustus september oktober november december",
        ". . mrt . . . . . . . . .",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "янв фев мар апр май июн июл авг сен окт ноя дек",
        (
            "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
            "listopada grudnia"
        ),
        "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",  # noqa: RUF001 -- Turkish
        "januari februari mars april maj juni juli augusti september oktober november december",
        "januar februar marts april maj juni juli august september oktober november december",
    )
    for number, name in enumerate(names.split(), 1)
    if name != "."
}


def moment_of(text: str) -> int | None:
    """Return the seconds since 1970 that a date means; None if it is none, or an absurd one."""
    text = " ".join(text[:_LOOKED_AT].split())
    for form in _FORMS:
        found = form.match(text)
        # Something behind a date is a comment; a digit or letter right behind makes it no date.
        if found and not text[found.end() :][:1].isalnum():
            return _moment(found.groupdict())
    if _SECONDS.fullmatch(text):
        return _sane(int(text))
    return _sane(int(text) // 1_000) if _MILLISECONDS.fullmatch(text) else None


def _moment(parts: dict[str, str | None]) -> int | None:
    day = _day(parts)
    if day is None:
        return None
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    half = (parts.get("half") or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    # 24:00 is the end of the day; a second 60 is a leap second.
    if hour > 24 or minute > 59 or second > 60:
        return None
    seconds = hour * 3_600 + minute * 60 + min(second, 59)
    return _sane(day * _DAY + seconds - _offset(parts.get("zone") or ""))


def _day(parts: dict[str, str | None]) -> int | None:
    """Return the number of the day since 1970."""
    year = _year(parts["year"] or "")
    try:
        if parts.get("week"):
            found = date.fromisocalendar(year, int(parts["week"] or 1), int(parts["weekday"] or 1))
        elif parts.get("ordinal"):
            number = int(parts["ordinal"] or 1)
            found = date.fromordinal(date(year, 1, 1).toordinal() + number - 1)
            if not number or found.year != year:
                return None
        else:
            found = date(year, _month(parts), int(parts.get("day") or 1))
    except (ValueError, OverflowError):
        return None
    return found.toordinal() - _EPOCH_DAY


def _year(digits: str) -> int:
    """Return the year as RFC 5322, 4.3 reads it."""
    year = int(digits)
    if len(digits) == 2:
        return year + (2_000 if year < 50 else 1_900)
    return year + 1_900 if len(digits) == 3 else year


def _month(parts: dict[str, str | None]) -> int:
    """Return the number of the month; 0, which no month has, for an unknown name."""
    name = parts.get("month")
    if name is None:
        return int(parts.get("number") or 1)
    name = name.lower()
    return _MONTHS.get(name) or (_MONTHS.get(name[:3], 0) if name.isascii() else 0)


def _offset(zone: str) -> float:
    """Return the seconds that a zone is ahead of UTC; an unknown one is taken for UTC."""
    found = _OFFSET.fullmatch(zone)
    if not found:
        return _HOURS.get(zone.strip().lower(), 0) * 3_600
    sign, hours, minutes = found.groups()
    seconds = int(hours) * 3_600 + int(minutes or 0) * 60
    # No place on Earth is further away: such an offset is a mistake, and says nothing.
    if seconds > 15 * 3_600:
        return 0
    return -seconds if sign == "-" else seconds


def _sane(moment: float) -> int | None:
    return int(moment) if _FIRST <= moment < _END else None


_FIRST: Final = (date(FIRST_YEAR, 1, 1).toordinal() - _EPOCH_DAY) * _DAY
_END: Final = (date(LAST_YEAR + 1, 1, 1).toordinal() - _EPOCH_DAY) * _DAY
