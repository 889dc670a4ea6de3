"""Scenario files: read, played, judged, and made out of sessions."""
