#!/usr/bin/env python3
"""report.html in a real browser: page_test.py FLASHPROOF-CLI ARTEFACTS-FOLDER. Exit 77: no browser here.

Opens pages that `flashproof render` made of example.py's reports from file://, and asks what a reader would do. Leaves
report.png and report-dark.png in the folder.
"""
import json
import pathlib
import subprocess
import sys
import time
import unittest

import browser

HERE = pathlib.Path(__file__).resolve().parent
RENDER, ARTEFACTS = None, None
WEBDRIVER = None


def page(name, *arguments, change=None):
    """The page of an example report, as a file:// address."""
    text = subprocess.run([sys.executable, "-B", HERE / "example.py", RENDER, *arguments], check=True, capture_output=True).stdout
    report = json.loads(text)
    if change:
        change(report)
    source = ARTEFACTS / f"{name}.json"
    source.write_text(json.dumps(report))
    subprocess.run([RENDER, "render", source], check=True, capture_output=True)
    return report, source.with_suffix(".html").as_uri()


class Page(unittest.TestCase):
    scripts = True
    theme = "light"

    @classmethod
    def setUpClass(cls):
        cls.driver = browser.start(WEBDRIVER, 1400, 1000, cls.theme, cls.scripts)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, address):
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)  # forgets what was
        self.driver.get(address)

    def wait(self, script, what, *arguments):
        end = time.monotonic() + 20
        while not self.js(script, *arguments):
            self.assertLess(time.monotonic(), end, f"never: {what}")
            time.sleep(0.05)

    def texts(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.driver).send_keys(*keys).perform()

    def assert_quiet(self, address):
        """Nothing on the console, and no request but for the file itself."""
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])
        requests = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                requests.append(message["params"]["request"]["url"].split("#")[0])
        self.assertIn(address, requests)  # else the log shows nothing
        self.assertEqual([url for url in requests if url != address and not url.startswith("data:")], [])

    def assert_accessible(self):
        self.assertEqual(self.js("""
            const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
            return ids.filter((id, i) => ids.indexOf(id) !== i)"""), [], "ids that occur twice")
        self.assertEqual(self.js("return [...document.querySelectorAll('th:not([scope])')].map(e => e.textContent)"), [])
        self.assertEqual(self.js("return [...document.querySelectorAll('table')].filter(t => !t.caption).map(t => t.outerHTML.slice(0, 80))"), [])
        self.assertEqual(self.js("""
            return [...document.querySelectorAll('canvas, svg')].filter(e => !(e.getAttribute('aria-label') || '').trim()
                || e.getAttribute('role') !== 'img').map(e => e.outerHTML.slice(0, 80))"""), [])
        self.assertEqual(self.js("""
            return [...document.querySelectorAll('button, select, input, a[href]')].filter(e => !(e.getAttribute('aria-label')
                || e.textContent || e.closest('label')?.textContent || '').trim()).map(e => e.outerHTML.slice(0, 80))"""), [])
        self.assertEqual(self.js("return document.documentElement.lang"), "en")


