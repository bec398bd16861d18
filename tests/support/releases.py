"""Mechanisms of kinds that papers have, sound ones and such with a fault in what they release.

The faults are of three groups: joint laws of noise, second releases and what the server makes of releases,
cohorts. What each says of itself is what a sound one would, with a noise multiplier of 2.
"""

import math
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy import special, stats

from fedpriv.mechanisms.clipping import Bounded, clip, norms_of
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.mechanisms.sampling import Fixed, Poisson
from fedpriv.schemes import ClientDP, NbAFL
from fedpriv.schemes.base import Scheme
from fedpriv.streams import Streams
from support.dry_faults import Noisy


def unit(size, seed=5):
    """Return a unit vector that only its author knows."""
    vector = torch.from_numpy(np.random.default_rng(seed).standard_normal(size))
    return vector / vector.norm()


# Joint laws of noise. ---------------------------------------------------------------------------------------


class ZeroSum(Noisy):
    """No noise in the sum of all numbers."""

    def noise(self, context, total, bounded):
        noise = super().noise(context, total, bounded)
        return (noise - noise.mean()) * math.sqrt(len(noise) / (len(noise) - 1))


class ZeroAlternating(Noisy):
    def noise(self, context, total, bounded):
        signs = (-1.0) ** torch.arange(len(total))
        noise = super().noise(context, total, bounded) * signs
        return (noise - noise.mean()) * signs * math.sqrt(len(noise) / (len(noise) - 1))


class ZeroPerTensor(Noisy):
    """No noise in the sum of a tensor: all weights of a layer moved together."""

    def noise(self, context, total, bounded):
        parts = super().noise(context, total, bounded).split(context.tensors)
        return torch.cat([(part - part.mean()) * math.sqrt(len(part) / (len(part) - 1)) for part in parts])


class ZeroAlongOne(Noisy):
    """No noise along a direction that nobody would look along."""

    def noise(self, context, total, bounded):
        noise, along = super().noise(context, total, bounded).double(), unit(len(total))
        return ((noise - (noise @ along) * along) * math.sqrt(1 + 1 / len(total))).to(total)


class LittleAlongOne(Noisy):
    """A fifth of the noise along a direction that nobody would look along."""

    def noise(self, context, total, bounded):
        noise, along = super().noise(context, total, bounded).double(), unit(len(total))
        return (noise - 0.8 * (noise @ along) * along).to(total)


class ZeroInBlocks(Noisy):
    """Every ten numbers in a row add up to nothing."""

    def noise(self, context, total, bounded):
        parts = super().noise(context, total, bounded).reshape(-1, 10)
        return ((parts - parts.mean(1, keepdim=True)) * math.sqrt(10 / 9)).ravel()


