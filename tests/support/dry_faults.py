"""Faults planted in schemes that state what a sound one would, with a noise multiplier of 2."""

import numpy as np
import torch
from scipy import special, stats

from fedpriv.mechanisms.clipping import Bounded, clip, norms_of
from fedpriv.mechanisms.private_gradient import PrivateGradient
from fedpriv.mechanisms.sampling import Fixed, Poisson
from fedpriv.schemes import ClientDP, DpflBnn, Instance, NbAFL
from fedpriv.streams import Streams

FACTS = {"noise_multiplier": 2.0, "noise_std": 2.0}


class Noisy(ClientDP):
    """Adds what `noise` makes of the sum's shape; says that it is noise as it should be."""

    mechanism = "gaussian"

    def combine(self, bounded, context):
        total = bounded.updates.sum(0)
        noise = 2.0 * self.noise(context, total, bounded)
        return (total + noise) / context.expected, {**FACTS, "denominator": "expected"}

    def noise(self, context, total, bounded):
        return context.noise("noise").like(total)


class Clips(ClientDP):
    """Bounds rows by `clipped`, and says that they are bounded as they should be."""

    mechanism = "gaussian"

    def bound(self, updates, context):
        return Bounded(self.clipped(updates, context), self.clip_l2), {"clip_l2": self.clip_l2}


class HalfVariance(Noisy):
    def noise(self, context, total, bounded):
        return super().noise(context, total, bounded) / 2**0.5


class LayersShareNoise(Noisy):
    def noise(self, context, total, bounded):
        half = context.noise("noise").like(total[: context.tensors[0]])
        return torch.cat([half, half[: context.tensors[1]]])


class NoNoiseInOneRound(Noisy):
    def noise(self, context, total, bounded):
        return super().noise(context, total, bounded) * (context.number != 7)


class NoiseOfRealisedCohort(Noisy):
    def noise(self, context, total, bounded):
        return super().noise(context, total, bounded) * (len(bounded.updates) / context.expected) ** 0.5


class NoiseOfTheRoundAlone(Noisy):
    def noise(self, context, total, bounded):
        return Streams(0, "every run").noise("noise", context.number).like(total)


class NoiseEveryFourthRound(Noisy):
    def noise(self, context, total, bounded):
        return super().noise(context._replace(number=context.number % 4), total, bounded)


class NoiseOfTheData(Noisy):
    def noise(self, context, total, bounded):
        largest = float(bounded.updates.abs().max()) if len(bounded.updates) else 0.0
        return super().noise(context, total, bounded) * (1.0 if largest > 0.3 else 0.9)


class CorrelatedOverRounds(Noisy):
    """The difference of two noises: what every prefix sum shows has the noise of one round alone."""

    def noise(self, context, total, bounded):
        now, before = (context.streams.noise("tree", context.number - back).like(total) for back in (0, 1))
        return (now - before) / 2**0.5


class OutsideOfStreams(Noisy):
    def noise(self, context, total, bounded):
        return torch.randn(len(total))


class StudentT(Noisy):
    """Independent noise of the stated mean and variance, of another law."""

    def noise(self, context, total, bounded):
        even = special.ndtr(super().noise(context, total, bounded).double().numpy())
        return torch.from_numpy(stats.t(8).ppf(even) / stats.t(8).std()).to(total)


class LittleNoiseHereAndThere(Noisy):
    def noise(self, context, total, bounded):
        few = context.noise("where").like(total) < -2
        return super().noise(context, total, bounded) * torch.where(few, 0.05, (1 / (1 - 0.02275)) ** 0.5)


class CountsTwice(ClientDP):
    mechanism = "gaussian"

    def combine(self, bounded, context):
        return super().combine(
            bounded._replace(updates=torch.cat([bounded.updates, bounded.updates[:1]])), context
        )


