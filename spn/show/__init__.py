"""How results look as text: numbers with units, tables, and the printing form of results. Nothing here computes."""