class FewDirections(Noisy):
    """Noise of a hundred normals, spread over all numbers."""

    def noise(self, context, total, bounded):
        few = context.noise("noise").like(total[: len(total) // 5])
        basis = np.linalg.qr(np.random.default_rng(3).standard_normal((len(total), len(few))))[0]
        return torch.from_numpy(basis * math.sqrt(len(total) / len(few))).to(total) @ few


class OneLength(Noisy):
    """Noise that is as long in every round."""

    def noise(self, context, total, bounded):
        noise = super().noise(context, total, bounded)
        return noise * math.sqrt(len(noise)) / noise.norm()


class CommonScale(Noisy):
    """All numbers of a round have the same random scale."""

    def noise(self, context, total, bounded):
        scale = (0.3 * context.noise("scale").like(total[:1]) - 0.09).exp()
        return super().noise(context, total, bounded) * scale


class ZerosHereAndThere(Noisy):
    def noise(self, context, total, bounded):
        there = context.noise("where").like(total) > -2.4
        return super().noise(context, total, bounded) * there / math.sqrt(1 - special.ndtr(-2.4))


class CopiesHereAndThere(Noisy):
    """One number in ten is that of another place, with either sign."""

    def noise(self, context, total, bounded):
        noise, rng = super().noise(context, total, bounded), context.streams.numpy("where", context.number)
        places = rng.permutation(len(noise))[: len(noise) // 5]
        noise[places[::2]] = noise[places[1::2]] * torch.from_numpy(
            rng.choice([-1.0, 1.0], len(noise) // 10)
        ).to(noise)
        return noise


class ComesAgainElsewhere(Noisy):
    """Half of the noise is that of the round before, one place on: what is known of it can be taken off."""

    def noise(self, context, total, bounded):
        now, before = (context.streams.noise("noise", context.number - back).like(total) for back in (0, 1))
        return (now + before.roll(1)) / 2**0.5


class OnlySignsAreFresh(Noisy):
    def noise(self, context, total, bounded):
        sizes = context.streams.noise("noise", 0).like(total).abs()
        return sizes * context.noise("signs").like(total).sign()


class HalfIsOfEveryRun(Noisy):
    def noise(self, context, total, bounded):
        own = super().noise(context, total, bounded)
        shared = Streams(0, "every run").noise("noise", context.number).like(total)
        return torch.cat([own[: context.tensors[0]], shared[context.tensors[0] :]])


class Neighbours(Noisy):
    """Adjacent numbers have noise in common."""

    def noise(self, context, total, bounded):
        noise = super().noise(context, total, bounded)
        return (noise + 0.2 * noise.roll(1)) / math.sqrt(1.04)


class InSteps(Noisy):
    """Noise in steps on a sum that is not rounded: what lies between two steps is released as it is."""

    def noise(self, context, total, bounded):
        return (super().noise(context, total, bounded) * 1000).round() / 1000


# Second releases, and what the server makes of releases. ----------------------------------------------------


class Adaptive(ClientDP):
    """Adaptive clipping (Andrew et al. 2021): a noisy, centred count of the clients within the bound."""

    name: Literal["adaptive"] = "adaptive"
    mechanism: ClassVar[str] = "gaussian"
    count_noise: float = 10.0

    def memory(self, parameters):
        return {"c": torch.tensor([self.clip_l2], dtype=torch.float64)}

    def bound(self, updates, context):
        return clip(updates, float(context.memory["c"]))

    def count(self, bounded, context):
        return bounded.inside.double().cpu().sub(0.5).sum(0, keepdim=True)

    def count_of_noise(self, context):
        return context.noise("count").like(context.memory["c"])

    def remember(self, bounded, context):
        count = self.count(bounded, context) + 0.5 * self.count_noise * self.count_of_noise(context)
        grown = context.memory["c"] * (0.2 * (-count / context.expected)).exp()
        return {"c": grown.clamp(1e-6, 1e6)}, {"count_noise_multiplier": self.count_noise}


class CountOfLittleNoise(Adaptive):
    def count_of_noise(self, context):
        return 0.01 * super().count_of_noise(context)


class CountOfLessNoise(Adaptive):
    def count_of_noise(self, context):
        return 0.6 * super().count_of_noise(context)


class CountNotCentred(Adaptive):
    """A client moves it by one, and its noise is stated over a half."""

    def count(self, bounded, context):
        return bounded.inside.double().cpu().sum(0, keepdim=True)


class CountWithTheSumsNoise(Adaptive):
    def count_of_noise(self, context):
        return context.noise("noise").like(torch.zeros(500))[:1].double()


class CountNoiseEveryFourthRound(Adaptive):
    def count_of_noise(self, context):
        return super().count_of_noise(context._replace(number=context.number % 4))


class CountNoiseOfEveryRun(Adaptive):
    def count_of_noise(self, context):
        return super().count_of_noise(context._replace(streams=Streams(0, "every run")))


class CountNoiseNowAndThen(Adaptive):
    """Every other round's noise is a tenth of what is stated, the others' makes up for it."""

    def count_of_noise(self, context):
        return super().count_of_noise(context) * (0.1 if context.number % 2 else math.sqrt(2 - 0.01))


class CountOfStudentsNoise(Adaptive):
    def count_of_noise(self, context):
        even = special.ndtr(super().count_of_noise(context).numpy())
        return torch.from_numpy(stats.t(2.2).ppf(even) / stats.t(2.2).std())


class CountOfNoFact(Adaptive):
    mechanism = "gaussian"

    def remember(self, bounded, context):
        return super().remember(bounded, context)[0], {}


class CountsLayers(Adaptive):
    """A count for each tensor, with noise that is scaled as if one client moved one of them alone."""

    mechanism = "gaussian"
    factor: ClassVar[float] = 1.0

    def memory(self, parameters):
        return {"c": torch.full((2,), self.clip_l2, dtype=torch.float64)}

    def bound(self, updates, context):
        bounds = (context.memory["c"] / 2**0.5).tolist()
        parts = [
            clip(part, bound)[0]
            for part, bound in zip(updates.split(context.tensors, 1), bounds, strict=True)
        ]
        l2 = math.hypot(*bounds) * (1 + 1e-9)
        inside = torch.stack([part.inside for part in parts], 1)
        return Bounded(torch.cat([part.updates for part in parts], 1), l2, inside=inside), {"clip_l2": l2}

    def count(self, bounded, context):
        return bounded.inside.double().sub(0.5).sum(0)

    def count_of_noise(self, context):
        return self.factor * super().count_of_noise(context)


class CountsLayersSoundly(CountsLayers):
    mechanism = "gaussian"
    factor = 2**0.5


class HEARD:
    """What a scheme has heard that it should forget."""

    total = torch.zeros(1)


class BroadcastsTheSum(ClientDP):
    mechanism = "gaussian"

    def combine(self, bounded, context):
        HEARD.total = bounded.updates.sum(0)
        return super().combine(bounded, context)

    def broadcast(self, weights, context):
        return weights + 100 * HEARD.total, {}


class BroadcastsTheSize(ClientDP):
    mechanism = "gaussian"

    def broadcast(self, weights, context):
        return weights * (1 + len(context.examples)), {}


class StepsByTheSize(ClientDP):
    """Divides the noisy sum by the clients who came, after all that is accounted."""

    mechanism = "gaussian"

    def postprocess(self, mean, context):
        return mean * context.expected / max(1, len(context.examples)), dict(context.memory), {}


class KeepsTheSum(ClientDP):
    """Its server keeps what the noise is added to."""

    mechanism = "gaussian"

    def memory(self, parameters):
        return {"rest": torch.zeros(parameters)}

    def combine(self, bounded, context):
        HEARD.total = bounded.updates.sum(0)
        return super().combine(bounded, context)

    def postprocess(self, mean, context):
        return mean, {"rest": HEARD.total}, {}


class SparseBeforeNoise(ClientDP):
    """Sends the largest numbers of the sum with noise on these alone: which they are is seen."""

    mechanism = "gaussian"

    def combine(self, bounded, context):
        total = bounded.updates.sum(0)
        mean, facts = super().combine(bounded, context)
        return mean * (total.abs() >= total.abs().sort().values[-50]), facts


class UploadsAgain(NbAFL):
    """Sends what clients uploaded, before their noise."""

    mechanism = "gaussian"

    def bound(self, updates, context):
        bounded, facts = super().bound(updates, context)
        HEARD.total = bounded.updates.sum(0)
        return bounded, facts

    def broadcast(self, weights, context):
        weights, facts = super().broadcast(weights, context)
        return weights + HEARD.total, facts


# Cohorts. ---------------------------------------------------------------------------------------------------


class Drawn(Poisson):
    """A sample of clients of which only the coins are other ones."""

    def draw(self, population, rng):
        return np.flatnonzero(self.coins(population, rng))


class OnePair(Drawn):
    """The second client comes whenever the first does."""

    def coins(self, population, rng):
        coins = rng.random(population) < self.rate
        coins[1] = coins[0]
        return coins


class SomeTogetherSomeApart(Drawn):
    """Pairs that come together and pairs that never do: cohorts are as large as they should be."""

    def coins(self, population, rng):
        coin = rng.random(population // 2)
        apart = np.arange(population // 2) % 2 == 0
        second = np.where(apart, (coin > self.rate) & (coin < 2 * self.rate), coin < self.rate)
        return np.concatenate([coin < self.rate, second])


class OfAList(Poisson):
    """Every cohort is one of a few that are drawn at the start of a run."""

    def members(self, population, streams, round_number):
        number = streams.numpy("cohort", round_number).integers(12)
        return np.flatnonzero(streams.numpy("list", int(number)).random(population) < self.rate)


class SameInEveryRun(Poisson):
    def members(self, population, streams, round_number):
        return self.draw(population, np.random.default_rng(round_number))


class ComesAgain(Poisson):
    """Who came in a round comes in the next with twice the odds; all come as often as they should."""

    def members(self, population, streams, round_number):
        before = streams.numpy("cohort", round_number - 1).random(population) < self.rate
        fresh, coins = (streams.numpy(name, round_number).random(population) for name in ("fresh", "cohort"))
        return np.flatnonzero(np.where(fresh < 0.3, before, coins < self.rate))


class ByTurns(Poisson):
    """Even clients in even rounds, odd ones in odd rounds."""

    def members(self, population, streams, round_number):
        coins = streams.numpy("cohort", round_number).random(population) < 2 * self.rate
        return np.flatnonzero(coins & (np.arange(population) % 2 == round_number % 2))


class Antithetic(Poisson):
    """The coins of every other round are those of the round before, turned over."""

    def members(self, population, streams, round_number):
        coins = streams.numpy("cohort", round_number // 2).random(population)
        return np.flatnonzero((coins if round_number % 2 else 1 - coins) < self.rate)


class InShards(Drawn):
    """Clients of a shard have half of their coins in common."""

    def coins(self, population, rng):
        shard = np.repeat(rng.random(population // 20), 20)
        return np.where(rng.random(population) < 0.5, shard, rng.random(population)) < self.rate


class OneAlways(Drawn):
    def coins(self, population, rng):
        coins = rng.random(population) < self.rate
        coins[7] = True
        return coins


class NoLargeCohort(Drawn):
    """A cohort that is too large for the server is cut off."""

    def coins(self, population, rng):
        coins = rng.random(population) < self.rate
        many = np.flatnonzero(coins)
        coins[rng.permutation(many)[int(1.03 * self.rate * population) :]] = False
        return coins


class RateOfTheRound(Poisson):
    def members(self, population, streams, round_number):
        rate = self.rate * (1 + 0.5 * (-1) ** round_number)
        return np.flatnonzero(streams.numpy("cohort", round_number).random(population) < rate)


class InThrees(Drawn):
    """Of three clients in a row two come or none: any two of them as half of all clients do by chance."""

    def coins(self, population, rng):
        first, second = rng.random((2, population // 3)) < 0.5
        coins = np.stack([first, second, first ^ second], 1).ravel()
        return np.concatenate([coins, rng.random(population - len(coins)) < 0.5])


class StrataOfFixedSize(Fixed):
    """As many of each half of the clients."""

    def draw(self, population, rng):
        half, size = population // 2, self.size // 2
        return np.sort(np.concatenate([rng.permutation(half)[:size], half + rng.permutation(half)[:size]]))


class NeverTwoOfFixedSize(Fixed):
    """Of the first two clients one comes at most."""

    def draw(self, population, rng):
        while True:
            drawn = super().draw(population, rng)
            if not {0, 1} <= {*drawn.tolist()}:
                return drawn


# Sound ones. ------------------------------------------------------------------------------------------------


class TopK(ClientDP):
    """Error feedback: the server steps along the largest numbers and keeps the rest for later."""

    mechanism = "gaussian"

    def memory(self, parameters):
        return {"rest": torch.zeros(parameters)}

    def postprocess(self, mean, context):
        wanted = mean + context.memory["rest"].to(mean)
        step = wanted * (wanted.abs() >= wanted.abs().sort().values[-len(mean) // 10])
        return step, {"rest": (wanted - step).cpu()}, {}


class Signs(ClientDP):
    """Steps of one length (signSGD), and weights that are rounded before they are sent."""

    mechanism = "gaussian"

    def postprocess(self, mean, context):
        return 0.01 * mean.sign(), dict(context.memory), {}

    def broadcast(self, weights, context):
        return (weights * 256).round() / 256, {}


class ServerAdam(ClientDP):
    """The server's moments, kept by the scheme."""

    mechanism = "gaussian"

    def memory(self, parameters):
        return {"first": torch.zeros(parameters), "second": torch.zeros(parameters)}

    def postprocess(self, mean, context):
        first, second = (context.memory[name].to(mean) for name in ("first", "second"))
        first, second = 0.9 * first + 0.1 * mean, 0.99 * second + 0.01 * mean**2
        return first / (second.sqrt() + 1e-3), {"first": first.cpu(), "second": second.cpu()}, {}


class Sketch(ClientDP):
    """A fifth as many numbers, each a signed sum of five (FetchSGD), clipped after that."""

    mechanism = "gaussian"

    def signs(self, context, size):
        return torch.from_numpy(context.streams.numpy("signs").choice([-1.0, 1.0], size))

    def bound(self, updates, context):
        signed = updates * self.signs(context, updates.shape[1]).to(updates)
        return clip(signed.reshape(len(updates), 5, -1).sum(1), self.clip_l2)

    def postprocess(self, mean, context):
        return mean.repeat(5) * self.signs(context, 5 * len(mean)).to(mean), dict(context.memory), {}


@lru_cache
def rotation(size):
    return torch.from_numpy(np.linalg.qr(np.random.default_rng(1).standard_normal((size, size)))[0]).float()


class Rotated(ClientDP):
    """Rows are rotated, publicly, before they are clipped and summed (distributed DP)."""

    mechanism = "gaussian"

    def basis(self, context, size):
        return rotation(size)

    def bound(self, updates, context):
        return clip(updates @ self.basis(context, updates.shape[1]).to(updates), self.clip_l2)

    def postprocess(self, mean, context):
        return self.basis(context, len(mean)).to(mean) @ mean, dict(context.memory), {}


class PublicMask(ClientDP):
    """Half of the numbers, others in each round, which everybody knows."""

    mechanism = "gaussian"

    def mask(self, context, size):
        return torch.from_numpy(context.streams.numpy("mask", context.number).permutation(size)[: size // 2])

    def bound(self, updates, context):
        return clip(updates[:, self.mask(context, updates.shape[1])], self.clip_l2)

    def postprocess(self, mean, context):
        step = torch.zeros(2 * len(mean)).to(mean)
        step[self.mask(context, len(step))] = mean
        return step, dict(context.memory), {}


class DiscreteGaussian(ClientDP):
    """Uploads are rounded to steps, of which noise is a multiple, too; the bound allows for the rounding."""

    mechanism = "gaussian"
    step: float = 0.001

    def bound(self, updates, context):
        l2 = self.clip_l2 + self.step * updates.shape[1] ** 0.5
        rows = (clip(updates, self.clip_l2)[0].updates / self.step).round() * self.step
        return Bounded(rows, l2), {"clip_l2": l2}

    def combine(self, bounded, context):
        noise = context.noise("noise")

        class Discrete:
            def like(this, tensor):
                size = self.noise_multiplier * bounded.l2 / self.step
                return (noise.like(tensor.double()) * size).round() / size

        wide = bounded._replace(updates=bounded.updates.double())
        return gaussian_mean(wide, self.noise_multiplier, context.expected, Discrete())


class PerTensor(ClientDP):
    """Every tensor is clipped by itself; the bound is that of all together."""

    mechanism = "gaussian"

    def bound(self, updates, context):
        parts = updates.split(context.tensors, 1)
        l2 = self.clip_l2 * len(parts) ** 0.5
        return Bounded(torch.cat([clip(part, self.clip_l2)[0].updates for part in parts], 1), l2), {
            "clip_l2": l2
        }


class Normalised(ClientDP):
    """Every update becomes shorter than the bound, none is cut off (automatic clipping)."""

    mechanism = "gaussian"

    def bound(self, updates, context):
        rows = clip(updates, 1e18)[0].updates.double()
        rows = rows * (0.999999 * self.clip_l2 / (norms_of(rows) + 0.01))[:, None]
        return Bounded(rows.to(updates), self.clip_l2), {"clip_l2": self.clip_l2}


class DiscreteCount(Adaptive):
    """The noise of the count is a whole number."""

    def count_of_noise(self, context):
        return (super().count_of_noise(context) * 5).round() / 5


class Laplace(Scheme):
    """A mechanism of one's own: Laplace noise on clipped sums, with an accountant of its own."""

    name: Literal["laplace"] = "laplace"
    unit: ClassVar[str] = "client"
    mechanism: ClassVar[str] = "laplace"
    clip_l2: float = 1.0
    scale: float = 40.0

    def bound(self, updates, context):
        return clip(updates, self.clip_l2)

    def combine(self, bounded, context):
        total = bounded.updates.sum(0)
        even = special.ndtr(context.noise("noise").like(total.double()).numpy())
        noise = torch.from_numpy(stats.laplace.ppf(even) * self.scale).to(total)
        return (total + noise) / context.expected, {"laplace_scale": self.scale}


class LaplaceAgain(Laplace):
    """With the noise of every fourth round."""

    mechanism = "laplace"

    def combine(self, bounded, context):
        return super().combine(bounded, context._replace(number=context.number % 4))
