"""What MkDocs asks for while it builds the site: pages that are made, and links that lead out of docs/.

Made are the reference (from the package itself), the tutorials (by running them), and copies of documents that stand
elsewhere in the tree. The files of docs/ are shown as they are, but for a few words that only a repository needs.
"""

import posixpath
import re
from pathlib import Path

import notebooks
import reference
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
# Documents from elsewhere in the tree, by their place in the site.
BROUGHT = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "examples.md": "examples/README.md",
}
LINK = re.compile(r"\]\((?P<path>[\w./-]+\.(?:md|py))(?P<anchor>#[\w-]*)?\)")


def with_links(text, source, page):
    """A document that stands at `source` in the tree, with its links as they must be on a page of the site."""
    pages = {source: page for page, source in BROUGHT.items()}

    def link(match):
        target = (ROOT / source).parent.joinpath(match["path"]).resolve().relative_to(ROOT).as_posix()
        target = pages.get(target, target.removeprefix("docs/"))
        if target.startswith("tutorials/"):
            target = target.replace(".py", ".md")
        return f"]({posixpath.relpath(target, posixpath.dirname(page))}{match['anchor'] or ''})"

    return LINK.sub(link, text)


def contents(text):
    """A list of all entries of the page of errors, for its top."""
    lines = []
    for level, title in re.findall(r"^(##|###) (.+)$", text, re.MULTILINE):
        anchor = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower())).strip("-")
        lines.append(f"\n**[{title}](#{anchor})**\n" if level == "##" else f"- [{title}](#{anchor})")
    return '<div class="contents" markdown>\n' + "\n".join(lines) + "\n\n</div>\n\n"


def on_files(files, config):
    config.extra["reference"], made = reference.pages()
    functions = [name for name in made if "/functions_" in name]
    modules = [name for name in made if name not in functions]
    for entry in config.nav:
        if "Reference" in entry:
            entry["Reference"] += [{"Modules": modules}, {"Functions": functions}]
    made |= notebooks.pages(ROOT / "docs" / "tutorials")
    for page, source in BROUGHT.items():
        made[page] = with_links((ROOT / source).read_text(), source, page)
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.generated_by is None:
        markdown = with_links(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)
    if page.file.src_uri == "reference.md":
        markdown += "\n" + config.extra["reference"]
    if page.file.src_uri == "not_there.md":  # the list that tools/absent.py writes into the README
        absent = (ROOT / "README.md").read_text().split("<!-- absent -->")[1].split("<!-- end of absent -->")[0]
        markdown += "\n## By names\n" + absent
    if page.file.src_uri == "errors.md":
        first = markdown.index("\n## ") + 1
        markdown = markdown[:first] + contents(markdown) + markdown[first:]
    # What a test reads of a block's kind (raises, cured, file names) is shown as its title.
    return re.sub(r"^```(\w+) ([\w./-]+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)


# The one script that the theme would fetch from elsewhere; docs/assets has its like.
FETCHED = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output, page, config):
    return output.replace(FETCHED, "../" * page.file.src_uri.count("/") + "assets/worker.js")


def on_post_template(output_content, template_name, config):
    return output_content.replace(FETCHED, "assets/worker.js")
