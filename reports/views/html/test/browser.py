"""A headless Chromium for page_test.py and screenshot.py, from Debian's chromium, chromium-driver and python3-selenium."""
import shutil
import sys

SKIPPED = 77  # ctest: SKIP_RETURN_CODE


def need():
    """Selenium's webdriver module; ends the program with SKIPPED where something is not installed."""
    try:
        from selenium import webdriver
    except ImportError:
        sys.exit(skip("python3-selenium is not installed"))
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            sys.exit(skip(f"{program} is not installed"))
    return webdriver


def skip(why):
    print(f"SKIPPED: {why}", file=sys.stderr)
    return SKIPPED


def start(webdriver, width, height, theme="light", scripts=True):
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    # Without a sandbox: a build machine runs this as root. Only files of ours are opened.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--force-color-profile=srgb", "--disable-background-networking", f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    # The window's own frame takes a part of --window-size.
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
    if not scripts:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    return driver
