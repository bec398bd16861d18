from pathlib import Path

import numpy as np
import pytest
from support.photos import TINY, image

from fedpriv.data import arrays, photographs
from fedpriv.data.features import backbone, extract
from fedpriv.data.photographs import Photos
from fedpriv.errors import BadInput


def run(listed, out, copies=3, **how):
    return arrays.load(extract.extract(listed, Photos(copies=copies), "random", out, **how))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_copies_of_an_image_stand_side_by_side_in_the_order_of_the_table(tiny, tmp_path):
    made = run(tiny, tmp_path / "made.npz")
    assert made.x_train.shape == (24, backbone.WIDTH) and made.x_test.shape == (4, backbone.WIDTH)
    assert made.group.tolist() == [number // 3 for number in range(24)]
    assert made.y_train[::3].tolist() == [number % 5 for number in range(4, 12)]
    assert made.y_test.tolist() == [0, 1, 2, 3]


def test_the_plain_copies_and_the_test_images_are_never_augmented(tiny, tmp_path):
    plain, made = run(tiny, tmp_path / "plain.npz", 1), run(tiny, tmp_path / "made.npz", 3)
    assert np.allclose(made.x_train[::3], plain.x_train, rtol=0.02, atol=0.02)
    assert np.allclose(made.x_test, plain.x_test, rtol=0.02, atol=0.02)
    assert not np.allclose(made.x_train[1::3], plain.x_train, rtol=0.1, atol=0.1)


def test_the_result_is_the_same_to_the_bit_however_many_threads(tiny, tmp_path):
    one, two = (run(tiny, tmp_path / f"{threads}.npz", threads=threads, size=4) for threads in (1, 3))
    assert same(one, two)


@pytest.mark.parametrize("step", [extract, arrays], ids=["a batch", "the features"])
def test_two_that_extract_the_same_both_end_well(step, tiny, tmp_path, monkeypatch):
    whole, out = run(tiny, tmp_path / "whole.npz", size=4), tmp_path / "out.npz"
    save = step.save

    def meanwhile(*what):
        monkeypatch.setattr(step, "save", save)
        assert same(run(tiny, out, size=4), whole)  # another one, from beginning to end
        save(*what)

    monkeypatch.setattr(step, "save", meanwhile)
    assert same(run(tiny, out, size=4, threads=1), whole)


def test_parts_of_other_features_are_not_taken(tmp_path):
    extract.open_folder(tmp_path / "parts", "one")
    extract.save(tmp_path / "parts", 0, np.ones((4, 2), np.float16))
    extract.open_folder(tmp_path / "parts", "one")
    assert extract.load_part(tmp_path / "parts", 0, 4) is not None
    extract.open_folder(tmp_path / "parts", "other")
    assert extract.load_part(tmp_path / "parts", 0, 4) is None


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(path.read_bytes()[:-1]), Path.unlink])
def test_a_damaged_part_is_made_again(damage, tmp_path):
    extract.save(tmp_path, 0, np.ones((4, 2), np.float16))
    assert extract.load_part(tmp_path, 0, 5) is None
    damage(tmp_path / "000000.npy")
    assert extract.load_part(tmp_path, 0, 4) is None


def test_the_note_says_how_the_features_were_made(tiny, tmp_path, capsys):
    made = run(tiny, tmp_path / "made.npz")
    assert made.note in capsys.readouterr().err
    for words in (
        "32x32 pixels, backbone random (BatchNorm calibrated on 8 training images)",
        "3 copies (seed 0) of each of 8 training images, copy 0 plain",
        "duplicates kept (1 pixel-identical groups, 2 images, 1 groups with conflicting labels)",
        "0 images missing, 0 unreadable",
    ):
        assert words in made.note


def test_photographs_of_the_same_pixels_have_the_same_features_and_count_as_one(tiny, tmp_path):
    image(5).save(tiny.parent / "raw/train_images/p9.png")
    photographs.write_manifest(TINY, [], tiny)
    made = run(tiny, tmp_path / "made.npz", size=4)
    first, second = (3 * (number - TINY.test_rows) for number in (5, 9))
    assert made.content.tolist() == [first if row == second else row for row in range(24)]


def test_a_missing_or_damaged_image_is_refused(tiny, tmp_path):
    raw = tiny.parent / "raw/train_images"
    (raw / "p5.png").unlink()
    (raw / "p6.png").write_bytes(b"\x89PNG")
    photographs.write_manifest(TINY, [], tiny)
    with pytest.raises(BadInput, match="1 missing: p5; 1 unreadable: p6"):
        extract.extract(tiny, Photos(), "random", tmp_path / "made.npz")


def test_an_image_that_changed_since_it_was_listed_is_refused(tiny, tmp_path):
    path = tiny.parent / "raw/train_images/p5.png"
    image(77).save(path)
    with pytest.raises(BadInput, match=r"p5\.png: found other pixels than the manifest"):
        extract.extract(tiny, Photos(), "random", tmp_path / "made.npz")
    path.unlink()
    with pytest.raises(BadInput, match=r"p5\.png: found .*No such file"):
        extract.extract(tiny, Photos(), "random", tmp_path / "made.npz")


def test_an_extraction_that_was_broken_off_goes_on_to_the_same_bits(tiny, tmp_path, monkeypatch):
    whole, out, save = run(tiny, tmp_path / "whole.npz", size=4), tmp_path / "broken.npz", extract.save

    def broken(folder, number, rows):
        if number >= 2:
            raise KeyboardInterrupt
        save(folder, number, rows)

    with monkeypatch.context() as patch:
        patch.setattr(extract, "save", broken)
        with pytest.raises(KeyboardInterrupt):
            run(tiny, out, size=4, threads=1)
    kept = sorted(path.name for path in (tmp_path / "broken.parts").iterdir() if path.suffix == ".npy")
    assert kept == ["000000.npy", "000001.npy"] and not out.exists()
    computed = []
    monkeypatch.setattr(extract, "save", lambda folder, number, rows: computed.append(number))
    assert same(run(tiny, out, size=4), whole)
    assert 0 not in computed and 1 not in computed and not (tmp_path / "broken.parts").exists()


def test_dropped_duplicates_are_the_later_ones_and_are_counted(tiny, tmp_path):
    out = extract.extract(tiny, Photos(dedup="drop"), "random", tmp_path / "made.npz")
    made = arrays.load(out)
    assert (len(made.y_test), len(made.y_train)) == (4, 7)  # p11 is p2, which is for testing
    assert "1 duplicates dropped (1 pixel-identical groups" in made.note
