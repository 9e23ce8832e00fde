"""Names of columns in every spelling."""

import pytest

from adk_context_pack.tables.names import is_total_label, meanings_of, named, snake_case, words


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("metrics.costMicros", "cost_micros"), ("metrics.cost_micros", "cost_micros"), ("costMicros", "cost_micros"),
        ("adGroup.id", "ad_group.id"), ("segments.adNetworkType", "segments.ad_network_type"),
        ("Channel0_spend", "Channel0_spend"),
        ("Cost (USD)", "Cost (USD)"), ("", ""), ("metrics.clicks", "clicks"), ("Metrics.Cost", "Metrics.Cost"),
    ],
)  # fmt: skip
def test_one_spelling(name, plain):
    """Camel case and the API's prefix go; names of people's own making stay as they are."""
    assert snake_case(name) == plain


def test_words():
    """The words of a name are those of its last segment."""
    assert words("metrics.costPerHTTPRequest") == ("cost", "per", "http", "request")
    assert words("---") == ()


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("identifier", "id|adGroup.id|campaignId|uuid|zip code|flight_number|the order no|room num|number|page_number"),
        (
            "identifier",
            "Rechnungsnr.|Kundennummer|Hausnummer|Artikel-Nr|numéro de commande|código postal|codice fiscale",
        ),
        (
            "identifier",
            "numer faktury|kod pocztowy|klantnummer|número de factura|Order #|No.|tax_code|status|EAN13|invoice",
        ),
        (
            "time",
            "created_at|order_month|month|last_week|Rechnungsdatum|date de commande|Kalenderwoche|année|fecha pedido",
        ),
        ("time", "year_built|fy|start_ms|epoch_us|Geschäftsjahr|rok|besteldatum|miesiąc"),
        (
            "rate",
            "ctr|averageCpc|cost_per_conversion|search_impression_share|Conversion Rate|score|Steuersatz|taux de TVA",
        ),
        ("rate", "percentage|Anteil|tasa de rebote|średnia|requests_per_second|margin %|price_index|p95|temperature"),
        ("coordinate", "lat|Longitude|Breitengrad|latitud"),
        ("quantity", "cost|clicks_per_day|cost_last_month|sales_month|logins_last_week|number of orders|# of seats"),
        (
            "quantity",
            "num_retries|nombre de ventes|número de pedidos|Umsatz|Bestellmenge|Einwohnerzahl|Verkaufspreis (€)",
        ),
        ("quantity", "montant HT|importe total|liczba zamówień|aantal|quantidade|rating_count|days|years|Umsatzsteuer"),
        ("", "grid|idle||wind|name|holidays|x|Unnamed: 0"),
    ],
)
def test_the_role_that_a_name_names(role, names):
    """Words and their places tell an identifier, a point in time, a rate and an amount apart, in eight languages."""
    roles = {"identifier", "time", "rate", "coordinate", "quantity"}
    assert {name: named(name) & roles for name in names.split("|")} == {
        name: {role} - {""} for name in names.split("|")
    }


@pytest.mark.parametrize(
    ("name", "meanings"),
    [
        ("memory", {"bytes", "quantity"}),
        ("customer.currency_code", {"currency", "identifier"}),
        ("Währung", {"currency"}),
        ("release", {"version", "rate"}),
        ("time", {"moment"}),
        ("tax_year", {"money", "quantity", "dated"}),
        ("is_new", {"flag"}),
    ],
)
def test_other_meanings(name, meanings):
    """Beside its role, a name tells money, bytes, currencies, versions, flags, and that a word of time is in it."""
    assert named(name) == meanings


def test_the_longest_ending_counts():
    """Of the endings of a compound the longest one gives its meaning, and a whole word goes before an ending."""
    assert (meanings_of("postleitzahl"), meanings_of("stuckzahl")) == ({"identifier"}, {"count"})
    assert (meanings_of("nettoumsatz"), meanings_of("zinssatz")) == ({"money"}, {"rate"})


@pytest.mark.parametrize(
    ("text", "is_label"),
    [("Total", True), ("GRAND TOTAL", True), ("Gesamt:", True), ("Totale generale", True), ("Summe", True),
     ("Razem", True), ("Total Wine & More Store", False), ("Oslo", False), ("", False)],
)  # fmt: skip
def test_labels_of_totals(text, is_label):
    """A short text that begins or ends with a word for a total is the label of one."""
    assert is_total_label(text) is is_label
