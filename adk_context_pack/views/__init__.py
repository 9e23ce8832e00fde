"""State shown in instructions: choosing fields, and filling in where ADK put the instruction."""