class WithScripts(Page):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.report, cls.address = page("report", "--records", "2500")

    def setUp(self):
        self.open(self.address)

    def records(self, **only):
        return [r for r in self.report["records"] if all(r[k] == v for k, v in only.items())]

    def count(self):
        return self.texts("#count")[0]

    def choose(self, field, value):
        self.js("""const s = document.getElementById(arguments[0]); s.value = arguments[1];
                   s.dispatchEvent(new Event('change', {bubbles: true}))""", field, value)

    def column(self, name):
        heads = [text for text in self.texts("table.records thead th")]
        at = heads.index(name)
        return self.js("return [...document.querySelectorAll('#rows > tr:not(.open)')].map(r => r.cells[arguments[0]].textContent)", at)

    def click_head(self, name):
        self.js("[...document.querySelectorAll('table.records thead button')].find(b => b.textContent === arguments[0]).click()", name)

    def test_loads_quietly(self):
        self.js("document.getElementById('plots').scrollIntoView()")
        self.wait("return document.querySelector('#table-terms tbody tr')", "plots")
        self.wait("return document.querySelectorAll('#rows tr').length > 0", "rows")
        self.assert_quiet(self.address)
        self.assert_accessible()

    def test_says_what_failed(self):
        failing = [r for r in self.records(form="hardened") if r["verdict"] == "fail"]
        self.assertGreater(len(failing), 0)
        verdict = self.texts(".verdict")[0]
        self.assertIn("Fails.", verdict)
        self.assertIn(f"in {len({r['kernel'] for r in failing})} of ", verdict)
        self.assertIn(failing[0]["witness"]["replay"], self.texts("#summary code.cmd"))

    def test_filters(self):
        self.assertIn(f"of {len(self.report['records']):,} records", self.count())
        self.choose("only-format", "bf16")
        self.choose("only-verdict", "fail")
        wanted = self.records(format="bf16", verdict="fail")
        self.assertIn(f"of {len(wanted)} records", self.count())
        self.assertEqual(set(self.column("format")), {"bf16"})
        self.assertTrue(all(text.startswith("✕") for text in self.column("verdict")))
        self.js("const t = document.getElementById('text'); t.value = 'no such kernel'; t.dispatchEvent(new Event('input'))")
        self.assertEqual(self.count(), "no record")
        self.js("document.getElementById('clear').click()")
        self.assertIn(f"of {len(self.report['records']):,} records", self.count())

    def test_sorts(self):
        self.choose("only-verdict", "pass")
        key = lambda r: r["max_ratio"]
        wanted = sorted(map(key, self.records(verdict="pass")))
        head = "[...document.querySelectorAll('table.records thead th')].find(t => t.textContent === 'err / bound')"
        self.click_head("err / bound")
        self.assertEqual(self.js(f"return {head}.ariaSort"), "descending")
        first = [float(text) for text in self.column("err / bound")]
        self.assertEqual(len(first), 100)
        for shown, value in zip(first, reversed(wanted)):
            self.assertAlmostEqual(shown, value, delta=0.0051)
        self.click_head("err / bound")
        self.assertEqual(self.js(f"return {head}.ariaSort"), "ascending")
        for shown, value in zip([float(text) for text in self.column("err / bound")], wanted):
            self.assertAlmostEqual(shown, value, delta=0.0051)

    def test_turns_pages(self):
        first = self.column("kernel")
        self.js("document.getElementById('on').click()")
        self.assertIn("101–200 of", self.count())
        self.assertEqual(len(first), 100)
        self.js("document.getElementById('back').click()")
        self.assertEqual(self.column("kernel"), first)

    def test_a_link_leads_to_a_record_with_its_replay_line_and_heat_map(self):
        record = next(r for r in self.report["records"][200:] if r["heat"])
        key = "/".join(record[k] for k in ("kernel", "format", "executor", "math", "family"))
        self.open(f"{self.address}#record={key.replace('/', '%2F')}")
        self.wait("return document.querySelector('tr.open')", "the record is open")
        self.assertEqual(self.texts("tr.open .replay code"), [record["witness"]["replay"]])
        said = self.texts("tr.open")[0]
        for part in (record["witness"]["verdict"], record["witness"]["case"], record["witness"]["detail"], "Figures by output"):
            self.assertIn(part, said)
        self.assertNotIn("[object", said)
        self.assertEqual(len(self.texts("tr.open table tbody tr")), len(record["figures"]) + sum(map(len, record["profile"].values())))
        covered = self.js("""const b = document.querySelector('tr:has(+ tr.open) .toggle').getBoundingClientRect();
            return !document.elementFromPoint(b.x + 5, b.y + b.height / 2).closest('.toggle')""")
        self.assertFalse(covered, "the row is in sight")
        heat = self.js("return document.querySelector('tr.open svg.heat').getAttribute('aria-label')")
        self.assertIn(f"{record['heat']['rows']} × {record['heat']['cols']}", heat)
        wrong = sum(c in "XNIFU" for row in record["heat"]["cells"] for c in row)
        self.assertEqual(len(self.texts("tr.open svg.heat text")), wrong)
        self.assertEqual(self.texts("tr.open .heatmap pre"), ["\n".join(record["heat"]["cells"])])
        self.assertEqual(self.js("return document.activeElement.closest('tr')?.querySelector('.toggle').getAttribute('aria-expanded')"), "true")
        self.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.js("document.querySelector('tr.open .replay .copy').click()")
        self.wait("return document.querySelector('tr.open .replay .copy').textContent === 'copied'", "copied")

    def test_a_cell_of_the_matrix_leads_to_its_records_by_keyboard(self):
        from selenium.webdriver.common.keys import Keys
        tables = self.js("return [...document.querySelectorAll('table.matrix:not(.kills)')].map(t => t.querySelectorAll('td[tabindex=\"0\"]').length)")
        self.assertEqual(set(tables), {1}, "one cell of each matrix is in the tab order")
        self.js("document.querySelector('table.matrix td[tabindex=\"0\"]').focus()")
        self.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
        kernel, family = self.js("""const c = document.activeElement, t = c.closest('table');
            return [c.parentElement.dataset.kernel, t.tHead.rows[0].cells[c.cellIndex].textContent]""")
        first = self.js("return document.querySelector('table.matrix tr[data-kernel]').dataset.kernel")
        self.assertNotEqual(kernel, first)
        self.press(Keys.ENTER)
        self.wait("return document.querySelector('tr.open')", "a record is open")
        self.assertIn(f"of {len(self.records(kernel=kernel, family=family))} records, kernel {kernel}", self.count())
        self.assertEqual(set(self.column("family")), {family})

    def test_every_matrix_cell_says_what_its_records_say(self):
        cells = self.js("""return [...document.querySelectorAll('table.matrix:not(.kills)')].flatMap(t => {
            const heads = [...t.tHead.rows[0].cells].map(h => h.textContent);
            return [...t.querySelectorAll('tr[data-kernel] td[class]')].map(c => [c.parentElement.dataset.kernel, heads[c.cellIndex], c.textContent])})""")
        said = {(kernel, family): text for kernel, family, text in cells}
        self.assertEqual(set(said), {(r["kernel"], r["family"]) for r in self.report["records"]})
        failing = {(r["kernel"], r["family"]) for r in self.report["records"] if r["verdict"] == "fail"}
        words = {"NaN", "bound", "wrong", "unwr", "leak", "laund", "vary", "error"}
        self.assertEqual({key for key, text in said.items() if text.split(" ")[0].rstrip("+") in words}, failing)

    def test_plots_follow_the_choice(self):
        self.js("document.getElementById('plots').scrollIntoView()")
        self.wait("return document.querySelectorAll('#table-length tbody tr').length === 5", "five kernels plotted")
        self.choose("plot-problem", "softmax")
        self.choose("plot-format", "f32")
        self.wait("return document.querySelectorAll('#table-length tbody th.id')[0]?.textContent.startsWith('softmax.')", "softmax plotted")
        label = self.texts("#table-length tbody th.id")[0]
        want = max((p[2] for r in self.records(kernel=label, format="f32") for p in r["profile"]["length"]))
        got = self.js("return document.getElementById('canvas-length').getAttribute('aria-label')")
        self.assertIn(f"{label.removeprefix('softmax.')} at most {want:.2g}", got)
        drawn = self.js("""const c = document.getElementById('canvas-length'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            return d.some(v => v !== 0)""")
        self.assertTrue(drawn, "the canvas is not blank")
        self.js("document.querySelector('#kernel-choices input:checked').click()")
        self.wait("return document.querySelectorAll('#table-length tbody tr').length === 4", "four kernels plotted")

    def test_theme_switch_and_skip_link(self):
        from selenium.webdriver.common.keys import Keys
        paper = "return getComputedStyle(document.body).backgroundColor"
        light = self.js(paper)
        self.js("document.getElementById('theme').click()")
        dark = self.js(paper)
        self.assertNotEqual(light, dark)
        self.driver.refresh()
        self.assertEqual(self.js(paper), dark, "the choice is kept")
        self.js("document.getElementById('theme').click()")
        self.assertEqual(self.js(paper), light)
        self.driver.refresh()
        self.press(Keys.TAB)
        self.assertEqual(self.js("return document.activeElement.className"), "skip")

    def test_text_stands_out(self):
        """WCAG AA, 4.5 to 1, of what matters most, in both themes."""
        for theme in ("light", "dark"):
            self.js("document.documentElement.dataset.theme = arguments[0]", theme)
            low = self.js("""
                const rgb = (c) => c.match(/[\\d.]+/g).map(Number);
                const lum = (c) => { const [r, g, b] = rgb(c).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                                     return .2126 * r + .7152 * g + .0722 * b };
                const paper = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if ((rgb(c)[3] ?? 1) > 0) return c } };
                const list = document.querySelectorAll('td, th, p, .legend b, .tile b, .tile span, nav a, button:enabled, label, .bad, .good, code, caption');
                const low = new Set();
                for (const e of list) {
                    const a = lum(getComputedStyle(e).color), b = lum(paper(e));
                    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
                    if (contrast < 4.5) low.add(`${e.tagName}.${e.className} ${contrast.toFixed(2)}`);
                }
                return [...low]""")
            self.assertEqual(low, [], theme)

    def test_fits_a_narrow_window(self):
        for width in (360, 800, 1400):
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
            self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), width)
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False})

    def test_pictures(self):
        for theme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            self.js("document.documentElement.dataset.theme = arguments[0]", theme)
            self.driver.save_screenshot(str(ARTEFACTS / name))
            self.assertGreater((ARTEFACTS / name).stat().st_size, 10_000)


