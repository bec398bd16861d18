import re

import pytest
from support.photos import TINY, image, lay, table

from fedpriv.data import photographs
from fedpriv.errors import BadInput


def damage(path):
    path.write_bytes(path.read_bytes()[:400])


@pytest.fixture
def raw(tmp_path):
    return lay(tmp_path / "tiny" / "raw")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tiny" / "images.json"


def test_every_image_is_listed_in_order_with_its_label_and_split(raw, path):
    photographs.write_manifest(TINY, [], path)
    listed = photographs.load_manifest(path)
    assert [image.id for image in listed.images] == [f"p{number}" for number in range(12)]
    assert [image.label for image in listed.images] == [number % 5 for number in range(12)]
    assert [image.test for image in listed.images] == 4 * [True] + 8 * [False]
    assert all((raw / image.path).is_file() for image in listed.images)
    assert listed.folder == str(raw)


def test_pixel_identical_images_and_conflicting_labels_are_counted(raw, path, capsys):
    image(2).save(raw / "train_images/p7.png")  # a third of the kind of p2 and p11, labels 2, 2 and 1
    image(5).save(raw / "train_images/p10.png")  # p5 and p10 have the same label
    counts = photographs.write_manifest(TINY, [], path).counts
    assert (counts.identical_groups, counts.identical_images, counts.conflicting_groups) == (2, 5, 1)
    assert "2 pixel-identical groups (5 images), 1 with conflicting labels" in capsys.readouterr().err


def test_missing_and_unreadable_images_are_named_and_counted_and_not_listed(raw, path, capsys):
    (raw / "train_images/p3.png").unlink()
    damage(raw / "train_images/p6.png")
    listed = photographs.write_manifest(TINY, [], path)
    assert listed.missing == ("p3",) and list(listed.unreadable) == ["p6"]
    assert (listed.counts.missing, listed.counts.unreadable, listed.counts.rows) == (1, 1, 12)
    assert not {"p3", "p6"} & {image.id for image in listed.images}
    assert "tiny: 1 missing: p3; 1 unreadable: p6" in capsys.readouterr().err
    with pytest.raises(BadInput, match=r"1 missing: p3; 1 unreadable: p6, .*\(of 12.* and rerun"):
        photographs.refuse(listed, path)


def test_a_table_without_any_image_is_bad_input(raw, path):
    table(raw, [(f"q{number}", 0) for number in range(9)])
    with pytest.raises(BadInput, match=r"train\.csv: found no readable image of its 9 rows"):
        photographs.write_manifest(TINY, [], path)
    assert not path.exists()


def test_a_manifest_that_says_the_same_keeps_its_time(raw, path):
    photographs.write_manifest(TINY, [], path)
    before = path.stat().st_mtime_ns
    photographs.write_manifest(TINY, [], path)
    assert path.stat().st_mtime_ns == before
    image(99).save(raw / "train_images/p0.png")
    photographs.write_manifest(TINY, [], path)
    assert path.stat().st_mtime_ns > before


@pytest.mark.parametrize("content", [None, "{", "[]", '{"dataset": "tiny"}', "\x80"])
def test_a_file_that_is_no_manifest_is_bad_input_naming_it(content, path):
    path.parent.mkdir()
    if content is not None:
        path.write_text(content, encoding="latin-1")
    with pytest.raises(BadInput, match=re.escape(str(path))) as error:
        photographs.load_manifest(path)
    assert all(line.startswith(str(path)) for line in str(error.value).splitlines())


def test_photographs_of_our_own_may_move_with_their_manifest(raw, path, tmp_path):
    photographs.write_manifest(TINY, [], path)
    (tmp_path / "tiny").rename(tmp_path / "moved")
    assert photographs.load_manifest(tmp_path / "moved/images.json").folder == str(tmp_path / "moved/raw")
