"""Run stages on items: configuration, engines, ledger, quotas and progress."""
