"""Proposes a format for a dialect nobody described yet: from the lines that no pattern knows to a file that loads."""
