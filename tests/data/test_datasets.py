import pytest

from fedpriv import data
from fedpriv.data import DATASETS, arrays, image_datasets
from fedpriv.errors import BadInput


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_knows_its_name_and_its_licence(name):
    dataset = data.dataset_named(name)
    assert dataset.name == name and dataset.licence and dataset.citation


@pytest.mark.parametrize("dataset", image_datasets().values(), ids=image_datasets())
def test_every_file_has_two_public_sources_unless_its_hash_is_not_published(dataset):
    published = [file.sha256 for file in dataset.files if file.sha256]
    assert len(dataset.public) >= (2 if published else bool(dataset.files))
    assert all(base.startswith("http") and base.endswith("/") for base in dataset.public)


@pytest.mark.parametrize("name", [name for name, dataset in image_datasets().items() if not dataset.network])
def test_a_bundled_dataset_is_prepared_without_any_source(name, tmp_path):
    path = data.prepare_arrays(name, tmp_path, mirrors=["no/such/folder"])
    assert path == tmp_path / f"{name}.npz"
    assert arrays.load(path).classes == 10


def test_equal_arrays_give_equal_bytes(tmp_path):
    (tmp_path / "a").mkdir()
    first, second = (data.decode("digits", tmp_path / place).read_bytes() for place in ("a", "b"))
    assert first == second


def test_an_unknown_dataset_is_bad_input_with_the_names_there_are(tmp_path):
    with pytest.raises(
        BadInput, match=r"No dataset 'imagenet'\. There are aptos, digits, fashion_mnist, femnist, fund"
    ):
        data.prepare_arrays("imagenet", tmp_path, [])
