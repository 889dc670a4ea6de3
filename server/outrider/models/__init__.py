"""The providers behind `ports.model.Model`. Decides nothing; runs no tool."""
