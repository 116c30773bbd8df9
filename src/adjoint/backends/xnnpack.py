"""XNNPACK, which computes on telephones: not here."""

enabled = False
