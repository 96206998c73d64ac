"""Branches that data decide: their conditions are computed in lanes, before they are taken."""
