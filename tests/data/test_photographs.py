import io

import pytest
from PIL import Image
from support.photos import image, lay, table

from fedpriv.data import photographs
from fedpriv.errors import BadInput

GOOD = [("a", 0), ("b", 4), ("c", 2)]


def test_a_table_is_read_in_its_order_whatever_else_it_has(tmp_path):
    path = table(tmp_path, [(1, *row) for row in GOOD], ("number", "id_code", "diagnosis"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some spreadsheets write it
    assert photographs.rows(path, 5, 2) == GOOD


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*GOOD, ("d", 7)], ["line 5", "diagnosis 7 of d", "0 to 4"]),
        ([*GOOD, ("d", -1)], ["line 5", "-1"]),
        ([*GOOD, ("d", "")], ["line 5", "diagnosis nothing of d"]),
        ([*GOOD, ("d",)], ["line 5", "diagnosis nothing of d"]),
        ([*GOOD, ("", 1)], ["line 5", "no id_code"]),
        ([*GOOD, ("a", 0)], ["line 5", "a again (line 2)"]),
        (GOOD[:2], ["2 rows", "more than 2"]),
        ([], ["0 rows"]),
    ],
)
def test_a_wrong_row_is_bad_input_naming_the_file_and_the_row(rows, words, tmp_path):
    path = table(tmp_path, rows)
    with pytest.raises(BadInput) as error:
        photographs.rows(path, 5, 2)
    assert all(word in str(error.value) for word in [str(path), *words])


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"id,label\na,1\n", "columns id, label, allowed: id_code, diagnosis"),
        (b"id_code\na\n", "columns id_code, allowed"),
        (b"", "columns none"),
        (b"id_code,diagnosis\n\xff\xfe,1\n", "no readable table"),
        (None, "no such file"),
    ],
)
def test_a_file_that_is_no_such_table_is_bad_input_naming_it(content, found, tmp_path):
    path = tmp_path / "train.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=f"train.csv: found {found}"):
        photographs.rows(path, 5, 0)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".jpeg", ".JPG"])
@pytest.mark.parametrize("inside", ["train_images", "."])
def test_images_are_found_in_their_folder_or_beside_the_table(suffix, inside, tmp_path):
    lay(tmp_path, 3, suffix, inside)
    prefix = "" if inside == "." else "train_images/"
    assert photographs.located(tmp_path) == {
        f"p{number}": f"{prefix}p{number}{suffix}" for number in range(3)
    }


def test_of_two_files_with_one_id_the_lossless_one_is_taken(tmp_path):
    image(0).save(tmp_path / "a.jpg")
    image(0).save(tmp_path / "a.png")
    assert photographs.located(tmp_path) == {"a": "a.png"}


def test_a_fingerprint_is_of_the_pixels_not_of_the_file(tmp_path):
    paths = [tmp_path / name for name in ("a.png", "b.png", "c.png")]
    image(0).save(paths[0], compress_level=0)
    image(0).save(paths[1], compress_level=9)
    turned = Image.frombytes("RGB", image(0).size[::-1], image(0).tobytes())
    turned.save(paths[2])  # the same bytes in another shape are another image
    first, second, third = (photographs.fingerprint(photographs.decoded(path)) for path in paths)
    assert first == second != third


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_an_image_cut_anywhere_is_refused(kind, tmp_path):
    buffer, path = io.BytesIO(), tmp_path / "a.img"
    image(0).save(buffer, kind)
    for share in (0, 0.01, 0.3, 0.9):
        path.write_bytes(buffer.getvalue()[: int(share * len(buffer.getvalue()))])
        with pytest.raises(ValueError, match=r"."):
            photographs.decoded(path)
