"""What passes are made of, and how they are run one after the other."""

from . import pass_base as pass_base
from . import pass_manager as pass_manager
