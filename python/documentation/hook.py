"""Called by mkdocs (mkdocs.yml): adds the pages of the reference and files that pages link to, leads links there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from documentation import links, notebooks, reference

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
#: What lets search work in pages that are opened as files; the theme would fetch it from there.
_SHIM = "https://unpkg.com/iframe-worker/shim"
_OWN_SHIM = "assets/iframe-worker.js"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List guides that mkdocs.yml does not list yet after those that it does."""
    sections = {name: place for entry in config.nav or [] for name, place in entry.items()}
    listed = str(config.nav)
    for file in sorted((ROOT / "docs").glob("*.md")):
        if file.name not in listed:
            title = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
            sections["Guides"].append({title: file.name})
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what is not in docs/."""
    for place, text in reference.pages(ROOT).items():
        files.append(File.generated(config, place, content=text))
    for file in sorted(notebooks.FOLDER.glob("*.ipynb")):
        text = notebooks.page(notebooks.load(file))
        files.append(File.generated(config, f"tutorial/{file.stem}.md", content=text))
    for place, source in links.outside(ROOT).items():
        files.append(File.generated(config, place, content=links.content(ROOT, source)))
    shim = Path(__file__).with_name("iframe-worker.js").read_text(encoding="utf-8")
    files.append(File.generated(config, _OWN_SHIM, content=shim))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links out of docs/ to the copies, and those to notebooks to their pages."""
    del config, files
    return links.led(ROOT, page.file.src_uri, markdown).replace(".ipynb)", ".md)")


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Fetch nothing from elsewhere."""
    del config
    return output.replace(_SHIM, "../" * page.file.dest_uri.count("/") + _OWN_SHIM)


def on_post_template(output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
    """The same for the page that says that there is no such page."""
    del template_name, config
    return output_content.replace(_SHIM, _OWN_SHIM)
