import io

import numpy as np
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
        ([*GOOD, ("d", "")], ["line 5", "diagnosis nothing of d"]),
        ([*GOOD, ("", 1)], ["line 5", "diagnosis 1 of nobody"]),
        ([*GOOD, (" a.png", 0)], ["line 5", "diagnosis 0 of a", "once"]),
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
        (
            b"id,label\na,1\n",
            "no table .KeyError.*allowed: CSV in UTF-8 with columns id_code",
        ),
        (b"id_code,diagnosis\n\xff\xfe,1\n", "no table .UnicodeDecodeError"),
        (b"", "0 rows, allowed: more than 0"),
        (None, "no table .FileNotFoundError"),
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
    assert photographs.locate_images(tmp_path) == {
        f"p{number}": f"{prefix}p{number}{suffix}" for number in range(3)
    }


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_an_image_cut_anywhere_is_refused(kind, tmp_path):
    buffer, path = io.BytesIO(), tmp_path / "a.img"
    image(0).save(buffer, kind)
    for share in (0, 0.01, 0.3, 0.9):
        path.write_bytes(buffer.getvalue()[: int(share * len(buffer.getvalue()))])
        with pytest.raises(ValueError, match=r"."):
            photographs.decode_image(path)


RAMP = np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))
COLOUR = np.stack([RAMP, RAMP[::-1, ::-1], np.full_like(RAMP, 99)], axis=-1)


@pytest.mark.parametrize("array", [RAMP.astype(np.uint16), np.stack([0 * RAMP] * 3 + [RAMP], axis=-1)])
def test_more_than_8_bits_or_a_picture_in_the_alpha_channel_are_refused(array, tmp_path):
    Image.fromarray(array).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"^pixels of mode .*: give them 8 bits and a background"):
        photographs.decode_image(tmp_path / "a.png")


def test_a_picture_is_turned_as_its_exif_says(tmp_path):
    exif, turned = Image.Exif(), Image.fromarray(COLOUR)
    exif[0x0112] = 6
    turned.save(tmp_path / "a.png", exif=exif)
    expected = turned.transpose(Image.Transpose.ROTATE_270)
    assert np.array_equal(photographs.decode_image(tmp_path / "a.png"), expected)
