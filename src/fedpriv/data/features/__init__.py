"""From photographs or images to fixed features, computed once and kept.

manifest → chosen images → augmented copies → backbone → resources/<arrays_id>.npz
"""

# Raised when a change of the code changes features, so that old ones are not taken for new ones.
FEATURES_VERSION = 1
