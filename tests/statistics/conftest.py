"""What starts a service lies beside the service's own tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "web"))
