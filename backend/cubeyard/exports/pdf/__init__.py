"""The install pack: what the cabling crew prints and works from."""

from cubeyard.exports.pdf.pack import install_pack

__all__ = ["install_pack"]
