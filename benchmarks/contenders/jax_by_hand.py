"""What a user of JAX writes: `jit` of a round, `vmap` over clients in it, as fedjax and jax_privacy do."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # before it is imported
import jax
import jax.numpy as jnp
import numpy as np
import work
from laps import Laps
from workload import Workload

STACK = {"w1": 10, "w2": 100, "w4": 25, "w6": 100}  # clients at once: the fastest of some, on an H100
Params = dict[str, Any]


def pool(x: jax.Array) -> jax.Array:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def network(workload: Workload, params: Params, x: jax.Array) -> jax.Array:
    """Return the logits of images `[n, 28, 28]` uint8, or of features `[n, f]`."""
    activate = {"relu": jax.nn.relu, "tanh": jnp.tanh}[workload.activation]
    if workload.model == "head":
        return x.astype(jnp.float32) @ params["weight"].T + params["bias"]
    x = x[:, None].astype(jnp.float32) / 255
    for layer in ("conv1", "conv2"):
        weight, bias = params[f"{layer}.weight"], params[f"{layer}.bias"]
        form = ("NCHW", "OIHW", "NCHW")
        x = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=form)
        x = pool(activate(x + bias[:, None, None]))
    x = x.reshape(len(x), -1)
    layers = sum(name.startswith("dense") for name in params) // 2
    for number in range(layers):
        x = x @ params[f"dense.{number}.weight"].T + params[f"dense.{number}.bias"]
        x = activate(x) if number < layers - 1 else x
    return x


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train; `tf32` is JAX's own default on a GPU."""
    jax.config.update("jax_default_matmul_precision", "default" if dtype == "tf32" else "highest")
    with np.load(path) as file:
        x_train, y_train, x_test, y_test = (jnp.asarray(file[name]) for name in work.Data._fields)
        images = len(file["y_train"]) // workload.copies
    model = work.network(workload)
    params = start = {n: jnp.asarray(one.detach().cpu().numpy()) for n, one in model.named_parameters()}
    shares, rate = work.split(workload, images), workload.local_rate

    def loss(params: Params, rows: jax.Array) -> jax.Array:
        found = jax.nn.log_softmax(network(workload, params, x_train[rows]))
        return -jnp.take_along_axis(found, y_train[rows].astype(jnp.int32)[:, None], 1).mean()

    def step(
        state: tuple[Params, Params, Params], rows: jax.Array, count: Any
    ) -> tuple[Params, Params, Params]:
        """Take a step of Adam."""
        params, first, second = state
        gradient = jax.grad(loss)(params, rows)
        first = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, first, gradient)
        second = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, second, gradient)
        one, two = rate / (1 - 0.9**count), 1 - 0.999**count
        params = jax.tree.map(lambda w, a, b: w - one * a / (jnp.sqrt(b / two) + 1e-8), params, first, second)
        return params, first, second

    def local(params: Params, rows: jax.Array) -> Params:
        if workload.steps == 1:
            return jax.tree.map(lambda one: -rate * one, jax.grad(loss)(params, rows))
        whole, zeros = len(rows) // workload.batch * workload.batch, jax.tree.map(jnp.zeros_like, params)
        batches = rows[:whole].reshape(-1, workload.batch), jnp.arange(1.0, whole // workload.batch + 1)
        state, _ = jax.lax.scan(lambda s, given: (step(s, *given), None), (params, zeros, zeros), batches)
        if whole < len(rows):
            state = step(state, rows[whole:], whole // workload.batch + 1.0)
        return jax.tree.map(lambda a, b: a - b, state[0], params)

    def vector(tree: Params) -> jax.Array:
        return jnp.concatenate([one.reshape(len(one), -1) for one in jax.tree.leaves(tree)], 1)

    @jax.jit
    def round_of(params: Params, rows: jax.Array, key: jax.Array) -> tuple[Params, jax.Array, jax.Array]:
        stacks = rows.reshape(-1, STACK[workload.name], rows.shape[1])
        of_stack = jax.vmap(partial(local, params))
        updates = jax.lax.map(lambda held: vector(of_stack(held)), stacks)
        updates = updates.reshape(len(rows), -1)
        if workload.clip:
            norms = jnp.linalg.norm(updates, axis=1, keepdims=True)
            updates = updates * jnp.minimum(1, workload.clip / (norms + 1e-6))
        total, distances = updates.sum(0), jnp.zeros(())
        if workload.distances:
            chosen = updates[: workload.distances]
            others = (total - chosen) / (len(updates) - 1)
            distances = jnp.linalg.norm(chosen - others, axis=1).sum()
            distances += jnp.linalg.norm(chosen[::2] - chosen[1::2], axis=1).sum()
        norms = jnp.linalg.norm(updates, axis=1)
        total = total + workload.noise_std * jax.random.normal(key, total.shape)
        leaves, tree = jax.tree.flatten(params)
        parts = jnp.split(total, np.cumsum([one.size for one in leaves])[:-1])
        moved = [
            a + workload.rate / workload.cohort * b.reshape(a.shape)
            for a, b in zip(leaves, parts, strict=True)
        ]
        return jax.tree.unflatten(tree, moved), norms, distances

    @jax.jit
    def right(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
        return (network(workload, params, x).argmax(1) == y).sum()

    rng, key = np.random.default_rng(0), jax.random.key(0)
    for round_number in range(laps.total):
        rows = shares[work.cohort(workload, round_number)]
        rows = rng.permuted(rows, axis=1) if workload.steps > 1 else rows
        key, own = jax.random.split(key)
        params, norms, _ = round_of(params, jnp.asarray(rows), own)
        for _ in range(workload.cohort):
            laps.update(workload.each)
        if laps.warming:
            for norm in np.asarray(norms).tolist():
                laps.norm(norm)
        if laps.round + 1 in (laps.warm_up, laps.total):
            jax.block_until_ready(params)
        laps.after_round(lambda now=params: int(right(now, x_test, y_test)) / len(y_test))
    squares = jax.tree.map(lambda a, b: float(((a - b) ** 2).sum()), params, start)
    return {"moved": sum(jax.tree.leaves(squares)) ** 0.5, "library": f"jax {jax.__version__}"}
