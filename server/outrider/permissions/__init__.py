"""Decides what may happen: modes and session grants. It only decides; it touches nothing."""
