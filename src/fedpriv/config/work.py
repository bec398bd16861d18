"""What a run works through at one seed, before its data are there: examples, and floats that it holds."""

from typing import NamedTuple

from fedpriv.config.run import Run
from fedpriv.local.work import FedAvg

FORWARD = 1 / 3  # of the work that an example is forward and backward


class Size(NamedTuple):
    """What must be known of a dataset before it is there."""

    test: int  # examples
    each: int  # training examples of a client whose config does not say: of a writer, on average


SIZES = {
    "aptos": Size(500, 30),
    "digits": Size(359, 14),
    "fashion_mnist": Size(10_000, 600),
    "femnist": Size(77_483, 198),
    "fundus_synthetic": Size(100, 4),
    "mnist": Size(10_000, 600),
    "shakespeare": Size(334_000, 3_370),  # of the 4,226,158 examples that LEAF counts
}
OTHERS = SIZES["mnist"]  # what data of one's own are taken for: nobody has looked at them


class Work(NamedTuple):
    """The examples that a run works through at one seed."""

    trained: float  # forward and backward
    evaluated: float  # forward only

    @property
    def passes(self) -> float:
        """Return both, as examples forward and backward."""
        return self.trained + FORWARD * self.evaluated


def size(run: Run) -> Size:
    """Return the size of a run's dataset."""
    return SIZES.get(run.data, OTHERS)


def passed(run: Run) -> int:
    """Return how many examples a client works through in a round, of a drawn batch its expected size."""
    local, each = run.local, run.partition.each or size(run).each
    if isinstance(local, FedAvg):
        return local.steps * min(local.batch_size, each) if local.steps else local.epochs * each
    return local.batch_size or each


def members(run: Run) -> float:
    """Return how many clients work in a round.

    Followed clients who were not drawn work as well, and one that was drawn as its neighbour once more.
    """
    clients = run.partition.clients
    cohort = run.cohort.expected(clients)
    panel = min(run.probe.panel, clients) if run.scheme.measures else 0
    return cohort + panel * (1 - cohort / clients) + run.probe.neighbours * cohort / clients


def work(run: Run) -> Work:
    """Return what a run works through at one seed."""
    clients = run.partition.clients
    rounds = run.scheme.horizon(run.cohort, clients, run.rounds)
    evaluations = -(-rounds // run.evaluate_every)  # the last round's among them
    test = -(-(run.validation or size(run).test) // run.evaluation.stride)
    models = clients if run.evaluation.models == "clients" else 1
    return Work(rounds * members(run) * passed(run), evaluations * models * test)


def stacked(run: Run) -> float:
    """Return how many MB the weights of all clients take: of a cohort, or of all who keep their own."""
    clients = run.partition.clients if run.local.keeps_clients else members(run)
    return 4e-6 * clients * run.model.size(classes=10)