class ClipsTheMean(ClientDP):
    mechanism = "gaussian"

    def bound(self, updates, context):
        return Bounded(updates.nan_to_num(0.0, 0.0, 0.0), self.clip_l2), {"clip_l2": self.clip_l2}

    def combine(self, bounded, context):
        mean = clip(bounded.updates.mean(0, keepdim=True), self.clip_l2)[0].updates
        return super().combine(bounded._replace(updates=mean), context)


class ClipsPerLayer(Clips):
    def clipped(self, updates, context):
        return torch.cat(
            [clip(part, self.clip_l2)[0].updates for part in updates.split(context.tensors, 1)], 1
        )


class ClipsOnlyLarge(Clips):
    def clipped(self, updates, context):
        updates = clip(updates, 1e9)[0].updates
        norms = norms_of(updates)
        return updates * torch.where(norms > 9 * self.clip_l2, self.clip_l2 / norms, 1.0).float()[:, None]


class ForgetsWhatIsNoNumber(Clips):
    def clipped(self, updates, context):
        norms = norms_of(updates)
        return updates * torch.where(norms > self.clip_l2, 0.999 * self.clip_l2 / norms, 1.0).float()[:, None]


class LoosensAfterRoundTen(Clips):
    def clipped(self, updates, context):
        return clip(updates, self.clip_l2 * (1.0 if context.number <= 10 else 1.5))[0].updates


class Remembers(ClientDP):
    """Keeps the unnoised share of updates within the bound."""

    mechanism = "gaussian"

    def memory(self, parameters):
        return {"share": torch.zeros(1)}

    def remember(self, bounded, context):
        return {"share": bounded.inside.float().sum(0, keepdim=True) / context.expected}, {}


class Sticky(Poisson):
    def draw(self, population, rng):
        return np.flatnonzero(np.random.default_rng(1).random(population) < self.rate)


class ComesTooOften(Poisson):
    def draw(self, population, rng):
        return np.flatnonzero(rng.random(population) < 1.2 * self.rate)


class DrawsTwice(Poisson):
    def draw(self, population, rng):
        return np.repeat(super().draw(population, rng), 2)


class FixedSize(Poisson):
    def draw(self, population, rng):
        return np.sort(rng.choice(population, round(self.rate * population), replace=False))


class AtTimesFewer(Fixed):
    def draw(self, population, rng):
        return super().draw(population, rng)[2 * (rng.random() < 0.02) :]


class InPairs(Poisson):
    def draw(self, population, rng):
        return np.flatnonzero(np.repeat(rng.random(population // 2) < self.rate, 2))


class Favourites(Poisson):
    def draw(self, population, rng):
        rates = self.rate * np.where(np.arange(population) % 2, 1.25, 0.75)
        return np.flatnonzero(rng.random(population) < rates)


class SharesUploadNoise(NbAFL):
    mechanism = "gaussian"

    def release(self, bounded, uploads, context):
        sent, facts = super().release(bounded, uploads, context)
        noise = facts["upload_noise_std"] * context.noise("uplink").like(bounded.updates[:1])
        return sent._replace(updates=bounded.updates + noise), facts


class FlipsTooFew(DpflBnn):
    mechanism = "randomized_response"

    def release(self, bounded, uploads, context):
        sent, facts = DpflBnn(gamma=1.1 * self.gamma).release(bounded, uploads, context)
        return sent, facts | {"gamma": self.gamma}


class Forgetful(PrivateGradient):
    """Clips examples too late, and says that it clips them as it should."""

    def facts(self, local_steps, sizes):
        sound = PrivateGradient(*self)._replace(example_clip_l2=self.clip_l2, noise_multiplier=2.0)
        return sound.facts(local_steps, sizes)


class ForgetsExamples(Instance):
    mechanism = "gaussian"

    def gradient(self, local):
        sound = super().gradient(local)
        return Forgetful(*sound)._replace(example_clip_l2=1.5 * self.clip_l2, noise_multiplier=2 / 1.5)
