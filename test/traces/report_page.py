"""report_page.py PAGES PICTURES: opens the pages that report_html_test.cpp wrote, as a user would, and looks at what they do."""
import json
import sys
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.support.ui import Select

pages, pictures = Path(sys.argv[1]), Path(sys.argv[2])
bad = []


def check(holds, what):
    print("ok  " if holds else "FAIL", what)
    if not holds:
        bad.append(what)


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000", "--force-device-scale-factor=1", "--hide-scrollbars"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


driver = browser()


def ask(expression):
    return driver.execute_script(f"return {expression}")


def frames():
    """Until what was planned has been drawn."""
    driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")


def open_page(name):
    driver.get_log("performance"), driver.get_log("browser")
    driver.get((pages / name).as_uri())
    frames()


def told_nothing(name):
    """No message on the console, and nothing asked for but the page itself."""
    console = [entry["message"] for entry in driver.get_log("browser")]
    check(not console, f"{name}: the console is silent {console[:3]}")
    asked = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    asked = [url for url in asked if not url.startswith("data:") and not url.endswith(name)]
    check(not asked, f"{name}: nothing is asked of a network {asked[:3]}")


def picture(name, element=None):
    file = str(pictures / name)
    element.screenshot(file) if element else driver.save_screenshot(file)
    return Image.open(file).convert("RGB")


def whole_page(name):
    height = ask("document.documentElement.scrollHeight")
    driver.set_window_size(1400, min(height + 140, 6000))
    frames()
    image = picture(name)
    driver.set_window_size(1400, 1000)
    frames()
    return image


def colours(image):
    return len(image.getcolors(1 << 24))


def view():
    frames()
    return ask("window.rtexecPage.view()")


def wheel(canvas, x, delta):
    """`x` from the left edge of the canvas."""
    offset = int(x - canvas.size["width"] / 2)
    ActionChains(driver).scroll_from_origin(ScrollOrigin.from_element(canvas, offset, 0), 0, delta).perform()


def text(css):
    return driver.find_element(By.CSS_SELECTOR, css).text


def sizes():
    check(ask("document.documentElement.scrollWidth <= innerWidth"), "the page is no wider than the window")


# ---- a run with misses -----------------------------------------------------------------------------------------------
open_page("page.html")
check(ask("document.getElementById('verdict-box').dataset.verdict") == "bad", "missed deadlines are told first")
check("50 of 3\u202f000 jobs missed their deadlines (front 50), although they were promised." == text("#summary"), "how many, and of whom")
check(text("h1") == "demo-swap.toml" and text("#origin") == "a-host, x86_64, 4 cores, Linux 6.1.0 \u00b7 2023-11-14 22:13:20 UTC \u00b7 200 s recorded", "what ran, where and when")
check("build/demo.trace" in text("#facts"), "and where the recording is")
first = driver.find_element(By.ID, "first-miss")
check("job 39 of front: late by" in first.text and "50 of 50 misses are owed most to swap-in" in first.text, "why the first one was missed")
check(first.rect["y"] + first.rect["height"] < ask("innerHeight"), "which is seen without scrolling")
first.find_element(By.TAG_NAME, "button").click()
check(ask("window.rtexecPage.view()")["window"] == 1, "and shown in the chart by a click")
driver.execute_script("scrollTo(0, 0)")
Select(driver.find_element(By.ID, "window")).select_by_index(0)
check(len(driver.find_elements(By.CSS_SELECTOR, "#tasks tbody tr")) == 3, "a row for each task")
sizes()

