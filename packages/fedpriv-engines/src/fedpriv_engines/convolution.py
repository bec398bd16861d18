"""Convolutions of stacked clients on a GPU, fused with bias and 2x2 pool, in Triton.

A stack is a tensor axis: client s has images `x[s]` and weights `weight[s]`. All kernels walk over *cells*,
the 2x2 squares that a pool looks at, and read what they multiply straight from the images: no patch is ever
written to memory and no layout is changed between layers. Channels are last inside, whatever the strides
outside.

- `_convolve` reads the window of a cell once and adds products with the weights to each of its four corners.
  With a pool it keeps the largest corner and which it was. The gradient of the input is the same kernel: it
  reads the pooled gradient where the pool had looked.
- `_weigh` sums, for a client and some taps, over all cells of its images. Every sum has one order, so equal
  input gives equal bits.
- `_convolve_grey` and `_weigh_grey` do the same for images of one channel, where a tensor core has nothing to
  multiply: in float32, without it.

On tensor cores float32 is split into two TF32 numbers and multiplied as three products: errors are below 1e-6
of float64 by norm. Products are TF32 under `torch.backends.cuda.matmul.allow_tf32` and bfloat16 of bfloat16;
sums are float32 always.

With TRITON_INTERPRET=1 all of it runs on a CPU, slowly: so it is tested without a GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch.nn import functional as F


@triton.jit
def _place(cell, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Return image, row and column of cells."""
    return cell // (ROWS * COLUMNS), cell // COLUMNS % ROWS, cell % COLUMNS


@triton.jit
def _changed(values, index: tl.constexpr, value):
    """Return a tuple with another value at that index."""
    return values[:index] + (value,) + values[index + 1 :]  # noqa: RUF005


