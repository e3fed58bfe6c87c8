"""`make site`: write the pages to build/site-pages, and let Zensical render them to build/site.

    python -m tagwire_site ZENSICAL NPM

ZENSICAL is the path of the program `zensical`. NPM is the folder in which npm installed the packages of package.json.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tagwire_site.api_pages import api_pages
from tagwire_site.doc_pages import doc_pages
from tagwire_site.format_pages import format_pages
from tagwire_site.message_pages import message_pages, message_views
from tagwire_site.proposal_pages import proposal_pages
from tagwire_site.python_files import write_python
from tagwire_site.register_pages import register_pages
from tagwire_site.rendering import FOLDER, ROOT
from tagwire_site.rule_pages import rule_pages
from tagwire_site.schema_files import schema_files
from tagwire_site.script_files import localized, script_files

BUILD: Final = ROOT / "build"
PAGES: Final = BUILD / "site-pages"
SITE: Final = BUILD / "site"


def all_pages() -> dict[str, str | bytes]:
    """Return all files of the site, by path, except for the playground's copy of Python."""
    docs = doc_pages()
    return {
        **docs,
        **message_pages(list(message_views())),
        **format_pages(),
        **register_pages(),
        **rule_pages(),
        **proposal_pages(str(docs["proposals.md"])),
        **api_pages(),
        **schema_files(),
        **script_files(),
    }


def main() -> int:
    """Build the site. Return Zensical's exit status."""
    zensical, npm = sys.argv[1:]
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    for path, content in all_pages().items():
        target = PAGES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    configuration = BUILD / "site.yml"
    shutil.copy(FOLDER / "mkdocs.yml", configuration)
    status = subprocess.run(
        [zensical, "build", "--strict", "--config-file", configuration], check=False, cwd=BUILD
    ).returncode
    localized(SITE, Path(npm))
    write_python(SITE, Path(npm))
    return status


if __name__ == "__main__":
    sys.exit(main())
