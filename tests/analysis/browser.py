"""A page in a real browser, visited by a script.

The page carries its own visitor: a script that is put in for the test, clicks, looks, and leaves what it saw in the document, which
Chromium prints when it is done. So no driver is needed, and its time is virtual: a slow machine changes nothing.
"""

import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here; Debian has it: apt-get install chromium")

LISTENER = """<script>
window.heard = [];
window.addEventListener("error", (event) => heard.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => heard.push(String(event.reason)));
window.addEventListener("securitypolicyviolation", (event) => heard.push(`${event.violatedDirective} ${event.blockedURI}`));
for (const level of ["error", "warn"]) console[level] = (...told) => heard.push(told.join(" "));
</script>"""

VISITOR = """<script>
const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
const luminance = (colour) => {
  const [r, g, b] = channels(colour).slice(0, 3).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor, parts = channels(colour);
    if (parts.length < 4 || parts[3] > 0.99) return colour;
  }
  return "rgb(255, 255, 255)";
};
const faint = () => [...document.querySelectorAll("body *:not(script):not(svg *)")].filter((element) => {
  const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!text || !element.checkVisibility()) return false;
  const [one, two] = [luminance(getComputedStyle(element).color), luminance(ground(element))];
  return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05) < 4.5;
}).map((element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 30)}`);
const drawn = () => [...document.querySelectorAll(".chart")].map((chart) => chart.querySelectorAll(".scatterlayer .trace").length);
const colourOf = () => document.querySelector(".chart .scatterlayer path.js-line")?.style.stroke;

window.addEventListener("load", () => setTimeout(() => {
  const button = document.getElementById("theme");
  const saw = { drawn: drawn(), light: { words: button.textContent, line: colourOf(), faint: faint() } };
  button.click();
  setTimeout(() => {
    for (const details of document.querySelectorAll("details")) details.querySelector("summary").click();
    saw.dark = { words: button.textContent, line: colourOf(), faint: faint(), theme: document.documentElement.dataset.theme };
    saw.opened = [...document.querySelectorAll("details")].every((details) => details.open);
    saw.visited = [...document.querySelectorAll("nav a, a.bar")].map((link) => { link.click(); return location.hash; });
    saw.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    saw.centred = [...document.querySelectorAll(".log")].every((log) => {
      const value = log.querySelector(".cells .value").getBoundingClientRect(), frame = log.getBoundingClientRect();
      return value.left >= frame.left && value.right <= frame.right;
    });
    saw.heard = heard;
    const note = document.createElement("pre");
    note.id = "saw";
    note.textContent = JSON.stringify(saw);
    document.body.append(note);
  }, 500);
}, 500));
</script>"""


def visit(text, folder, window):
    """What the visitor saw of the page, in a window of that size."""
    visited = folder / "visited.html"
    visited.write_text(text.replace("<head>", "<head>" + LISTENER, 1).replace("</body>", VISITOR + "</body>"))
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--dump-dom"]
    where = [f"--user-data-dir={folder / 'profile'}", f"--window-size={window}", "--virtual-time-budget=3000", visited.as_uri()]
    done = subprocess.run([CHROMIUM, *options, *where], capture_output=True, text=True, timeout=110)
    found = re.search(r'<pre id="saw">(.*?)</pre>', done.stdout, re.S)
    assert found, f"the visitor did not get through: {done.stderr[-2000:]}"
    return json.loads(found[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
