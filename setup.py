"""The wheel: package `plumb`, the extension and the native command. All compiling is the Makefile's."""
import os
import re
import shutil
import subprocess
import sys

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.abspath(__file__))


def version():
    with open(os.path.join(ROOT, "include", "plumb.h"), encoding="utf-8") as header:
        return re.search(r'#define PLUMB_VERSION "(.*)"', header.read()).group(1)


def make(*targets):
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS")}
    subprocess.run(["make", "-s", f"-j{os.cpu_count() or 2}", f"PYTHON={sys.executable}", *targets],
                   cwd=ROOT, check=True, env=environment)


class BuildWithMake(build_ext):
    """The extension is linked by the Makefile, with its flags; here it is put where setuptools wants it."""

    def build_extension(self, ext):
        make("python/plumb/_plumb.abi3.so")
        target = self.get_ext_fullpath(ext.name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        built = os.path.join(ROOT, "python", "plumb", "_plumb.abi3.so")
        if os.path.abspath(target) != built:
            shutil.copyfile(built, target)


# The command is part of the wheel as a file, so it has to be there before the wheel is planned.
if any(word in ("bdist_wheel", "install", "build", "editable_wheel") for word in sys.argv):
    make("build/plumb")

setup(
    version=version(),
    package_dir={"": "python"},
    packages=find_packages("python"),
    package_data={"plumb": ["_site/sitecustomize.py"]},
    ext_modules=[Extension("plumb._plumb", [], py_limited_api=True)],
    data_files=[("bin", ["build/plumb"])],
    cmdclass={"build_ext": BuildWithMake},
    options={
        "build": {"build_base": "build/python"},
        "bdist_wheel": {"py_limited_api": "cp310"},
        "egg_info": {"egg_base": "build"},
    },
)
