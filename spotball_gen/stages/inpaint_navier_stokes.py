"""`inpaint`, kind `navier-stokes`: the ball painted over by continuing the lines of equal brightness around it."""

from __future__ import annotations

from spotball_gen.imaging.painting import OpenCVInpainting
from spotball_gen.items.pictures import opencv


class NavierStokes(OpenCVInpainting):
    """Paints what the mask covers as a fluid would flow into it. Nothing outside the mask changes.

    It is used as `spotball_gen.stages.inpaint_telea.Telea` is.

    Source:
        Bertalmio, Bertozzi, Sapiro (2001). Navier-Stokes, fluid dynamics, and image and video inpainting. CVPR.
    """

    kind = "navier-stokes"

    def _method(self) -> int:
        method: int = opencv().INPAINT_NS
        return method