# Tasks: by click, by key, sorted.
check(text("#histogram h3") == "How often: front, response", "the first task is shown first")
driver.find_element(By.CSS_SELECTOR, "tr[data-task=rear]").click()
check(text("#histogram h3") == "How often: rear, response", "a click shows another task")
driver.find_element(By.CSS_SELECTOR, "[data-stage=device]").click()
check(text("#histogram h3") == "How often: rear, device", "a click shows another stage")
driver.find_element(By.CSS_SELECTOR, "tr[data-task=front]").send_keys(Keys.ENTER)
check(text("#histogram h3") == "How often: front, device", "so does the enter key")
check(len(driver.find_elements(By.CSS_SELECTOR, "#histogram rect.bars")) > 10, "the histogram has bars")
check(len(driver.find_elements(By.CSS_SELECTOR, "#tail path.band")) == 2, "the tail has a band of confidence for each model")
check("since the last one (\u00d7 1.25)" in text("#factors") and "64.0 ms to 128 ms" in text("#factors"), "what surrounded it is told")
check("WCET" in text("#histogram svg") and "NaN" not in driver.page_source, "the configured time is drawn")
check(text("[data-chain]").count("job 1") == 2 and "300 ms" in text("[data-chain]"), "the longest reaction of a chain goes by its jobs")
check("steer & <b>brake" in text("#chains") and "110 ms of 300 ms until job 1 of rear was released" in text("#chains"), "and says what took longest of it")
way = ask("[...document.querySelectorAll('[data-chain] .way')].map((row) => [...row.querySelectorAll('i')].map((part) => [part.getBoundingClientRect().left, part.getBoundingClientRect().right]))")
check(all(abs(a[1] - b[0]) < 1 for row in way for a, b in zip(row, row[1:])) and abs(way[0][-1][1] - way[1][0][0]) < 1, "its pieces follow one another without a gap")
names = lambda: [row.get_attribute("data-task") for row in driver.find_elements(By.CSS_SELECTOR, "#tasks tbody tr")]
for expected in (["front", "logger", "rear"], ["rear", "logger", "front"]):
    driver.find_elements(By.CSS_SELECTOR, "#tasks th button")[0].click()
    check([name.split()[0] for name in names()] == expected, f"sorted by name: {expected}")
driver.find_elements(By.CSS_SELECTOR, "#tasks th button")[4].click()
check(names()[2].startswith("logger"), "a task without jobs is sorted last")
driver.find_element(By.CSS_SELECTOR, "tr[data-task^=logger]").click()
check("No samples" in text("#stage"), "a task without jobs says so")
driver.find_element(By.CSS_SELECTOR, "tr[data-task=front]").click()

check(text("#skipped") == "Skipped releases of front: 2 because the previous job was unfinished, 1 because a part of the previous job exceeded its WCET\n"
      "Skipped releases of rear: 1 because the previous job was unfinished", "why releases were skipped")
check(text("#loading tbody") == "front 7.00 ms 3.00 MiB 5.00 ms 2 2.00 ms 4.00 ms 1.00 ms", "what loading took, and how far both streams overlapped")
check(text("#stolen h3") == "Stolen by the hypervisor" and text("#stolen tbody") == "core 1 10.0 ms\ncore 2 1.24 s", "what a hypervisor took of cores")

# The curve of the model goes through the quantiles that were estimated.
check(ask("""(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const band = document.querySelector('#tail path.band').getBBox(), line = document.querySelector('#tail path.series').getBBox();
  return line.x + line.width <= band.x + band.width + 1 && line.y + line.height >= band.y;
})()"""), "the model's curve ends within its band")

