"""What the small network computes, written out in PyTorch for any float type."""

from __future__ import annotations

import math

import torch
from fedpriv_engines.native.steps import Adam, SmallNet
from torch.nn import functional as F

from fedpriv.models.base import unflatten
from fedpriv.models.bnn import Bnn
from fedpriv.models.nets import Cnn

FLOAT = SmallNet(100, 10)
NORMAL = SmallNet(100, 10, binary=True, norm=True, binarise_input=True, threshold=0.1307)
NETS = {
    "float": FLOAT,
    "float, odd": SmallNet(37, 62),
    "binary": NORMAL,
    "binary, odd": SmallNet(37, 62, binary=True, norm=True, binarise_input=True, threshold=0.5),
    "binary, grey": NORMAL._replace(binarise_input=False),
    "binary, no norm": NORMAL._replace(norm=False),
    "binary, no norm, grey": NORMAL._replace(norm=False, binarise_input=False),
}
BIASES = ("dense1.bias", "dense2.bias")  # before a normalisation their gradient is zero but for rounding


def shapes(net: SmallNet):
    if not net.binary:
        return Cnn(widths=(16, 16, net.hidden), kernel=3, activation="tanh").shapes(net.classes)
    return Bnn(widths=(16, 16, net.hidden), bn="shared" if net.norm else "none").shapes(net.classes)


def example(net: SmallNet, n: int, seed: int = 0):
    """Return images with large bright and dark areas, labels and weights."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(n, 1, 21, 21, generator=generator)
    images = (255 * F.interpolate(coarse, size=(28, 28), mode="bilinear")[:, 0]).byte().contiguous()
    labels = torch.randint(0, net.classes, (n,), generator=generator)
    weights = torch.empty(net.size)
    for name, view in unflatten(weights, shapes(net)).items():
        if not name.startswith("norm"):
            size = 1 if net.binary else 1 / math.sqrt(view[0].numel()) if view.dim() > 1 else 0.1
            view.copy_(size * (2 * torch.rand(view.shape, generator=generator) - 1))
        elif name.endswith(".weight"):
            view.copy_(torch.randn(view.shape, generator=generator))  # of both signs
        elif name.endswith(".variance"):
            view.copy_(1 + torch.rand(view.shape, generator=generator))
        else:
            view.copy_(torch.randn(view.shape, generator=generator) / 4)
    return images, labels, weights


def reference(net: SmallNet, used, images, training: bool):
    """Return the logits and the running statistics afterwards, all from weights `used`, in their type."""
    p = unflatten(used, shapes(net))
    running = {
        name: tensor.detach().clone() for name, tensor in p.items() if name.endswith(("mean", "variance"))
    }

    def sign(x):
        return x + (torch.where(x >= 0, 1.0, -1.0) - x).detach() if net.binary else x

    def normal(layer, z, terms):
        if not net.norm:
            return z / math.sqrt(terms) if net.binary else z
        names = [f"norm{layer}.{part}" for part in ("mean", "variance", "weight", "bias")]
        mean, variance = (running[name] for name in names[:2])
        column = (-1, *[1] * (z.dim() - 2))
        if training:
            places = (0, *range(2, z.dim()))
            mean, variance = z.mean(places), z.var(places, correction=0)
            count = z.numel() // z.shape[1]
            for name, found in zip(names, (mean, variance * count / max(count - 1, 1)), strict=False):
                running[name] += 0.1 * (found.detach() - running[name])
        z = (z - mean.view(column)) / (variance + 1e-5).sqrt().view(column)
        return z * p[names[2]].view(column) + p[names[3]].view(column)

    x, unit = images[:, None].to(used.dtype), 255  # divided by later: sums of integers are exact
    if net.binary and net.binarise_input:
        x, unit = torch.where(x.float() / 255 - net.threshold >= 0, 1.0, -1.0).to(used.dtype), 1
    z = F.conv2d(x, p["conv1.weight"], padding=1) / unit
    z = z if net.binary else z + p["conv1.bias"].view(-1, 1, 1)
    x = F.max_pool2d(normal(1, z, 9), 2).tanh()
    z = normal(2, F.conv2d(sign(x), p["conv2.weight"], p.get("conv2.bias"), padding=1), 144)
    x = F.max_pool2d(z, 2).tanh().flatten(1)
    x = normal(3, F.linear(x, p["dense1.weight"].flatten(1), p["dense1.bias"]), 784).tanh()
    return normal(4, F.linear(sign(x), p["dense2.weight"].flatten(1), p["dense2.bias"]), net.hidden), running


def binarised(net: SmallNet, weights, uniforms=None):
    if not net.binary:
        return weights.clone()
    head = weights[: net.bits]
    positive = head >= 0 if uniforms is None else uniforms[: net.bits] < (1 + head) / 2
    return torch.cat([torch.where(positive, 1.0, -1.0).to(weights.dtype), weights[net.bits :]])


def reference_gradient(net: SmallNet, weights, images, labels, uniforms=None):
    """Return the loss, its gradient and the running statistics afterwards."""
    used = binarised(net, weights, uniforms).requires_grad_()
    found, running = reference(net, used, images, True)
    loss = F.cross_entropy(found, labels)
    (gradient,) = torch.autograd.grad(loss, used)
    for name, view in unflatten(gradient, shapes(net)).items():
        if (net.norm and name in BIASES) or name in running:
            view.zero_()
    return float(loss.detach()), gradient, running


def reference_train(net: SmallNet, images, labels, batches, weights, how: Adam, start, uniforms=None):
    weights, loss = weights.double(), 0.0
    first, second = torch.zeros_like(weights), torch.zeros_like(weights)
    for step, batch in enumerate(batches):
        drawn = None if uniforms is None else uniforms[step]
        loss, gradient, running = reference_gradient(net, weights, images[batch], labels[batch], drawn)
        trained = torch.ones_like(weights)
        for name, view in unflatten(trained, shapes(net)).items():
            view.fill_(float(name not in running))
        if how.proximal:
            gradient = gradient + how.proximal * (weights - start.double()) * trained
        if how.clip:
            gradient = gradient * min(1.0, how.clip / float(gradient.norm()))
        first = how.beta1 * first + (1 - how.beta1) * gradient
        second = how.beta2 * second + (1 - how.beta2) * gradient**2
        root = (second / (1 - how.beta2 ** (step + 1))).sqrt() + 1e-8
        weights = weights - how.rate / (1 - how.beta1 ** (step + 1)) * first / root
        if net.binary:
            weights[: net.bits] = weights[: net.bits].clamp(-1, 1)
        for name, view in unflatten(weights, shapes(net)).items():
            if name in running:
                view.copy_(running[name])
    return loss, weights, first, second
