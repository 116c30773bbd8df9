"""Programs that make no sense, run on this library alone: none may crash, hang or fail internally."""