# The chart: wheel, drag, keys, buttons.
canvas = driver.find_element(By.ID, "canvas")
driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
whole = view()
plain = picture("gantt.png", canvas)
check(colours(plain) > 20, "the chart is not blank")
x = 132 + (canvas.size["width"] - 132) * 0.75
pointed = whole["from"] + 0.75 * (whole["to"] - whole["from"])
wheel(canvas, x, -400)
near = view()
check(near["to"] - near["from"] < 0.6 * (whole["to"] - whole["from"]), "the wheel zooms in")
check(abs(near["from"] + 0.75 * (near["to"] - near["from"]) - pointed) < 0.01 * (whole["to"] - whole["from"]), "around the pointer")
ActionChains(driver).move_to_element_with_offset(canvas, 0, 0).click_and_hold().move_by_offset(200, 0).release().perform()
moved = view()
shift = 200 / (canvas.size["width"] - 132) * (near["to"] - near["from"])
check(abs(near["from"] - moved["from"] - shift) < 0.1 * shift and abs(moved["to"] - moved["from"] - near["to"] + near["from"]) < 2, "dragging moves the view by as much")
check(picture("zoomed.png", canvas).tobytes() != plain.tobytes(), "the picture has changed")
canvas.send_keys("+")
check(view()["to"] - view()["from"] < 0.6 * (near["to"] - near["from"]), "+ zooms in")
before = view()
canvas.send_keys(Keys.ARROW_RIGHT)
check(view()["from"] > before["from"], "the right arrow goes on")
canvas.send_keys("-")
check(view()["to"] - view()["from"] > before["to"] - before["from"], "- zooms out")
driver.find_element(By.CSS_SELECTOR, "[data-do='show all']").click()
check(view() == whole, "a button shows all")

# Tooltips, and a click on a bar.
lane_x = lambda share: int(132 + (canvas.size["width"] - 132) * share - canvas.size["width"] / 2)
driver.find_element(By.CSS_SELECTOR, "tr[data-task=rear]").click()
driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
row = int(26 + 15 - canvas.size["height"] / 2)
ActionChains(driver).move_to_element_with_offset(canvas, lane_x(0.015), row).perform()
check("front, job 0: response" in text("#tooltip"), "a bar tells what it is: " + text("#tooltip").replace("\n", ", "))
check("ms, from" in text("#tooltip"), "and how long")
ActionChains(driver).click().perform()
check(text("#histogram h3").startswith("How often: front"), "a click on a bar chooses its task")
Select(driver.find_element(By.ID, "highlight")).select_by_visible_text("rear")
frames()
check(picture("highlight.png", canvas).tobytes() != plain.tobytes(), "a task is highlighted")
Select(driver.find_element(By.ID, "highlight")).select_by_index(0)

# Windows, and the jump to a miss.
Select(driver.find_element(By.ID, "window")).select_by_index(2)
check(view()["window"] == 2 and view()["to"] == 20e9, "another stretch of time is shown")
driver.find_element(By.CSS_SELECTOR, "tr[data-task=rear]").click()
driver.find_element(By.CSS_SELECTOR, "tr[data-miss='0'] button").click()
miss = ask("JSON.parse(document.getElementById('data').textContent).analysis.misses[0]")
jumped = view()
check(jumped["window"] == 1 and jumped["from"] < miss["nominal_ns"] < miss["nominal_ns"] + miss["response_ns"] < jumped["to"], "a miss is jumped to")
check(text("#histogram h3").startswith("How often: front"), "and its task chosen")
check(ask("document.activeElement.id") == "canvas", "the keys then move the chart")
check(not driver.find_elements(By.CSS_SELECTOR, "tr[data-miss='0'] button[disabled]"), "it is in a chart")
check(len(driver.find_elements(By.CSS_SELECTOR, "tr[data-miss] button[disabled]")) > 0, "misses outside of the charts are not offered")
picture("miss.png", canvas)
driver.execute_script("scrollTo(0, 0)")
check(colours(whole_page("page.png")) > 50, "the page is not blank")

# Dark, and narrow.
driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
frames()
dark = whole_page("dark.png")
check(sum(dark.getpixel((2, 2))) < 150, "it is dark where that is preferred")
check(sum(picture("dark-gantt.png", canvas).getpixel((400, 6))) < 150, "so is the chart")
driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
frames()
check(sum(whole_page("print.png").getpixel((2, 2))) > 700, "it is printed on white all the same")
driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
driver.set_window_size(700, 900)
frames()
sizes()
driver.set_window_size(1400, 1000)
told_nothing("page.html")

