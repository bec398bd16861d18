"""Who holds which examples: the laws by name; to add one, write its file and its line here."""

from fedpriv.partition.base import PartitionLaw
from fedpriv.partition.dealt import Partition, load, save
from fedpriv.partition.dirichlet import Dirichlet
from fedpriv.partition.iid import Iid
from fedpriv.partition.natural import Natural
from fedpriv.partition.shards import Shards

__all__ = ["PARTITIONS", "Partition", "PartitionLaw", "load", "save"]

PARTITIONS: dict[str, type[PartitionLaw]] = {
    "iid": Iid,
    "shards": Shards,
    "dirichlet": Dirichlet,
    "natural": Natural,
}
