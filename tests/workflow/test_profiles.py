"""The profiles say nothing that Snakemake, or the plugins they are for, would not know."""

import importlib.util

import pytest
import yaml
from snakemake.cli import get_argument_parser
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from support.workflow import ROOT, planned, write_config

PROFILES = {
    path.parent.name: yaml.safe_load(path.read_text()) for path in (ROOT / "profiles").glob("*/profile.yaml")
}
CLUSTERS = {name: said for name, said in PROFILES.items() if "executor" in said}
OF_PLUGINS = ("slurm-", "kubernetes-", "googlebatch-", "storage-")


def plugin(said):
    """Return the executor of a profile, or skip the test where that is not installed."""
    if importlib.util.find_spec(f"snakemake_executor_plugin_{said['executor']}") is None:
        pytest.skip(f"snakemake-executor-plugin-{said['executor']} is not installed")
    return ExecutorPluginRegistry().get_plugin(said["executor"])


def test_there_is_a_profile_for_each_kind_of_cluster():
    assert set(CLUSTERS) == {"slurm", "kubernetes", "google-batch"}


@pytest.mark.parametrize("name", PROFILES)
def test_every_key_is_an_option_of_snakemake_or_of_a_plugin(name):
    parser = get_argument_parser()
    known = {option.removeprefix("--") for action in parser._actions for option in action.option_strings}
    assert [key for key in PROFILES[name] if key not in known and not key.startswith(OF_PLUGINS)] == []


@pytest.mark.parametrize("name", CLUSTERS)
def test_its_executor_takes_what_the_profile_says(name):
    executor = plugin(CLUSTERS[name])
    args = get_argument_parser([str(ROOT / "profiles" / name)]).parse_args([])
    settings = executor.get_settings(args)
    executor.validate_settings(settings)
    prefix = f"{CLUSTERS[name]['executor']}-"
    said = {key: value for key, value in CLUSTERS[name].items() if key.startswith(prefix)}
    for key, value in said.items():
        taken = getattr(settings, key.removeprefix(prefix).replace("-", "_"))
        assert taken == value or [one.unparse() for one in taken] == [value], key


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_workflow_is_planned_through_it(name, tmp_path):
    plugin(CLUSTERS[name])
    bucket = []
    if "default-storage-provider" in CLUSTERS[name]:
        pytest.importorskip("snakemake_storage_plugin_fs")  # dry runs look into a bucket, too
        bucket = ["--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "bucket")]
    config = write_config(tmp_path)
    jobs = planned("--workflow-profile", name, *bucket, *config, cwd=tmp_path)
    assert jobs == planned(*config, cwd=tmp_path)


def test_trainings_on_kubernetes_resume_from_the_volume_that_is_mounted():
    said = CLUSTERS["kubernetes"]
    _, place = said["kubernetes-persistent-volumes"].split(":")
    assert f"FEDPRIV_RESUME={place} " in said["precommand"]