# ---- other outcomes --------------------------------------------------------------------------------------------------
open_page("forced.html")
check(text("#summary") == "5 of 300 jobs missed their deadlines (front 5), and the plan was not proved.", "what was not promised is not said to have been")
check("within" not in text("#verdict"), "and nothing is said to have held")
told_nothing("forced.html")

open_page("thirty.html")
check("300 of 12\u202f000 jobs" in text("#summary") and text("#summary").count("camera") == 4 and "26 more" in text("#summary"), "of many tasks the first few are named")
check(driver.find_element(By.ID, "tasks-title").rect["y"] < 500, "and the tasks are not pushed out of sight")
sizes()
told_nothing("thirty.html")

open_page("kept.html")
check(ask("document.getElementById('verdict-box').dataset.verdict") == "good", "a run that kept everything is green")
check(text("#summary") == "No deadline was missed by 45 jobs, and every time observed is within what was configured and promised.", "and says so")
check(not driver.find_elements(By.ID, "first-miss"), "without a first miss")
check(text("#skipped") == "" and not driver.find_elements(By.ID, "stolen"), "nothing is said of releases that were skipped, nor of stolen time, where there were none")
for task in "front", "rear":
    for stage in "before", "device", "after", "response", "release latency":
        driver.execute_script(f"window.rtexecPage.selectTask('{task}'); window.rtexecPage.selectStage('{stage}')")
        ticks = ask("""[...document.querySelectorAll('#water svg text.tick')].filter((t) => t.getAttribute('text-anchor') === 'end').map((t) => t.textContent)""")
        check(len(ticks) == len(set(ticks)) and len(ticks) >= 4, f"{task}, {stage}: the high-water mark has a scale where the first job was the longest: {ticks}")
        check(ask("""[...document.querySelectorAll('.chart svg text')].every((t) => { const box = t.getBBox(); return box.x >= 0 && box.x + box.width <= 520; })"""), "and no label is cut")
told_nothing("kept.html")

# ---- 100,000 bars ----------------------------------------------------------------------------------------------------
started = time.monotonic()
open_page("many.html")
bars = ask("JSON.parse(document.getElementById('data').textContent).windows[0].bars.begin.length")
check(bars > 100_000 and ask("window.rtexecPage.barsDrawn") > 1000, f"{bars} bars, shown after {time.monotonic() - started:.2f} s")
canvas = driver.find_element(By.ID, "canvas")
driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
slowest = 0
for _ in range(8):
    wheel(canvas, 800, -300)
    frames()
    slowest = max(slowest, ask("window.rtexecPage.drawMilliseconds"))
check(slowest < 1000, f"a zoom redraws within a second: {slowest:.1f} ms")
driver.find_element(By.CSS_SELECTOR, "[data-do='show all']").click()
frames()
everything = ask("window.rtexecPage.redraw()")
check(everything < 1000, f"so does the whole: {everything:.1f} ms, {ask('window.rtexecPage.barsDrawn')} bars drawn")
picture("many.png", canvas)
told_nothing("many.html")

# ---- what there is nothing of ----------------------------------------------------------------------------------------
open_page("trouble.html")
check(ask("document.getElementById('verdict-box').dataset.verdict") == "warn", "losses are a warning")
for words in ("12 events lost", "ends in the middle", "may not be relied on", "SCHED_FIFO was refused", "Not replayed: decisions were lost"):
    check(words in text("#verdict"), f"it says: {words}")
driver.find_element(By.CSS_SELECTOR, "tr[data-task=rear]").click()
check("may not be relied on" in text("#stage") and "No pWCET" in text("#stage"), "invalid figures are marked where they stand")
whole_page("trouble.png")
told_nothing("trouble.html")
open_page("empty.html")
check("No job was recorded" in text("#verdict") and "names no task" in text("#tasks"), "an empty recording says so")
told_nothing("empty.html")

driver.quit()
print(f"{len(bad)} of the checks failed")
sys.exit(1 if bad else 0)
