"""The ground floor: what the rooms speak in, and what they need from the outside.

Plain dataclasses and Protocols, standard library only; and `patterns`, through which every package matches foreign text.
"""
