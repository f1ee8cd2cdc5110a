"""Configuration of lit for all tests that are files with RUN lines."""

import os
import sys

import lit.formats

config.name = "remat"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "Python", "Inputs", "malformed", "corpus", "regressions"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.remat_test_dir

config.environment["PATH"] = os.pathsep.join(
    [config.remat_bin_dir, config.llvm_bin_dir, config.environment["PATH"]]
)
# Scripts that run tools take them from here, which need not be build/bin.
config.environment["REMAT_BIN"] = config.remat_bin_dir
# No test finds what another one, or the user, compiled before.
config.environment["REMAT_CACHE_DIR"] = "off"
for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "CUDA_HOME", "LD_LIBRARY_PATH"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

config.substitutions += [
    ("%python", '"%s"' % sys.executable),
    ("%source", config.remat_source_dir),
    ("%build", config.remat_build_dir),
    ("%plugin", config.remat_plugin),
]

# A sanitized plugin does not load into a program that is not sanitized.
if not config.remat_sanitize:
    config.available_features.add("plugin")
else:
    config.available_features.add("sanitized")
