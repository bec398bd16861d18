"""Who holds which examples: the laws by name; to add one, write its file and its line here."""

from fedpriv.partition.base import Partition, PartitionLaw, load_partition, save_partition
from fedpriv.partition.laws import Dirichlet, Iid, Natural, Shards

__all__ = ["PARTITIONS", "Partition", "PartitionLaw", "load_partition", "save_partition"]

PARTITIONS: dict[str, type[PartitionLaw]] = {
    "iid": Iid,
    "shards": Shards,
    "dirichlet": Dirichlet,
    "natural": Natural,
}
