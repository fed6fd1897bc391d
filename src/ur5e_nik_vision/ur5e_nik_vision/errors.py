"""What this package refuses; each message says what was wrong and what would be right."""


class VisionError(ValueError):
    """Base of every refusal."""


class ColourError(VisionError):
    """A colour range that no pixel or every pixel would meet."""


class CalibrationError(VisionError):
    """Points, a camera model or a file that give no trustworthy calibration."""


class ImageError(VisionError):
    """An image message that cannot be converted."""