class WithoutScripts(Page):
    scripts = False

    def test_plots_and_tables_are_there(self):
        report, address = page("plain", "--records", "600")
        self.open(address)
        self.assert_quiet(address)
        self.assertEqual(self.texts("#rows tr"), [])
        shown = "return [...document.querySelectorAll(arguments[0])].filter(e => e.getBoundingClientRect().height > 0).length"
        self.assertGreaterEqual(self.js(shown, "figure svg"), 9)
        self.assertGreater(self.js(shown, "table.matrix td a"), 0)
        self.assertEqual(self.js(shown, ".scripted"), 0)
        rows = len(self.texts("#kernels ~ .scroll tbody tr"))
        self.assertEqual(rows, len({(r["kernel"], r["format"]) for r in report["records"]}))
        commands = set(self.texts("#summary code.cmd"))
        failing = {}  # the worst format of each stands for all
        for r in report["records"]:
            if r["verdict"] == "fail" and r["form"] == "hardened":
                failing.setdefault((r["kernel"], r["family"]), set()).add(r["witness"]["replay"])
        self.assertGreater(len(failing), 0)
        for key, replays in failing.items():
            self.assertEqual(len(replays & commands), 1, key)
        target = self.js("return document.querySelector('table.matrix td a').getAttribute('href')")
        self.assertEqual(len(self.texts(target)), 1, "a failing cell leads to its row")
        self.assert_accessible()


