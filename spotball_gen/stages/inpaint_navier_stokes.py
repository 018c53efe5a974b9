"""Stage `inpaint`, kind `navier-stokes`: inpaint the ball by continuing lines of equal brightness."""

from __future__ import annotations

from spotball_gen.imaging.painting import OpenCVInpainting
from spotball_gen.items.pictures import opencv


class NavierStokes(OpenCVInpainting):
    """Inpaint the mask with a method based on equations of fluid dynamics. Pixels outside the mask do not change.

    For an example, see `spotball_gen.stages.inpaint_telea.Telea`, which is used in the same way.

    Source:
        Bertalmio, Bertozzi, Sapiro (2001). Navier-Stokes, fluid dynamics, and image and video inpainting. CVPR.
    """

    kind = "navier-stokes"

    def _method(self) -> int:
        method: int = opencv().INPAINT_NS
        return method
