"""Which pages the site has, in the order of its menu. A page is a file of the repository."""

# A page's file in the repository -> its name in the site, where that is not its path below docs/.
NAMES = {
    "README.md": "overview",
    "ARCHITECTURE.md": "how_it_works",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
}

# What the menu calls pages by, where that is not their title.
TITLES = {"overview": "All on one page", "how_it_works": "From Python to C"}

# Captions of the menu and the names of their pages.
MENU = {
    "Start": ["tutorial", "cookbook", "overview"],
    "Guides": [
        "guides/speed_up_numpy",
        "porting_from_jax",
        "derivatives",
        "guides/ship_to_c",
        "guides/cmake",
        "cuda",
        "guides/mpi",
        "other_machines",
        "guides/embedded",
        "guides/look_inside",
        "python_control_flow",
        "runtime_sizes",
        "indexing",
        "random",
        "c_libraries",
        "calling",
        "devices",
        "hlo",
    ],
    "Reference": [
        "reference/index",
        "numpy",
        "scipy",
        "jax",
        "errors",
        "c_contract",
        "environment",
        "differences_from_numpy",
        "reference_interface",
        "accuracy",
        "benchmarks",
        "process_settings",
        "security",
        "traces",
    ],
    "How it works": ["how_it_works", "from_scratch", "decisions/index"],
    "Project": ["contributing", "changelog"],
}
