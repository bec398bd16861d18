"""Flower: federated averaging with the server's clipping and noise, and the trace of it.

Needs `pip install "flwr[simulation]" dp-accounting`; writes trace.csv into the folder that is named.
"""

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.simulation import run_simulation
from flwr.supercore.privacy_accounting import NeighboringRelation, PrivacyConfig, SamplingMethod
from flwr.supercore.privacy_accounting.rdp_accountant import RdpAccountant

CLIENTS, COHORT, ROUNDS, DELTA = 20, 5, 15, 1e-5
NOISE_MULTIPLIER, CLIP_L2 = 4.0, 0.5

client_app, server_app = ClientApp(), ServerApp()
rows: list[dict[str, Any]] = []


@client_app.train()
def train(message: Message, context: Context) -> Message:
    """Take one step of linear regression on the client's own twenty examples."""
    (weights,) = message.content.array_records["arrays"].to_numpy_ndarrays()
    rng = np.random.default_rng(int(context.node_config["partition-id"]))
    x = rng.normal(size=(20, len(weights)))
    step = x.T @ (x @ weights - x.sum(axis=1)) / len(x)
    content = {"arrays": ArrayRecord([weights - 0.1 * step]), "metrics": MetricRecord({"num-examples": 20})}
    return Message(content=RecordDict(content), reply_to=message)


class Traced(DifferentialPrivacyServerSideFixedClipping):
    """Flower's strategy, which writes down what happened in every round."""

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self.population = len(list(grid.get_node_ids()))
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Any:
        replies = list(replies)
        weights = [next(iter(reply.content.metric_records.values()))["num-examples"] for reply in replies]
        share = max(weights) / sum(weights)  # of the mean, that one client has: Flower weighs by examples
        rows.append(
            {
                "unit": "client",
                "sampling_law": "fixed",  # so many of all, without replacement
                "population": self.population,
                "cohort_size": len(replies),
                "clip_l2": self.clipping_norm * COHORT * share,
                "noise_std": self.noise_multiplier * self.clipping_norm,  # COHORT times what is on the mean
            }
        )
        return super().aggregate_train(server_round, replies)


@server_app.main()
def serve(grid: Grid, context: Context) -> None:
    """Train, and say what Flower's own accountant counts."""
    averaging = FedAvg(
        fraction_train=COHORT / CLIENTS,
        fraction_evaluate=0.0,
        min_train_nodes=COHORT,
        min_available_nodes=CLIENTS,
    )
    neighbours, sampling = NeighboringRelation.ADD_OR_REMOVE_ONE, SamplingMethod.NO_AMPLIFICATION
    accountant = RdpAccountant(PrivacyConfig(DELTA, CLIENTS, neighbours, sampling))
    strategy = Traced(averaging, NOISE_MULTIPLIER, CLIP_L2, COHORT, accountant=accountant)
    strategy.start(grid, ArrayRecord([np.zeros(8)]), ROUNDS)
    print(f"Flower: epsilon {strategy.privacy_spent().epsilon:.6f}")


if __name__ == "__main__":
    run_simulation(server_app, client_app, CLIENTS, backend_config={"client_resources": {"num_cpus": 1}})
    with (Path(sys.argv[1]) / "trace.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
