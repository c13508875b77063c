from . import nvtx  # noqa


class amp:
    @staticmethod
    def autocast():
        from .. import no_grad
        return no_grad()
