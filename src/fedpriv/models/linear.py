"""What linear maps of fixed features have in common: the shapes of their weights."""

from fedpriv.errors import BadInput
from fedpriv.models.base import Example, Model, Shapes


class LinearHead(Model):
    """One linear map of features `[f]`, with a bias a class."""

    def shapes(self, classes: int, example: Example = ()) -> Shapes:
        example = example or (self.width,)
        if len(example) != 1:
            raise BadInput(f"model: found {self.name} with examples of shape {list(example)}, allowed: [f]")
        return {"head.weight": (classes, *example), "head.bias": (classes,)}