class Hostile(Page):
    def test_nothing_from_the_report_runs(self):
        def partial(report):
            report["runs"][0]["partial"] = report["runs"][0]["cpu"]
        report, address = page("hostile", "--records", "700", "--hostile", change=partial)
        self.assertIn("onerror", json.dumps(report["records"]))
        self.open(address)
        self.wait("return document.querySelectorAll('#rows tr').length > 0", "rows")
        self.js("for (const b of [...document.querySelectorAll('.toggle')].slice(0, 5)) document.getElementById(b.closest('tr').id).querySelector('.toggle').click()")
        self.js("document.getElementById('plots').scrollIntoView()")
        self.wait("return document.querySelector('#table-length tbody tr')", "plots")
        self.assertIsNone(self.js("return window.pwned ?? null"))
        self.assertEqual(self.js("return document.querySelectorAll('img').length"), 0)
        self.assertEqual(self.js("return document.querySelectorAll('script').length"), 4)
        self.assertIn("<img src=x onerror=", self.texts(".partial")[0])
        self.assertIn("<img src=x onerror=", "".join(self.texts("tr.open")))
        # A line break or an escape in a command would run, or hide, what follows it.
        self.assertEqual([t for t in self.texts("code.cmd") if any(ord(c) < 32 or c in "\x7f\u2028\u202e" for c in t)], [])
        self.assert_quiet(address)

    def test_only_the_pages_own_scripts_may_run(self):
        """Were something not escaped, the policy would still stop it."""
        _, address = page("policy", "--records", "3")
        self.open(address)
        self.js("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.pwned = 1\"><a id=x onclick=\"window.pwned = 2\">x</a>');"
                "document.getElementById('x').click()")
        time.sleep(0.2)
        self.assertIsNone(self.js("return window.pwned ?? null"))
        self.assertIn("Content Security Policy", "".join(e["message"] for e in self.driver.get_log("browser")))


class Large(Page):
    def test_stays_usable(self):
        _, address = page("large", "--records", "6500")
        size = (ARTEFACTS / "large.html").stat().st_size
        self.assertLess(size, 6_000_000)
        self.open(address)
        self.assertEqual(len(self.texts("#rows > tr")), 100, "rows come page by page")
        paint = self.js("return performance.getEntriesByType('paint').find(e => e.name === 'first-contentful-paint').startTime")
        start = time.monotonic()
        self.js("document.querySelectorAll('table.records thead button')[3].click()")
        sort = 1000 * (time.monotonic() - start)
        print(f"6,500 records: {size / 1e6:.2f} MB, first paint after {paint:.0f} ms, sorting {sort:.0f} ms", file=sys.stderr)
        self.assertLess(paint, 10_000)  # a machine that is busy with other tests; the figure above is what it is about


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: page_test.py FLASHPROOF-CLI ARTEFACTS-FOLDER [TEST ...]")
    WEBDRIVER = browser.need()
    RENDER, ARTEFACTS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
