"""Words such as "yesterday", and the dates that they meant."""

from datetime import date

import pytest

from adk_context_pack.search.dates import relative_dates

SAID = date(2024, 3, 1)  # a Friday, the day after a leap day
MEANT = [
    ("I saw it yesterday and last night", {"yesterday": "Thu 29 Feb 2024", "last night": "Thu 29 Feb 2024"}),
    ("3天前去过 3 ปีที่แล้ว 5 лет назад", {"3天前": "Tue 27 Feb 2024", "3 ปีที่แล้ว": "2021", "5 лет назад": "2019"}),
    ("Gestern Abend, nicht vorgestern", {"gestern": "Thu 29 Feb 2024", "vorgestern": "Wed 28 Feb 2024"}),
    ("Letzten Montag, l\u2019altro ieri", {"letzten montag": "Mon 26 Feb 2024", "l'altro ieri": "Wed 28 Feb 2024"}),
    ("last Fri, this week", {"last fri": "Fri 23 Feb 2024", "this week": "Mon 26 Feb 2024 to Sun 3 Mar 2024"}),
    ("vendredi dernier, il y a deux mois", {"vendredi dernier": "Fri 23 Feb 2024", "il y a deux mois": "Jan 2024"}),
    ("hace tres días y el año pasado", {"hace tres días": "Tue 27 Feb 2024", "año pasado": "2023"}),
    ("due settimane fa, 5月2日前, 十二日前, 2-3日前", {"due settimane fa": "about Fri 16 Feb 2024"}),
    ("mês passado, sexta-feira passada", {"mês passado": "Feb 2024", "sexta-feira passada": "Fri 23 Feb 2024"}),
    ("지난 토요일에, السبت الماضي", {"지난 토요일": "Sat 24 Feb 2024", "السبت الماضي": "Sat 24 Feb 2024"}),
    ("İki gün önce, قبل ثلاثة أيام", {"iki gün önce": "Wed 28 Feb 2024", "قبل ثلاثة أيام": "Tue 27 Feb 2024"}),
    ("för tre dagar sedan, i går", {"tre dagar sedan": "Tue 27 Feb 2024", "i går": "Thu 29 Feb 2024"}),
    ("पिछले महीने, दो दिन पहले", {"पिछले महीने": "Feb 2024", "दो दिन पहले": "Wed 28 Feb 2024"}),
    ("她昨天去了 สามเดือนที่แล้ว", {"昨天": "Thu 29 Feb 2024", "สามเดือนที่แล้ว": "Dec 2023"}),
    ("last weekend; 3 months ago; next year, zeszłym tygodniu", {"3 months ago": "Dec 2023", "next year": "2025",
     "last weekend": "Sat 24 Feb 2024 to Sun 25 Feb 2024", "zeszłym tygodniu": "Mon 19 Feb 2024 to Sun 25 Feb 2024"}),
    ("上周五, 上周三个人, 上周日均, 大前天, 先週一番", {"上周五": "Fri 23 Feb 2024", "大前天": "Tue 27 Feb 2024",
     "上周": "Mon 19 Feb 2024 to Sun 25 Feb 2024", "先週": "Mon 19 Feb 2024 to Sun 25 Feb 2024"}),
    ("lundi prochain, dans dix jours", {"lundi prochain": "Mon 4 Mar 2024", "dans dix jours": "Mon 11 Mar 2024"}),
    ("We met on Monday. Friday it is. 월요일에", {"monday": "Mon 26 Feb 2024 or Mon 4 Mar 2024"}),
    ("Der Preis ist hier morgen gleich, a few days, next Friday, mon dernier livre, mañana. I sat", {}),
    ("Montag in zwei Wochen. Friday 8 March. It was a Sunday. na segunda vez. Jeden Freitag. See Ruby Tuesday", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), MEANT, ids=[text for text, _ in MEANT])
def test_what_words_meant_on_the_day_they_were_said(text, meant):
    """Days, weeks, months and years are counted back or on from that day, and words of two meanings are left alone."""
    assert relative_dates(text, SAID) == meant
