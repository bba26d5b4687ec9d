import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # these tests run the same everywhere; a GPU's are asked for by name
