#!/usr/bin/env python3
"""A picture of a report.html: screenshot.py PAGE.html OUT.png [--width 1200] [--height 1000] [--theme light] [--at matrix]

Needs Debian's chromium, chromium-driver and python3-selenium. Ends with 1 if the picture is larger than --limit kilobytes.
"""
import argparse
import pathlib
import sys

import browser


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=1000)
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    parser.add_argument("--at", default="", help="id of the element to scroll to, e.g. matrix")
    parser.add_argument("--limit", type=int, default=200, help="kilobytes")
    arguments = parser.parse_args()
    if not arguments.page.is_file():
        parser.error(f"{arguments.page}: no such file")
    driver = browser.start(browser.need(), arguments.width, arguments.height, arguments.theme)
    try:
        driver.get(arguments.page.resolve().as_uri())
        if arguments.at:
            driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", arguments.at)
        # Two frames: what comes into sight is drawn in the first.
        driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0], 50)))")
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        driver.save_screenshot(str(arguments.out))
    finally:
        driver.quit()
    size = arguments.out.stat().st_size
    print(f"{arguments.out}: {arguments.width} x {arguments.height}, {size / 1000:.0f} kB")
    if size > 1000 * arguments.limit:
        print(f"larger than {arguments.limit} kB", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
