"""Makes `sample_messages` importable: hand-written classes, so that the runtime is tested without generated ones."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
