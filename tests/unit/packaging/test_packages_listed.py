"""Goal: what is on disk is what gets installed.

The mapping of folders to import names makes the list of packages explicit. A forgotten one works
in an editable install and is absent from the wheel, so the list is compared with the folders.
"""

import re
import tomllib

from tests.checkout import REPOSITORY

SETUPTOOLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]
TOP_FOLDERS = {folder: name for name, folder in SETUPTOOLS["package-dir"].items()}


def packages_on_disk() -> set[str]:
    found = set()
    for folder, name in TOP_FOLDERS.items():
        for marker in (REPOSITORY / folder).rglob("__init__.py"):
            inner = marker.parent.relative_to(REPOSITORY / folder).parts
            found.add(".".join((name, *inner)))
    return found


def test_every_folder_with_modules_is_a_package() -> None:
    for folder in TOP_FOLDERS:
        for module in (REPOSITORY / folder).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), f"{module.parent} has no __init__.py"


def test_list_equals_disk() -> None:
    assert set(SETUPTOOLS["packages"]) == packages_on_disk()


def test_list_is_sorted_and_without_repeats() -> None:
    assert SETUPTOOLS["packages"] == sorted(set(SETUPTOOLS["packages"]))


def test_only_tests_and_tools_are_unmapped() -> None:
    importable = {p.parent.name for p in REPOSITORY.glob("*/__init__.py")}
    assert importable == set(TOP_FOLDERS)


def test_no_module_reads_a_second_copy_of_ours() -> None:
    """`import storage` works when started in the root, and gives a second copy of each class."""
    wrong = re.compile(
        r"^\s*(?:from|import) +(catalog|conf|sql_ext|storage)(?:[. ]|$)", re.MULTILINE
    )
    for folder in (*TOP_FOLDERS, "tests", "demo"):
        for module in (REPOSITORY / folder).rglob("*.py"):
            assert not wrong.search(module.read_text()), module


def test_package_data_matches_files() -> None:
    for package, patterns in SETUPTOOLS["package-data"].items():
        top, _, inner = package.removeprefix("table_store").lstrip(".").partition(".")
        folder = REPOSITORY / (top or "table_store") / inner.replace(".", "/")
        assert folder.is_dir()
        assert any(any(folder.glob(p)) for p in patterns), f"{package} ships none of {patterns}"
