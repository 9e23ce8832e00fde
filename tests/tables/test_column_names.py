"""Names of columns in every spelling."""

import pytest

from adk_context_pack.tables.column_names import named


@pytest.mark.parametrize(("role", "names"), [
    ("identifier", "id|adGroup.id|campaignId|uuid|zip code|flight_number|the order no|room num|number|page_number"),
    ("identifier", "Rechnungsnr.|Kundennummer|Hausnummer|Artikel-Nr|numéro de commande|código postal"),
    ("identifier", "numer faktury|kod pocztowy|klantnummer|número de factura|Order #|No.|tax_code|EAN13|invoice"),
    ("time", "created_at|order_month|month|last_week|Rechnungsdatum|date de commande|Kalenderwoche|année|fecha pedido"),
    ("identifier", "status"), ("time", "year_built|fy|start_ms|Geschäftsjahr|rok|besteldatum|miesiąc"),
    ("rate", "ctr|averageCpc|cost_per_conversion|search_impression_share|Conversion Rate|score|Steuersatz"),
    ("rate", "taux de TVA|Anteil|tasa de rebote|średnia|requests_per_second|margin %|price_index|p95"),
    ("rate", "Verkaufspreis (€)|water_price|hours_to_merge|days on market|lead time (h)"), ("quantity", "hours worked"),
    ("quantity", "cost|cost_last_month|sales_month|logins_last_week|number of orders|# of seats"),
    ("quantity", "num_retries|nombre de ventes|número de pedidos|Umsatz|Bestellmenge|Einwohnerzahl|total price"),
    ("quantity", "montant HT|importe total|liczba zamówień|aantal|quantidade|rating_count|days|weeks|Umsatzsteuer"),
    ("", "grid|idle||wind|name|holidays|x|idle 0|1 - 30|61-90 days"), ("", "1," * 100_000),
    ("rate", "lat|Longitude|СтавкаНДС|account_age_days|temperature.value|p95:trace.duration|conversion_rate_v2"),
    ("quantity", "deaths_2020|number of products|amount.value|revenue_30_days|СуммаНДС"), ("time", "day of payment"),
])  # fmt: skip
def test_the_role_that_a_name_names(role, names):
    """Words and their places tell an identifier, a point in time, a rate and an amount apart, in eight languages."""
    roles = {"identifier", "time", "rate", "quantity"}
    assert {name: named(name) & roles for name in names.split("|")} == {
        name: {role} - {""} for name in names.split("|")
    }
