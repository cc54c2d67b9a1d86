"""
Writes golden.txt: where calendar windows begin from 2000 to 2040, in every time zone. It shares no code and no data with headgate.
It reads compiled time zones by Python's zoneinfo, finds the moments at which the clocks change, and asks for the first moment whose
local date is a given date or later.

    python3 test/calendar/golden.py DIRECTORY... > test/calendar/golden.txt

Each directory has the compiled zones of one version of the time zone database, and tzdata.zi, whose first line says the version:
/usr/share/zoneinfo of a Debian package, or tzdata/zoneinfo of the package tzdata on PyPI. Give the oldest version first.
"""
import calendar
import hashlib
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST, LAST = (int(datetime(year, 1, 1, tzinfo=timezone.utc).timestamp()) for year in (2000, 2041))
DAY = 86_400
# Some days more on each side, for windows that begin before FIRST in UTC.
DAYS = [date(1999, 12, 20) + timedelta(days) for days in range((LAST - FIRST) // DAY + 24)]

DAYS_OF_MONTH = (1, 15, 29, 30, 31)
MONTHS_OF_ANCHORS = (1, 2, 5, 12)
NAMED = (
    "Pacific/Apia", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut",
    "America/Sao_Paulo", "America/Havana", "Africa/Casablanca", "Antarctica/Troll",
)


def offset(zone, second):
    return int((EPOCH + timedelta(seconds=second)).astimezone(zone).utcoffset().total_seconds())


def spans(zone):
    """The times between two changes of the clocks: the first second, the second after the last, and the offset from UTC."""
    step = 6 * 3600
    begin, found = FIRST - 40 * DAY, []
    last = offset(zone, begin)
    for later in range(begin + step, LAST + 40 * DAY, step):
        if (now := offset(zone, later)) == last:
            continue
        low, high = later - step, later
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(zone, middle) == last else (low, middle)
        found.append((begin, high, last))
        begin, last = high, now
    return found + [(begin, LAST + 40 * DAY, last)]


def starts(zone):
    """The first second of each date."""
    remaining, first = spans(zone), {}
    for day in DAYS:
        midnight = (day - date(1970, 1, 1)).days * DAY
        # The first second that is in a span and whose local date is this one or later.
        while (second := max(remaining[0][0], midnight - remaining[0][2])) >= remaining[0][1]:
            remaining.pop(0)
        first[day] = second
    return first


def clamped(year, month, day):
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))


def in_months(every):
    """The dates on which windows of so many months begin, for anchors on several days of several months of the year 2000."""
    months = [(year, month) for year in range(1999, 2042) for month in range(1, 13)]
    for anchor in MONTHS_OF_ANCHORS if every > 1 else (1,):
        for day in DAYS_OF_MONTH:
            if day <= calendar.monthrange(2000, anchor)[1]:
                yield [clamped(year, month, day) for year, month in months if (month - anchor) % every == 0]


# The dates on which windows begin, for each rule of each group. 1999-12-20 is a Monday.
RULES = {
    "day": [DAYS],
    "week": [DAYS[first::7] for first in range(7)],
    "month": list(in_months(1)),
    "quarter": list(in_months(3)),
    "year": list(in_months(12)),
}


def digest(first, rules):
    """The sha256 of all boundaries, one line for each rule. Windows without any moment are left out."""
    lines = []
    for days in rules:
        seconds = sorted({first[day] for day in days if day in first})
        lines.append(" ".join(str(second) for second in seconds if FIRST <= second < LAST))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def uneven(first):
    """The dates that do not have 24 hours, with the time in UTC at which they begin, and their minutes."""
    for day in DAYS[:-1]:
        minutes = (first[day + timedelta(1)] - first[day]) // 60
        if minutes != 1440 and FIRST <= first[day] < LAST:
            yield f"{day} {datetime.fromtimestamp(first[day], timezone.utc):%Y-%m-%dT%H:%M:%SZ} {minutes}"


def zones(directory):
    """The names and files of the zones. Not right/ (with leap seconds), posix/ (again the same), nor names that are no zones."""
    for file in sorted(directory.rglob("*")):
        name = file.relative_to(directory).as_posix()
        if name.startswith(("posix/", "right/")) or name in ("Factory", "localtime", "posixrules") or not file.is_file():
            continue
        if file.read_bytes()[:4] == b"TZif":
            yield name, file


def main():
    versions, lines, named, known = [], {}, {}, {}
    for directory in map(Path, sys.argv[1:]):
        version = (directory / "tzdata.zi").read_text().split("\n")[0].removeprefix("# version ")
        versions.append(version)
        for name, file in zones(directory):
            compiled = file.read_bytes()
            if compiled not in known:
                with file.open("rb") as opened:
                    first = starts(ZoneInfo.from_file(opened))
                known[compiled] = " ".join(digest(first, rules) for rules in RULES.values()), list(uneven(first))
            digests, days = known[compiled]
            for table, value in ((lines, digests), (named, days)):
                history = table.setdefault(name, [])
                if not history or history[-1][1] != value:
                    history.append((version, value))
    print("versions", *versions)
    print("groups", *RULES)
    for name, history in sorted(lines.items()):
        for version, digests in history:
            print(name, version, digests)
    for name in NAMED:
        for version, days in named[name]:
            print()
            print(name, version)
            print("\n".join(days))


main()
