"""Schema 2: the ledger counts in whole micro-dollars, and knows what it does not know.

A sum of floating point dollars drifts, and a model without a price looked free. NULL is a
price nobody knows. Costs nothing: no new index, the table has a row for each call.
"""

from __future__ import annotations

NAME = "whole micro-dollars in the ledger"

# Gives a row where the step has been done already.
DONE = "SELECT 1 FROM pragma_table_info('observer_runs') WHERE name = 'cost_microusd'"

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE observer_runs ADD COLUMN cost_microusd INTEGER",
    # Paid calls were never free: 0 stood for a model that was not on the price list.
    """UPDATE observer_runs SET cost_microusd = CAST(round(cost_usd * 1000000) AS INTEGER)
        WHERE cost_usd > 0
        OR input_tokens + output_tokens + cache_read_tokens + cache_write_tokens = 0""",
    "ALTER TABLE observer_runs DROP COLUMN cost_usd",
)
