"""The language server: what an editor asks about a model text. Everything but :mod:`spn.lsp.server` is plain functions on texts."""
