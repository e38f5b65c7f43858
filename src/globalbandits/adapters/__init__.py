"""Doors to other libraries: our worlds and policies in theirs, and theirs in ours.

Nothing here is loaded unless it is imported; each module needs the library it is named after.
"""
