"""Run stages on items: configuration, engines, the ledger, quotas and progress."""
