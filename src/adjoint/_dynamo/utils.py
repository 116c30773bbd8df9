"""What programs ask of torch's compiler about itself."""


def is_compile_supported(device_type):
    """Whether code for a device can be compiled: no, it runs as Python."""
    return False
