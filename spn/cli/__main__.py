"""``python -m spn.cli`` is the command ``spn``."""

from spn.cli.main import main

raise SystemExit(main())
