"""Options that cluster commands share; light, since it is imported for every command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Namespace; the context's own where absent.")
]
Kubeconfig = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="As kubectl: else KUBECONFIG.")
]
Context = Annotated[str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig.")]
