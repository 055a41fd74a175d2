"""Where things are in the checkout."""

from pathlib import Path

__all__ = ["BASE", "DEPLOY", "ROOT"]

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
BASE = DEPLOY / "kustomize" / "base"
