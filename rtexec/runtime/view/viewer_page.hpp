// The web page that shows a task. The page requests state.json ten times a second, and picture.jpg if a newer picture
// exists.
#pragma once

#include <string_view>

namespace rtexec::view {

inline constexpr std::string_view page = R"page(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rtexec</title>
<style>
  body { margin: 0; padding: 1rem; background: #16181c; color: #d8dce2; font: 15px/1.5 system-ui, sans-serif }
  img { display: block; max-width: 100%; min-width: min(100%, 30rem); image-rendering: pixelated; background: #000 }
  h1 { margin: 0 0 .5rem; font-size: 1.2rem }
  .old { opacity: .4 }
</style>
<h1 id="task"></h1>
<img id="picture" alt="no picture yet">
<p id="state"></p>
<script>
  const [task, picture, state] = ["task", "picture", "state"].map(id => document.getElementById(id))
  let shown = 0
  async function look() {
    try {
      const now = await (await fetch("state.json")).json()
      document.title = task.textContent = now.task
      if (now.picture !== shown) picture.src = "picture.jpg?" + (shown = now.picture)
      state.textContent = [
        now.picture ? `job ${now.job}, ${now.age_ms} ms old` : "no picture yet",
        `${now.rate.toFixed(1)} pictures a second`,
        now.boxes && `${now.boxes} boxes`, now.failure].filter(Boolean).join("; ")
      picture.className = now.age_ms > 2000 ? "old" : ""
    } catch {
      state.textContent = "the run has ended, or cannot be reached"
      picture.className = "old"
    }
    setTimeout(look, 100)
  }
  look()
</script>
)page";

} // namespace rtexec::view