@triton.jit
def _split(x):
    """Return float32 numbers as two that TF32 holds, but for the last bits of the second."""
    high = (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    return high, x - high


@triton.jit
def _multiply(a, b, total, EXACT: tl.constexpr):
    """Return total + a b; with EXACT of float32 numbers, by three products of TF32 ones."""
    if EXACT:
        a_high, a_low = _split(a)
        b_high, b_low = _split(b)
        total = tl.dot(a_high, b_low, total, input_precision="tf32")
        total = tl.dot(a_low, b_high, total, input_precision="tf32")
        return tl.dot(a_high, b_high, total, input_precision="tf32")
    else:
        return tl.dot(a, b, total, input_precision="tf32")


@triton.jit
def _largest(sums):
    """Return the largest of four and which it is: the first of equals; what is no number stays."""
    most, corners = sums[0], tl.zeros(sums[0].shape, tl.int32)
    for corner in tl.static_range(1, 4):
        more = (sums[corner] > most) | (sums[corner] != sums[corner])
        most, corners = tl.where(more, sums[corner], most), tl.where(more, corner, corners)
    return most, corners


@triton.jit
def _write(
    sums, bias, out, corner_of, cell, there, images, member, units,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, CO: tl.constexpr,
    POOL: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    """Write what the corners of cells sum up to, plus bias: all of them, or the largest and which it was."""
    known = units < CO
    offset = tl.zeros(units.shape, tl.float32)
    if BIAS:
        offset = tl.load(bias + units, mask=known, other=0.0).to(tl.float32)
    if POOL:
        most, corners = _largest(sums)
        first = member * images * (ROWS * COLUMNS) * CO
        at = first + cell[:, None] * CO + units[None, :]
        mask = there[:, None] & known[None, :]
        tl.store(out + at, (most + offset[None, :]).to(out.dtype.element_ty), mask=mask)
        tl.store(corner_of + at, corners.to(tl.uint8), mask=mask)
    else:
        image, row, column = _place(cell, ROWS, COLUMNS)
        first = member * images * (HEIGHT * WIDTH * CO)
        for corner in tl.static_range(4):
            y, z = 2 * row + corner // 2, 2 * column + corner % 2
            at = first + ((image * HEIGHT + y) * WIDTH + z)[:, None] * CO + units[None, :]
            mask = (there & (y < HEIGHT) & (z < WIDTH))[:, None] & known[None, :]
            tl.store(out + at, (sums[corner] + offset[None, :]).to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["images"])
def _convolve(
    x, unpool, weight, bias, out, corner_of, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CI: tl.constexpr, CO: tl.constexpr, SIZE: tl.constexpr,
    SHARED: tl.constexpr, UNPOOL: tl.constexpr, POOL: tl.constexpr, BIAS: tl.constexpr, EXACT: tl.constexpr,
    BLOCK: tl.constexpr, DEPTH: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Convolve one block of cells of one member with one block of units.

    x: [s, n, HEIGHT, WIDTH, CI], or with UNPOOL gradients [s, n, HEIGHT // 2, WIDTH // 2, CI] of pools that
    kept the corners `unpool`; weight: [s, SIZE + 2, SIZE, CI, CO] with a row of zeros before and after, or
    SHARED by all; out: see `_write`.
    """
    ROWS: tl.constexpr = HEIGHT // 2 if POOL else (HEIGHT + 1) // 2
    COLUMNS: tl.constexpr = WIDTH // 2 if POOL else (WIDTH + 1) // 2
    HIGH: tl.constexpr = HEIGHT // 2 if UNPOOL else HEIGHT
    WIDE: tl.constexpr = WIDTH // 2 if UNPOOL else WIDTH
    GROUPS: tl.constexpr = (CO + UNITS - 1) // UNITS
    STEPS: tl.constexpr = (CI + DEPTH - 1) // DEPTH
    blocks = tl.cdiv(images * (ROWS * COLUMNS), BLOCK)
    program = tl.program_id(0)
    member = (program // blocks // GROUPS).to(tl.int64)
    cell = program % blocks * BLOCK + tl.arange(0, BLOCK)
    there = cell < images * (ROWS * COLUMNS)
    image, row, column = _place(cell, ROWS, COLUMNS)
    units = program // blocks % GROUPS * UNITS + tl.arange(0, UNITS)
    channel = tl.arange(0, DEPTH)
    top, left = (row, column) if UNPOOL else (2 * row, 2 * column)
    source = member * images * (HIGH * WIDE * CI)
    source += ((image * HIGH + top) * WIDE + left)[:, None] * CI + channel[None, :]
    if not SHARED:
        weight += member * ((SIZE + 2) * SIZE * CI * CO)
    lines = weight + channel[:, None] * CO + units[None, :]

    zero = tl.zeros((BLOCK, UNITS), tl.float32)
    sums = (zero, zero, zero, zero)
    for step in range((SIZE + 1) * STEPS):
        start = step % STEPS * DEPTH
        down = step // STEPS - SIZE // 2  # from the cell's first corner to this row of its window
        some = start + channel < CI
        known = some[:, None] & (units < CO)[None, :]
        parts = (zero, zero, zero, zero)  # sums in a tensor core lose bits, so they are kept short
        for place in tl.static_range(SIZE + 1):
            right = place - SIZE // 2
            if UNPOOL:  # a window of what was pooled: of each number one corner is there
                y, z = row + (down >> 1), column + (right >> 1)
                shift = ((down >> 1) * WIDE + (right >> 1)) * CI + start
            else:
                y, z = 2 * row + down, 2 * column + right
                shift = (down * WIDE + right) * CI + start
            inside = there & (y >= 0) & (y < HIGH) & (z >= 0) & (z < WIDE)
            mask = inside[:, None] & some[None, :]
            values = tl.load(x + source + shift, mask=mask, other=0.0)
            if UNPOOL:
                kept = tl.load(unpool + source + shift, mask=mask, other=4)
                values = tl.where(kept == (down & 1) * 2 + (right & 1), values, 0.0)
            for corner in tl.static_range(4):
                across = place - corner % 2  # the tap that a corner has here
                if (across >= 0) & (across < SIZE):
                    along = step // STEPS - corner // 2 + 1  # of rows of weights, the first of zeros
                    w = tl.load(lines + ((along * SIZE + across) * CI + start) * CO, mask=known, other=0.0)
                    parts = _changed(parts, corner, _multiply(values, w, parts[corner], EXACT))
        sums = (sums[0] + parts[0], sums[1] + parts[1], sums[2] + parts[2], sums[3] + parts[3])
    _write(
        sums, bias + member * CO, out, corner_of, cell, there, images, member, units,
        HEIGHT, WIDTH, ROWS, COLUMNS, CO, POOL, BIAS,
    )  # fmt: skip


@triton.jit(do_not_specialize=["images"])
def _convolve_grey(
    x, weight, bias, out, corner_of, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CO: tl.constexpr, SIZE: tl.constexpr,
    SHARED: tl.constexpr, POOL: tl.constexpr, BIAS: tl.constexpr, BLOCK: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Do the same for images with a border of zeros, x: [s, n, HEIGHT + SIZE, WIDTH + SIZE]."""
    ROWS: tl.constexpr = HEIGHT // 2 if POOL else (HEIGHT + 1) // 2
    COLUMNS: tl.constexpr = WIDTH // 2 if POOL else (WIDTH + 1) // 2
    HIGH: tl.constexpr = HEIGHT + SIZE
    WIDE: tl.constexpr = WIDTH + SIZE
    GROUPS: tl.constexpr = (CO + UNITS - 1) // UNITS
    blocks = tl.cdiv(images * (ROWS * COLUMNS), BLOCK)
    program = tl.program_id(0)
    member = (program // blocks // GROUPS).to(tl.int64)
    cell = program % blocks * BLOCK + tl.arange(0, BLOCK)
    there = cell < images * (ROWS * COLUMNS)
    image, row, column = _place(tl.where(there, cell, 0), ROWS, COLUMNS)
    units = program // blocks % GROUPS * UNITS + tl.arange(0, UNITS)
    x += member * images * (HIGH * WIDE) + ((image * HIGH + 2 * row) * WIDE + 2 * column)
    weight += units
    if not SHARED:
        weight += member * ((SIZE + 2) * SIZE * CO)

    zero = tl.zeros((BLOCK, UNITS), tl.float32)
    sums = (zero, zero, zero, zero)
    for place in tl.static_range((SIZE + 1) * (SIZE + 1)):
        value = tl.load(x + (place // (SIZE + 1) * WIDE + place % (SIZE + 1))).to(tl.float32)
        for corner in tl.static_range(4):
            along, across = place // (SIZE + 1) - corner // 2, place % (SIZE + 1) - corner % 2
            if (along >= 0) & (along < SIZE) & (across >= 0) & (across < SIZE):
                w = tl.load(weight + ((along + 1) * SIZE + across) * CO, mask=units < CO, other=0.0).to(
                    tl.float32
                )
                sums = _changed(sums, corner, sums[corner] + value[:, None] * w[None, :])
    _write(
        sums, bias + member * CO, out, corner_of, cell, there, images, member, units,
        HEIGHT, WIDTH, ROWS, COLUMNS, CO, POOL, BIAS,
    )  # fmt: skip


@triton.jit(do_not_specialize=["images", "splits", "share"])
def _weigh(
    x, gradient, kept, out, images, splits, share,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CI: tl.constexpr, CO: tl.constexpr, SIZE: tl.constexpr,
    POOL: tl.constexpr, EXACT: tl.constexpr,
    BLOCK: tl.constexpr, TAPS: tl.constexpr, DEPTH: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Sum over a share of the cells of one member the gradient of some weights: TAPS x DEPTH by UNITS.

    x: [s, n, HEIGHT, WIDTH, CI]; gradient: [s, n, HEIGHT // 2, WIDTH // 2, CO] of pools that `kept` a corner,
    or [s, n, HEIGHT, WIDTH, CO]; out: [s, splits, SIZE, SIZE, CI, CO].
    """
    ROWS: tl.constexpr = HEIGHT // 2 if POOL else (HEIGHT + 1) // 2
    COLUMNS: tl.constexpr = WIDTH // 2 if POOL else (WIDTH + 1) // 2
    GROUPS: tl.constexpr = (CO + UNITS - 1) // UNITS
    BLOCKS: tl.constexpr = (SIZE * SIZE + TAPS - 1) // TAPS
    STEPS: tl.constexpr = (CI + DEPTH - 1) // DEPTH
    cells = images * (ROWS * COLUMNS)
    program = tl.program_id(0)
    units = program % GROUPS * UNITS + tl.arange(0, UNITS)
    tap = program // GROUPS % BLOCKS * TAPS + tl.arange(0, TAPS)
    channel = program // (GROUPS * BLOCKS) % STEPS * DEPTH + tl.arange(0, DEPTH)
    split = program // (GROUPS * BLOCKS * STEPS) % splits
    member = (program // (GROUPS * BLOCKS * STEPS) // splits).to(tl.int64)
    known, real, some = units < CO, tap < SIZE * SIZE, channel < CI
    down, right = tap // SIZE - SIZE // 2, tap % SIZE - SIZE // 2
    shift = ((down * WIDTH + right) * CI)[:, None] + channel[None, :]
    x += member * images * (HEIGHT * WIDTH * CI)
    gradient += member * images * ((ROWS * COLUMNS if POOL else HEIGHT * WIDTH) * CO)
    kept += member * cells * CO

    nothing = tl.zeros((TAPS * DEPTH, UNITS), tl.float32)
    total = nothing
    end = tl.minimum(cells, (split + 1) * share)
    for begin in range(split * share, end, BLOCK):
        cell = begin + tl.arange(0, BLOCK)
        there = cell < end
        image, row, column = _place(cell, ROWS, COLUMNS)
        source = ((image * HEIGHT + 2 * row) * WIDTH + 2 * column) * CI
        if POOL:
            at = cell[:, None] * CO + units[None, :]
            mask = there[:, None] & known[None, :]
            pooled = tl.load(gradient + at, mask=mask, other=0.0)
            corners = tl.load(kept + at, mask=mask, other=0).to(tl.int32)
        for corner in tl.static_range(4):
            y, z = 2 * row + corner // 2, 2 * column + corner % 2
            if POOL:
                slopes = tl.where(corners == corner, pooled, 0.0)
            else:
                at = ((image * HEIGHT + y) * WIDTH + z)[:, None] * CO + units[None, :]
                mask = (there & (y < HEIGHT) & (z < WIDTH))[:, None] & known[None, :]
                slopes = tl.load(gradient + at, mask=mask, other=0.0)
            v, u = y[:, None] + down[None, :], z[:, None] + right[None, :]
            inside = (v >= 0) & (v < HEIGHT) & (u >= 0) & (u < WIDTH) & there[:, None] & real[None, :]
            at = (source + (corner // 2 * WIDTH + corner % 2) * CI)[:, None, None] + shift[None, :, :]
            mask = inside[:, :, None]
            if CI % DEPTH:
                mask &= some[None, None, :]
            values = tl.reshape(tl.load(x + at, mask=mask, other=0.0), (BLOCK, TAPS * DEPTH))
            total += _multiply(tl.trans(values), slopes, nothing, EXACT)  # kept short, as in `_convolve`
    at = tl.reshape(tap[:, None] * CI + channel[None, :], (TAPS * DEPTH,))[:, None] * CO + units[None, :]
    mask = tl.reshape(real[:, None] & some[None, :], (TAPS * DEPTH,))[:, None] & known[None, :]
    tl.store(out + (member * splits + split) * (SIZE * SIZE * CI * CO) + at, total, mask=mask)


@triton.jit(do_not_specialize=["images", "splits", "share"])
def _weigh_grey(
    x, gradient, kept, out, images, splits, share,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CO: tl.constexpr, SIZE: tl.constexpr,
    POOL: tl.constexpr, BLOCK: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Do the same for images with a border of zeros, as in `_convolve_grey`; a cell is a number given."""
    ROWS: tl.constexpr = HEIGHT // 2 if POOL else HEIGHT
    COLUMNS: tl.constexpr = WIDTH // 2 if POOL else WIDTH
    HIGH: tl.constexpr = HEIGHT + SIZE
    WIDE: tl.constexpr = WIDTH + SIZE
    GROUPS: tl.constexpr = (CO + UNITS - 1) // UNITS
    cells = images * (ROWS * COLUMNS)
    program = tl.program_id(0)
    units = program % GROUPS * UNITS + tl.arange(0, UNITS)
    split, member = program // GROUPS % splits, (program // GROUPS // splits).to(tl.int64)
    known = units < CO
    x += member * images * (HIGH * WIDE)
    gradient += member * cells * CO
    kept += member * cells * CO

    sums = (tl.zeros((BLOCK, UNITS), tl.float32),) * (SIZE * SIZE)
    end = tl.minimum(cells, (split + 1) * share)
    for begin in range(split * share, end, BLOCK):
        cell = begin + tl.arange(0, BLOCK)
        there = cell < end
        image, row, column = _place(tl.where(there, cell, 0), ROWS, COLUMNS)
        mask = there[:, None] & known[None, :]
        at = cell[:, None] * CO + units[None, :]
        slopes = tl.load(gradient + at, mask=mask, other=0.0).to(tl.float32)
        if POOL:
            corner = tl.load(kept + at, mask=mask, other=0).to(tl.int32)
            source = ((image * HIGH + 2 * row) * WIDE + 2 * column)[:, None]
            source += (corner >> 1) * WIDE + (corner & 1)
        else:
            source = ((image * HIGH + row) * WIDE + column)[:, None]
        for tap in tl.static_range(SIZE * SIZE):
            value = tl.load(x + source + (tap // SIZE * WIDE + tap % SIZE)).to(tl.float32)
            sums = _changed(sums, tap, sums[tap] + value * slopes)
    out += (member * splits + split) * (SIZE * SIZE * CO) + units
    for tap in tl.static_range(SIZE * SIZE):
        tl.store(out + tap * CO, tl.sum(sums[tap], 0), mask=known)


class Tiles(NamedTuple):
    """How much a program works on at once: chosen on an H200."""

    block: int  # cells
    warps: int
    depth: int = 16  # channels that are multiplied at once
    taps: int = 1  # of `_weigh`, times channels


def convolve_tiles(channels: int, units: int) -> Tiles:
    """Return the tiles of a convolution, by the sizes of a layer alone."""
    return Tiles(128 if channels > 1 and units > 16 else 64, 4)


def weigh_tiles(channels: int, units: int) -> Tiles:
    """Return the tiles of the gradient of weights; `depth` times `taps` are rows of a product."""
    if channels == 1:
        return Tiles(64, 4)
    depth = min(triton.next_power_of_2(channels), 16)
    return Tiles(32, 4, depth, 64 // depth)


def unit_tile(units: int) -> int:
    """Return the number of units of a program."""
    return min(max(8, triton.next_power_of_2(units)), 32)


class FusedConvolution(torch.autograd.Function):
    """See `convolution`; what it keeps for the way back are its inputs and, with a pool, a byte a cell."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, pool: bool):
        images = pad_border(x, weight.shape[-1]) if x.shape[2] == 1 else x.permute(0, 1, 3, 4, 2).contiguous()
        out, kept = launch_convolve(images, weight, bias, pool, tuple(x.shape[3:]))
        ctx.save_for_backward(images, weight, kept)
        ctx.biased, ctx.size = bias is not None, tuple(x.shape[3:])
        return out.permute(0, 1, 4, 2, 3)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor):
        images, weight, kept = ctx.saved_tensors
        gradient, of_x = gradients[0].permute(0, 1, 3, 4, 2).contiguous(), None
        if ctx.needs_input_grad[0]:
            own = weight[:1] if weight.stride(0) == 0 else weight  # what is shared stays so
            turned = own.flip(3, 4).transpose(1, 2).expand(len(weight), -1, -1, -1, -1)
            of_x = launch_convolve(gradient, turned, None, False, ctx.size, kept)[0].permute(0, 1, 4, 2, 3)
        of_weight = launch_weigh(images, gradient, kept, weight.shape, ctx.size)
        return of_x, of_weight, gradient.sum((1, 2, 3)) if ctx.biased else None, None


def convolution(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, pool: bool = False
) -> torch.Tensor:
    """Return `x` `[s, n, c, h, w]` convolved with `weight` `[s, units, c, k, k]`, k odd, of the size of `x`.

    A member s of the stack has weights of its own; expanded ones (of stride 0) are read once for all. With
    `bias` `[s, units]` it is added, with `pool` of each 2x2 square the largest is kept, the first of equals.
    """
    return FusedConvolution.apply(x, weight, bias, pool)  # pyright: ignore[reportReturnType]


def pad_border(x: torch.Tensor, size: int) -> torch.Tensor:
    """Return grey images `[s, n, 1, h, w]` with room for every window, `[s, n, h + size, w + size]`."""
    before, after = size // 2, size - size // 2
    return F.pad(x[:, :, 0], [before, after, before, after])


def launch_convolve(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    pool: bool,
    size: tuple[int, int],
    unpool: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return outputs, channels last, and with `pool` the corner of each; `size` is that of the images."""
    (members, images), (height, width) = x.shape[:2], size
    units, channels, kernel = weight.shape[1:4]
    shared = weight.stride(0) == 0
    lines = F.pad((weight[:1] if shared else weight).permute(0, 3, 4, 2, 1), [0] * 6 + [1, 1])
    shape = (height // 2, width // 2) if pool else size
    out = x.new_empty(members, images, *shape, units)
    corner_of = torch.empty(out.shape, dtype=torch.uint8, device=x.device) if pool else None
    if not out.numel():
        return out, corner_of
    tiles, unit_block = convolve_tiles(channels, units), unit_tile(units)
    cells = images * (shape[0] * shape[1] if pool else -(-height // 2) * -(-width // 2))
    grid = (members * triton.cdiv(units, unit_block) * triton.cdiv(cells, tiles.block),)
    written = lines if bias is None else bias.contiguous(), out, out if corner_of is None else corner_of
    options = {
        "HEIGHT": height, "WIDTH": width, "CO": units, "SIZE": kernel, "SHARED": shared,
        "POOL": pool, "BIAS": bias is not None,
        "BLOCK": tiles.block, "UNITS": unit_block, "num_warps": tiles.warps, "num_stages": 1,
    }  # fmt: skip
    if channels == 1 and unpool is None:
        _convolve_grey[grid](x, lines, *written, images, **options)
    else:
        unpooled = x if unpool is None else unpool
        options |= {"CI": channels, "UNPOOL": unpool is not None, "EXACT": exact(x), "DEPTH": tiles.depth}
        _convolve[grid](x, unpooled, lines, *written, images, **options)
    return out, corner_of


PROGRAMS = 1024  # as many at least share the sums over cells: some for each of a GPU's processors


def launch_weigh(
    x: torch.Tensor,
    gradient: torch.Tensor,
    kept: torch.Tensor | None,
    shape: torch.Size,
    size: tuple[int, int],
) -> torch.Tensor:
    """Return the gradient of weights of that `shape`, `[s, units, c, k, k]`."""
    (members, images), (height, width) = x.shape[:2], size
    units, channels, kernel = shape[1:4]
    pool, grey = kept is not None, channels == 1
    cells = images * (
        height // 2 * (width // 2) if pool else height * width if grey else -(-height // 2) * -(-width // 2)
    )
    tiles, unit_block = weigh_tiles(channels, units), unit_tile(units)
    programs = members * triton.cdiv(units, unit_block)
    if not grey:
        programs *= triton.cdiv(kernel**2, tiles.taps) * triton.cdiv(channels, tiles.depth)
    splits = max(1, min(triton.cdiv(PROGRAMS, programs), triton.cdiv(cells, 16 * tiles.block)))
    share = triton.cdiv(triton.cdiv(cells, splits), tiles.block) * tiles.block
    out = torch.zeros(members, splits, kernel, kernel, channels, units, device=x.device)
    arguments = x, gradient, gradient if kept is None else kept, out, images, splits, share
    options = {
        "HEIGHT": height, "WIDTH": width, "CO": units, "SIZE": kernel, "POOL": pool,
        "BLOCK": tiles.block, "UNITS": unit_block, "num_warps": tiles.warps, "num_stages": 1,
    }  # fmt: skip
    if not cells:
        pass
    elif grey:
        _weigh_grey[(programs * splits,)](*arguments, **options)
    else:
        options |= {"CI": channels, "EXACT": exact(x), "DEPTH": tiles.depth, "TAPS": tiles.taps}
        _weigh[(programs * splits,)](*arguments, **options)
    return out.sum(1).permute(0, 4, 3, 1, 2).to(x.dtype)


def exact(x: torch.Tensor) -> bool:
    """Say if products are those of float32."""
    return x.dtype == torch.float32 and not torch.backends.cuda.matmul.allow_tf32
