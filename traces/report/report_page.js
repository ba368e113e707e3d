'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const run = data.analysis;
const causes = [ // causes of delay with their colours, in the order in which a job meets them
  ['release-latency', '#b0bac5'], ['queueing', '#4e79a7'], ['blocking-execution', '#d6453d'], ['blocking-copy', '#b5469e'], ['copy-engine', '#8c6bb1'],
  ['swap-out', '#edc248'], ['swap-in', '#f0852d'], ['execution', '#59a14f'], ['throttled', '#96602e'], ['overhead', '#6b747f']];
const chosen = { task: 0, stage: 'response' };

// ---- text and elements ----------------------------------------------------------------------------------------------
function element(tag, attributes = {}, ...children) { return fill(document.createElement(tag), attributes, children); }
function drawn(tag, attributes = {}, ...children) { return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children); }
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}
const at = (id) => document.getElementById(id);
const colour = (task) => data.colours[task % data.colours.length];
const swatch = (task) => element('span', { class: 'swatch', style: `background:${colour(task)}` });
const taskIndex = (name) => run.tasks.findIndex((task) => task.name === name);

const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
const unitOf = (ns) => units.find(([size]) => Math.abs(ns) >= size) || units[3];
function time(ns) {
  if (ns === null || ns === undefined) return '–';
  const [size, unit] = unitOf(ns);
  const value = ns / size;
  const digits = size === 1 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)));
  return `${value.toFixed(digits)} ${unit}`;
}
/// Returns an instant as text, with as many digits as two instants at a distance of `step` need to differ.
function instant(ns, step) {
  const [size, unit] = unitOf(Math.max(Math.abs(ns), step));
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(ns / size).toFixed(Math.min(digits, 9))} ${unit}`;
}
function bytes(count) {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; count >= 1024 && i < 4; ++i) count /= 1024;
  return `${i ? count.toPrecision(3) : count} ${names[i]}`;
}
const count = (n) => n.toLocaleString('en-GB').replace(/,/g, '\u202f');
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
const percent = (share) => (share === null ? '–' : `${(100 * share).toFixed(1)} %`);
const probability = (p) => (p >= 0.001 ? String(+p.toPrecision(2)) : p.toExponential(p.toExponential().startsWith('1e') ? 0 : 1).replace('e-', 'e\u2212'));

function table(head, rows) {
  const cell = (tag) => (content, i) => element(tag, { class: head[i].startsWith('>') ? 'number' : null }, content);
  return element('div', { class: 'scroll' }, element('table', {}, element('thead', {}, element('tr', {}, head.map((title, i) => cell('th')(title.replace('>', ''), i)))),
    element('tbody', {}, rows.map((row) => element('tr', {}, row.map(cell('td')))))));
}

// ---- verdict --------------------------------------------------------------------------------------------------------
const jobs = run.tasks.reduce((sum, task) => sum + task.released, 0);
const proved = run.run.verdict === 'proved';
const exceeded = run.breaches.filter((breach) => breach.stage !== 'deadline').sort((a, b) => b.observed_ns / b.promised_ns - a.observed_ns / a.promised_ns);
/// Returns the first `most` entries of a list, separated by commas, and the number of all further entries.
const some = (list, most) => list.slice(0, most).concat(list.length > most ? [`${count(list.length - most)} more`] : []).join(', ');

function missedSentence() {
  const promised = run.tasks.reduce((sum, task) => sum + (task.setup.promised ? task.missed : 0), 0);
  const whose = run.tasks.filter((task) => task.missed).sort((a, b) => b.missed - a.missed).map((task) => `${task.name} ${count(task.missed)}`);
  const broken = promised === run.missed ? `although ${promised === 1 ? 'it was' : 'they were'} promised` : promised ? `${count(promised)} of them promised` : proved ? 'none of them promised' : 'and the plan was not proved';
  return `${count(run.missed)} of ${plural(jobs, 'job')} missed ${run.missed === 1 ? 'its deadline' : 'their deadlines'}${whose.length ? ` (${some(whose, 4)})` : ''}, ${broken}.`;
}

/// Returns a sentence that sums up the run: the worst finding, if there is one.
function summary() {
  const realTime = run.tasks.some((task) => task.missed && task.setup.criticality === 'real-time');
  if (run.missed) return { kind: realTime || run.breaches.length ? 'bad' : 'warn', text: missedSentence() };
  if (!jobs) return { kind: 'warn', text: 'No job was recorded.' };
  const kept = `No deadline was missed by ${plural(jobs, 'job')}`;
  if (exceeded.length) return { kind: 'bad', text: `${kept}, but ${plural(exceeded.length, 'time was', 'times were')} longer than the plan rests on.` };
  if (run.replay.difference) return { kind: 'bad', text: `${kept}, but the scheduler, asked again, decides otherwise.` };
  if (run.lost.events || run.lost.packets || run.tasks.some((task) => task.invalid)) return { kind: 'warn', text: `${kept} that is on record, but events are missing.` };
  if (!run.ended) return { kind: 'warn', text: `${kept}, but the end of the run is not recorded.` };
  if (!proved) return { kind: 'warn', text: `${kept}, but the plan was not proved.` };
  if (run.run.degraded.length) return { kind: 'warn', text: `${kept}, but the run was degraded: its promise did not hold.` };
  return { kind: 'good', text: `${kept}, and every time observed is within what was configured and promised.` };
}

/// Returns all findings on which the summary is based, worst first.
function findings() {
  const found = [];
  const add = (kind, text) => found.push({ kind, text });
  for (const breach of exceeded) add('bad', breach.text || `${breach.task}, ${breach.stage}: ${time(breach.observed_ns)}, promised ${time(breach.promised_ns)} (job ${breach.job}).`);
  const replay = run.replay;
  if (replay.difference) add('bad', `Replay: the scheduler decides otherwise. ${replay.difference}`);
  if (run.lost.events || run.lost.packets) {
    const packets = run.lost.packets ? ` and ${plural(run.lost.packets, 'packet')}` : '';
    add('warn', `${plural(run.lost.events, 'event')}${packets} lost while recording: figures that rest on them are marked invalid.`);
  }
  for (const task of run.tasks) if (task.invalid) add('warn', `${task.name}: its figures may not be relied on. ${task.invalid}`);
  if (!run.ended && jobs) add('warn', 'The end of the run is not recorded.');
  for (const note of run.notes) add('warn', note);
  for (const what of run.run.degraded) add('warn', `Degraded: ${what}`);
  if (replay.not_replayed) add('warn', `Not replayed: ${replay.not_replayed}`);
  else if (!replay.difference && replay.actions) add(replay.complete ? 'good' : 'warn', `Replay: ${plural(replay.actions, 'decision')} made as recorded${replay.complete ? '' : ', of a part of the run'}.`);
  return found;
}

/// Returns a paragraph: why the first deadline was missed, and the most frequent main cause of misses.
function firstMiss() {
  const first = run.misses[0];
  if (!first) return null;
  const by = new Map();
  for (const cause of run.misses.map((miss) => miss.shares[0]?.cause).filter(Boolean)) by.set(cause, (by.get(cause) || 0) + 1);
  const [most] = [...by].sort((a, b) => b[1] - a[1]);
  const link = windowOf(first) < 0 ? null : element('button', { type: 'button', class: 'link', onclick: () => jumpToMiss(0) }, 'show it');
  return element('p', { id: 'first-miss' }, element('strong', {}, 'First: '), first.blame || `job ${first.job} of ${first.task}, ${first.outcome}`, ' ', link,
    run.misses.length > 1 && most ? ` · ${count(most[1])} of ${plural(run.misses.length, 'miss', 'misses')} ${most[1] === 1 ? 'is' : 'are'} owed most to ${most[0]}` : null);
}

function list(found) {
  const items = (some) => element('ul', {}, some.map((finding) => element('li', { class: finding.kind }, element('span', {}, finding.text))));
  const shown = found.length > 8 ? 5 : found.length;
  return [items(found.slice(0, shown)), found.length > shown ? element('details', {}, element('summary', {}, `${count(found.length - shown)} more`), items(found.slice(shown))) : null];
}

const fileName = (path) => path.replace(/\/+$/, '').split('/').pop();
const heading = run.run.task_set ? fileName(run.run.task_set) : run.folder || 'recording';

function showVerdict() {
  const { kind: own, text } = summary();
  const found = findings();
  const kind = ['bad', 'warn', 'good'].find((each) => own === each || found.some((finding) => finding.kind === each));
  const machine = run.run.simulated ? 'simulated' : run.run.machine;
  const origin = [[run.host, machine].filter(Boolean).join(', '), run.began, `${time(run.duration_ns)} recorded`];
  const facts = [`plan ${run.run.verdict}`, run.run.device, `order ${run.run.order}`, run.run.swap ? `swap policy ${run.run.swap.policy}` : 'nothing swapped',
    plural(run.events, 'event'), run.run.version ? `rtexec ${run.run.version}` : '', run.run.task_set ? run.folder : ''];
  const line = (parts, id) => element('p', { class: 'soft', id }, parts.filter(Boolean).join(' · '));
  at('verdict').append(element('h1', { title: run.run.task_set }, heading), line(origin, 'origin'), line(facts, 'facts'),
    element('div', { class: `box ${kind}`, id: 'verdict-box', 'data-verdict': kind }, element('strong', { class: kind, id: 'summary' }, text), firstMiss(), list(found)));
}

// ---- tasks ----------------------------------------------------------------------------------------------------------
const stageOf = (task, name) => task.stages.find((stage) => stage.name === name);
const pwcetOf = (stage) => {
  const last = stage && !stage.pwcet.refused && [stage.pwcet.pot, stage.pwcet.maxima].filter((m) => !m.refused && m.quantiles.length)[0];
  return last ? last.quantiles.reduce((a, b) => (b.exceedance < a.exceedance ? b : a)) : null;
};
const response = (key) => (task) => (stageOf(task, 'response')?.count ? stageOf(task, 'response')[key] : null);
const columns = [
  { title: 'Task', value: (task) => task.name, show: (task, i) => [swatch(i), task.name, task.invalid ? element('span', { class: 'warn', title: task.invalid }, ' (invalid)') : null] },
  { title: 'Jobs', value: (task) => task.completed, show: (task) => count(task.completed) },
  { title: 'Missed', value: (task) => task.missed, show: (task) => (task.missed ? element('strong', { class: 'bad' }, count(task.missed)) : '0') },
  { title: 'Skipped', value: (task) => task.skipped, show: (task) => count(task.skipped) },
  { title: 'Response median', value: response('p50_ns') },
  { title: '99 %', value: response('p99_ns') },
  { title: 'max', value: response('max_ns') },
  { title: 'Bound', value: (task) => task.setup.response_bound_ns },
  { title: 'Deadline', value: (task) => task.setup.deadline_ns },
  { title: 'Device max', value: (task) => (stageOf(task, 'device')?.count ? stageOf(task, 'device').max_ns : null) },
  { title: 'WCET', value: (task) => stageOf(task, 'device')?.configured_ns ?? null },
  { title: 'pWCET', value: (task) => pwcetOf(stageOf(task, 'device'))?.value_ns ?? null, tip: 'Of the device stage, at the smallest exceedance asked for' },
  { title: 'Core', value: (task) => task.utilisation_core, show: (task) => percent(task.utilisation_core), tip: 'Share of the recorded time on its core' },
  { title: 'Device', value: (task) => task.utilisation_device, show: (task) => percent(task.utilisation_device), tip: 'Share of the recorded time on the device' },
];
const sorting = { column: -1, up: true };

function showTasks() {
  const order = run.tasks.map((_, i) => i);
  if (sorting.column >= 0) {
    const key = (i) => columns[sorting.column].value(run.tasks[i]);
    const compare = (a, b) => (typeof a === 'string' ? (a < b ? -1 : a > b ? 1 : 0) : a - b);
    order.sort((i, j) => { // tasks without a value come last
      const [a, b] = [key(i), key(j)];
      if (a === null || b === null) return (a === null) - (b === null);
      return sorting.up ? compare(a, b) : compare(b, a);
    });
  }
  const head = columns.map((column, i) => element('th', { scope: 'col', class: i ? 'number' : null, 'aria-sort': sorting.column !== i ? null : sorting.up ? 'ascending' : 'descending' },
    element('button', { type: 'button', title: column.tip, onclick: () => sortBy(i) }, column.title)));
  const rows = order.map((i) => {
    const task = run.tasks[i];
    const cells = columns.map((column, c) => element('td', { class: c ? 'number' : null }, column.show ? column.show(task, i) : time(column.value(task))));
    return element('tr', { class: 'choice', tabindex: 0, 'data-task': task.name, 'aria-selected': String(i === chosen.task), onclick: () => selectTask(task.name),
      onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); selectTask(task.name); } } }, cells);
  });
  at('tasks').replaceChildren(run.tasks.length ? element('table', {}, element('thead', {}, element('tr', {}, head)), element('tbody', {}, rows))
    : element('p', { class: 'soft' }, 'The recording names no task.'));
}

const skipReasons = { overrun: 'the previous job was unfinished', 'wcet-exceeded': 'a part of the previous job exceeded its WCET', stale: 'an input had no new data' };
function showSkipped() {
  for (const task of run.tasks.filter((each) => each.skipped)) {
    const reasons = Object.entries(skipReasons).filter(([key]) => task.skipped_by[key]).map(([key, why]) => `${count(task.skipped_by[key])} because ${why}`);
    at('skipped').append(element('p', { class: 'soft' }, `Skipped releases of ${task.name}: ${reasons.join(', ')}`));
  }
}

function sortBy(column) {
  sorting.up = sorting.column === column ? !sorting.up : true;
  sorting.column = column;
  showTasks();
  at('tasks').querySelectorAll('th button')[column].focus();
}

function selectTask(name) {
  const index = taskIndex(name);
  if (index < 0) return;
  chosen.task = index;
  for (const row of at('tasks').querySelectorAll('tr.choice')) row.setAttribute('aria-selected', String(row.dataset.task === name));
  showStage();
  if (gantt) gantt.choose(name);
}

// ---- charts ---------------------------------------------------------------------------------------------------------
const plot = { width: 520, height: 270, right: 14, top: 20, bottom: 36 };

/// Returns the ticks of an axis from `low` to `high`: about `most` steps, each 1, 2 or 5 times a power of ten.
function ticks(low, high, most) {
  const rough = Math.max((high - low) / most, 1e-12);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-12); ++i) list.push(i * step);
  return { step, list };
}

class Chart {
  /// x and y describe the axes: { low, high, log, title, label }. `log` makes an axis logarithmic.
  constructor(name, x, y) {
    this.x = x;
    this.y = y;
    const clip = `clip-${name}`;
    this.xs = Chart.marks(x, 6);
    this.ys = Chart.marks(y, 6);
    this.left = 14 + 6.6 * Math.max(5, ...this.ys.list.map((value) => y.label(value, this.ys.step).length)); // room for the longest label
    const [w, h] = [plot.width - this.left - plot.right, plot.height - plot.top - plot.bottom];
    this.inside = drawn('g', { 'clip-path': `url(#${clip})` });
    this.svg = drawn('svg', { viewBox: `0 0 ${plot.width} ${plot.height}`, role: 'img', 'aria-label': `${y.title} over ${x.title}` },
      drawn('clipPath', { id: clip }, drawn('rect', { x: this.left, y: plot.top - 3, width: w + 1, height: h + 4 })));
    this.axes();
    this.svg.append(this.inside);
  }
  static part(axis, value) {
    const f = axis.log ? Math.log10 : (v) => v;
    return (f(value) - f(axis.low)) / (f(axis.high) - f(axis.low) || 1);
  }
  px(value) { return +(this.left + Chart.part(this.x, value) * (plot.width - this.left - plot.right)).toFixed(2); }
  py(value) { return +(plot.height - plot.bottom - Chart.part(this.y, value) * (plot.height - plot.top - plot.bottom)).toFixed(2); }
  static marks(axis, most) {
    if (!axis.log) return ticks(axis.low, axis.high, most);
    const [low, high] = [Math.ceil(Math.log10(axis.low) - 1e-9), Math.floor(Math.log10(axis.high) + 1e-9)];
    const every = Math.max(1, Math.ceil((high - low) / most));
    const list = [];
    for (let power = low; power <= high; power += every) list.push(10 ** power);
    return { step: 0, list };
  }
  axes() {
    const [bottom, end] = [plot.height - plot.bottom, plot.width - plot.right];
    const { xs, ys, left } = this;
    for (const value of xs.list) {
      const x = this.px(value);
      this.svg.append(drawn('line', { class: 'grid', x1: x, x2: x, y1: plot.top, y2: bottom }),
        drawn('text', { class: 'tick', x, y: bottom + 14, 'text-anchor': 'middle' }, this.x.label(value, xs.step)));
    }
    for (const value of ys.list) {
      const y = this.py(value);
      this.svg.append(drawn('line', { class: 'grid', x1: left, x2: end, y1: y, y2: y }),
        drawn('text', { class: 'tick', x: left - 6, y: y + 4, 'text-anchor': 'end' }, this.y.label(value, ys.step)));
    }
    this.svg.append(drawn('path', { class: 'axis', fill: 'none', d: `M${left} ${plot.top}V${bottom}H${end}` }),
      drawn('text', { class: 'tick', x: end, y: plot.height - 5, 'text-anchor': 'end' }, this.x.title),
      drawn('text', { class: 'tick', x: 4, y: 11 }, this.y.title));
  }
  path(points, kind, close = false) {
    if (!points.length) return;
    this.inside.append(drawn('path', { class: kind, d: `M${points.map(([x, y]) => `${this.px(x)} ${this.py(y)}`).join('L')}${close ? 'Z' : ''}` }));
  }
  /// Draws a limit as a line with text. For a limit beyond the chart, only the text is drawn, at the chart's border.
  vertical(value, text) {
    const out = value > this.x.high;
    const x = out ? plot.width - plot.right : this.px(value);
    const right = x > plot.width * 0.6;
    if (!out) this.svg.append(drawn('line', { class: 'limit', x1: x, x2: x, y1: plot.top, y2: plot.height - plot.bottom }));
    this.svg.append(drawn('text', { class: 'limit-text', x: x + (right ? -5 : 5), y: plot.top + 10, 'text-anchor': right ? 'end' : 'start' }, out ? `${text} \u2192` : text));
  }
  horizontal(value, text) {
    const out = value > this.y.high;
    const y = out ? plot.top : this.py(value);
    if (!out) this.svg.append(drawn('line', { class: 'limit', x1: this.left, x2: plot.width - plot.right, y1: y, y2: y }));
    this.svg.append(drawn('text', { class: 'limit-text', x: this.left + 6, y: y < plot.top + 14 ? y + 12 : y - 4 }, out ? `${text} \u2191` : text));
  }
}

const timeAxis = (low, high) => ({ low, high, title: 'time', label: (value, step) => instant(value, step || value) });
/// Returns the lower limit of a histogram class from its upper limit. A class is at most 1/128 of its values wide.
const lowerEdge = (upper) => upper - 2 ** Math.max(0, Math.floor(Math.log2(Math.max(upper, 1))) - 7);

/// Returns the time axis of a chart. It includes each limit in `beyond`, unless the limit is so far off that the
/// measured times would shrink to a line.
function timeRange(stage, beyond) {
  const spread = Math.max(stage.max_ns - stage.min_ns, stage.max_ns / 50, 1);
  const most = Math.max(stage.max_ns + 3 * spread, 0);
  const high = Math.max(stage.max_ns, ...beyond.filter((value) => value !== null && value <= most), stage.min_ns + spread);
  const low = stage.min_ns > 0.3 * high ? Math.max(0, stage.min_ns - 0.06 * (high - stage.min_ns) - 1) : 0;
  return timeAxis(low, high + 0.04 * (high - low));
}

function histogram(stage) {
  const x = timeRange(stage, [stage.configured_ns]);
  let bars = stage.histogram.map((c) => ({ low: lowerEdge(c.upper_ns), high: c.upper_ns, count: c.count }));
  const width = (x.high - x.low) / 64;
  if (bars.some((bar) => bar.high - bar.low < width)) { // classes narrower than a visible bar are merged
    const joined = new Map();
    for (const bar of bars) {
      const key = Math.floor((bar.high - x.low) / width);
      const wide = Math.max(width, bar.high - bar.low);
      const known = joined.get(key);
      if (known) known.count += bar.count;
      else joined.set(key, { low: x.low + key * width, high: x.low + key * width + wide, count: bar.count });
    }
    bars = [...joined.values()];
  }
  const most = bars.reduce((a, bar) => Math.max(a, bar.count), 1);
  const chart = new Chart('histogram', x, { low: 0.5, high: Math.max(10, most * 1.6), log: true, title: 'jobs', label: (value) => count(value) });
  for (const bar of bars) {
    const [left, right] = [Math.max(chart.px(bar.low), chart.left), chart.px(bar.high)];
    chart.inside.append(drawn('rect', { class: 'bars', x: left, width: Math.max(1, right - left - 0.6), y: chart.py(bar.count), height: Math.max(0, chart.py(0.5) - chart.py(bar.count)) },
      drawn('title', {}, `${time(bar.low)} to ${time(bar.high)}: ${plural(bar.count, 'job')}`)));
  }
  if (stage.configured_ns !== null) chart.vertical(stage.configured_ns, `${limitName(stage)} ${time(stage.configured_ns)}`);
  return chart.svg;
}
const limitName = (stage) => (stage.name === 'response' ? 'bound' : 'WCET');

/// Returns the function that maps a time to the probability that a job exceeds it. The parameters of the model give the
/// probability for one sample of its fit. The quantiles are for one job, so they give the factor between both.
function exceedanceOf(model) {
  const z = (x) => {
    const y = (x - model.location_ns) / model.scale_ns;
    return Math.abs(model.shape) < 1e-9 ? Math.exp(-y) : Math.max(0, 1 + model.shape * y) ** (-1 / model.shape);
  };
  const raw = model.name === 'gpd' ? (x) => model.rate * z(x) : (x) => -Math.expm1(-z(x) * model.rate);
  const first = model.quantiles.reduce((a, b) => (b.exceedance > a.exceedance ? b : a));
  const scale = first.exceedance / (raw(first.value_ns) || first.exceedance);
  return (x) => raw(x) * scale;
}

const usable = (model, stage) => !stage.pwcet.refused && !model.refused && model.quantiles.length > 0 && model.scale_ns > 0;

function tail(stage) {
  const models = [stage.pwcet.pot, stage.pwcet.maxima].filter((model) => usable(model, stage));
  const quantiles = models.flatMap((model) => model.quantiles);
  const bound = stage.pwcet.bound;
  const lowest = Math.min(0.5 / stage.count, ...quantiles.map((q) => q.exceedance * 0.5), bound ? bound.exceedance * 0.5 : 1);
  const x = timeRange(stage, [stage.configured_ns, ...quantiles.flatMap((q) => [q.value_ns, q.high_ns])]);
  const chart = new Chart('tail', x, { low: Math.max(lowest, 1e-16), high: 1.5, log: true, title: 'probability that a job takes longer', label: probability });
  let above = stage.count;
  const seen = [[stage.min_ns, 1]];
  for (const c of stage.histogram) {
    seen.push([c.upper_ns, above / stage.count]);
    above -= c.count;
    if (above > 0) seen.push([c.upper_ns, above / stage.count]);
  }
  models.forEach((model, i) => curve(chart, model, i));
  chart.path(seen, 'observed');
  if (bound) chart.inside.append(drawn('path', { class: 'dot', d: `M${chart.px(bound.value_ns)} ${chart.py(bound.exceedance)}m-5 0l5 -5l5 5l-5 5z` },
    drawn('title', {}, `without a model: more than ${time(bound.value_ns)} with probability ${probability(bound.exceedance)} at most (95 % confidence)`)));
  if (stage.configured_ns !== null) chart.vertical(stage.configured_ns, `${limitName(stage)} ${time(stage.configured_ns)}`);
  return chart.svg;
}

function curve(chart, model, i) {
  const quantiles = [...model.quantiles].sort((a, b) => b.exceedance - a.exceedance);
  const exceedance = exceedanceOf(model);
  const start = Math.max(model.location_ns, chart.x.low);
  const head = model.name === 'gpd' && exceedance(start) > quantiles[0].exceedance ? [[start, exceedance(start)]] : [];
  chart.path([...head, ...quantiles.map((q) => [q.low_ns, q.exceedance]), ...quantiles.map((q) => [q.high_ns, q.exceedance]).reverse()], i ? 'band other' : 'band', true);
  const points = [];
  const last = quantiles[quantiles.length - 1];
  const from = model.name === 'gpd' ? start : quantiles[0].value_ns;
  for (let k = 0; k <= 120; ++k) {
    const x = from + (last.value_ns - from) * k / 120;
    const p = exceedance(x);
    if (p > 0 && p <= 1) points.push([x, p]);
  }
  chart.path(points, i ? 'second' : 'series');
}

function highWater(stage) {
  const marks = stage.high_water;
  const first = marks.length ? marks[0].value_ns : stage.max_ns;
  const spread = Math.max(stage.max_ns - first, stage.max_ns / 20, 10); // above 0 even if the first job was the longest
  const near = stage.configured_ns !== null && stage.configured_ns < stage.max_ns + 3 * spread;
  const high = Math.max(stage.max_ns, near ? stage.configured_ns : 0) + 0.15 * spread;
  const y = { ...timeAxis(Math.max(0, stage.max_ns - 1.1 * spread), high), title: 'longest time so far' };
  const chart = new Chart('water', { low: 1, high: Math.max(10, stage.count), log: true, title: 'jobs', label: (value) => count(value) }, y);
  const points = [];
  marks.forEach((mark, i) => points.push([Math.max(1, mark.count), i ? marks[i - 1].value_ns : mark.value_ns], [Math.max(1, mark.count), mark.value_ns]));
  points.push([Math.max(1, stage.count), stage.max_ns]);
  chart.path(points, 'series');
  if (stage.configured_ns !== null) chart.horizontal(stage.configured_ns, `${limitName(stage)} ${time(stage.configured_ns)}`);
  return chart.svg;
}

// ---- one stage ------------------------------------------------------------------------------------------------------
/// Returns the distributions of a task: its stages, the release latency and the inter-arrival time.
function stagesOf(task) {
  const plain = (name, times) => ({ ...times, name, configured_ns: null, pwcet: null });
  return [...task.stages, plain('release latency', task.release_latency), plain('inter-arrival', task.inter_arrival)];
}

function selectStage(name) {
  chosen.stage = name;
  showStage();
}

const panel = (id, title, content, caption) => element('div', { class: 'chart', id }, element('h3', {}, title), content, caption ? element('p', { class: 'caption' }, caption) : null);

function tailCaption(stage) {
  const p = stage.pwcet;
  if (p.refused) return `No pWCET: ${p.refused}`;
  const words = { gpd: 'solid: peaks over threshold (GPD)', gev: 'dashed: block maxima (GEV)' };
  const parts = [p.pot, p.maxima].map((m) => (m.refused ? `${m.name === 'gev' ? 'GEV' : 'GPD'} refused: ${m.refused}` : usable(m, stage) ? words[m.name] || m.name : null));
  return ['thin line: observed', ...parts.filter(Boolean), 'shaded: 95 % confidence', p.bound ? 'diamond: bound without a model' : null].filter(Boolean).join('; ') + '.';
}

function statistics(stage) {
  const rows = [['jobs', count(stage.count)], ['min', time(stage.min_ns)], ['mean', time(stage.mean_ns)], ['median', time(stage.p50_ns)], ['90 %', time(stage.p90_ns)],
    ['99 %', time(stage.p99_ns)], ['99.9 %', time(stage.p999_ns)], ['99.99 %', time(stage.p9999_ns)],
    ['max', `${time(stage.max_ns)} (job ${stage.max_job}${stage.max_at_ns === null ? '' : `, at ${instant(stage.max_at_ns, 1e6)}`})`]];
  if (stage.configured_ns !== null) rows.push([limitName(stage), time(stage.configured_ns)]);
  return table(['', '>'], rows);
}

function models(stage) {
  const [pot, maxima] = [stage.pwcet.pot, stage.pwcet.maxima].map((m) => (usable(m, stage) ? m : { quantiles: [] }));
  const asked = [...new Set([...pot.quantiles, ...maxima.quantiles].map((q) => q.exceedance))].sort((a, b) => b - a);
  const of = (model, p) => {
    const q = model.quantiles.find((known) => known.exceedance === p);
    return q ? [time(q.value_ns), element('div', { class: 'soft' }, `${time(q.low_ns)} to ${time(q.high_ns)}`)] : '–';
  };
  const rows = asked.map((p) => [probability(p), of(pot, p), of(maxima, p)]);
  const bound = stage.pwcet.bound;
  if (bound) rows.push([`${probability(bound.exceedance)} at most`, [time(bound.value_ns), element('div', { class: 'soft' }, 'without a model')], '']);
  return rows.length ? table(['exceeded with', '>GPD, 95 % confidence', '>GEV'], rows) : null;
}

function tests(stage) {
  const all = [...stage.pwcet.tests, ...stage.pwcet.pot.fit.map((t) => ({ ...t, name: `${t.name} (GPD)` })), ...stage.pwcet.maxima.fit.map((t) => ({ ...t, name: `${t.name} (GEV)` }))];
  if (!all.length) return null;
  return table(['test', 'property', '>statistic', '>p', ''], all.map((t) => [t.name, t.property, t.statistic?.toPrecision(3) ?? '–', t.p_value === null ? '–' : t.p_value < 0.001 ? '< 0.001' : t.p_value.toFixed(3),
    element('span', { class: t.holds ? 'good' : 'bad', title: t.rule }, t.holds ? 'holds' : 'fails')]));
}

const factorNames = { pause: 'since the last one', neighbour: 'after', beside: 'beside', clock: 'at a clock of' };
function factors(stage) {
  const rows = stage.factors.flatMap((f) => f.groups.map((g, i) => [i ? '' : `${factorNames[f.factor] || f.factor} (\u00d7 ${f.ratio.toFixed(2)})`, g.name,
    count(g.count), time(g.p50_ns), time(g.p99_ns), time(g.max_ns), count(g.above_wcet)]));
  return table(['', '', '>jobs', '>median', '>99 %', '>max', '>above WCET'], rows);
}

function showStage() {
  const task = run.tasks[chosen.task];
  if (!task) return at('stage').replaceChildren(element('p', { class: 'soft' }, 'Nothing to show.'));
  const stages = stagesOf(task);
  const stage = stages.find((s) => s.name === chosen.stage) || stages[0];
  const tabs = stages.map((s) => element('button', { type: 'button', 'data-stage': s.name, 'aria-pressed': String(s === stage), onclick: () => {
    selectStage(s.name);
    at('stage').querySelector(`[data-stage="${s.name}"]`).focus();
  } }, s.name));
  const invalid = task.invalid ? element('p', { class: 'warn' }, `These figures may not be relied on: ${task.invalid}`) : null;
  const head = [element('div', { class: 'tabs' }, element('strong', {}, swatch(chosen.task), task.name), ...tabs), invalid];
  if (!stage.count) return at('stage').replaceChildren(...head.filter(Boolean), element('p', { class: 'soft', id: 'no-samples' }, `No samples of ${task.name}, ${stage.name}.`));
  const what = `${task.name}, ${stage.name}`;
  const charts = [panel('histogram', `How often: ${what}`, histogram(stage))];
  if (stage.pwcet) charts.push(panel('tail', `How rarely longer: ${what}`, tail(stage), tailCaption(stage)));
  charts.push(panel('water', `High-water mark: ${what}`, highWater(stage)), panel('statistics', `Figures: ${what}`, statistics(stage)));
  if (stage.factors?.length) charts.push(panel('factors', `What surrounded it: ${what}`, factors(stage), 'The strongest first: by how many times longer 90 % of one group are than of another.'));
  if (stage.pwcet) {
    const [quantiles, tested] = [models(stage), tests(stage)];
    if (quantiles) charts.push(panel('quantiles', 'Probabilistic WCET', quantiles, stage.pwcet.refused || stage.pwcet.pot.choice));
    if (tested) charts.push(panel('applicability', 'May the models be used?', tested));
  }
  at('stage').replaceChildren(...head.filter(Boolean), element('div', { class: 'charts' }, charts));
}

// ---- causes of delay ------------------------------------------------------------------------------------------------
function stack(parts, whole) {
  const track = element('span', { class: 'stack' });
  for (const [cause, shade] of causes) {
    const part = parts.find((p) => p.cause === cause);
    const ns = part ? part.time_ns ?? part.mean_ns : 0;
    if (ns > 0) track.append(element('i', { style: `width:${(100 * ns / whole).toFixed(3)}%;background:${shade}`, title: `${cause}: ${time(ns)}` }));
  }
  return track;
}
const legend = () => element('div', { class: 'legend' }, causes.map(([cause, shade]) => element('span', {}, element('span', { class: 'swatch', style: `background:${shade}` }), cause)));

function showCauses() {
  const shown = run.tasks.filter((task) => task.completed > 0 || task.worst);
  if (!shown.length) return at('causes').append(element('p', { class: 'soft' }, 'No job has ended.'));
  const worstOf = (task) => (task.worst ? task.worst.response_ns : 0);
  const meanOf = (task) => task.breakdown.reduce((sum, part) => sum + part.mean_ns, 0);
  const reach = shown.reduce((most, task) => Math.max(most, Math.max(worstOf(task), meanOf(task)) / (task.setup.deadline_ns || 1)), 1);
  const rows = [];
  for (const task of shown) {
    const whole = reach * (task.setup.deadline_ns || 1);
    const row = (title, name, parts, total) => rows.push(element('span', { class: 'name' }, name), element('span', { class: 'soft' }, title),
      element('span', { class: 'track' }, stack(parts, whole), element('span', { class: 'deadline', style: `left:${(100 / reach).toFixed(3)}%`, title: `deadline ${time(task.setup.deadline_ns)}` })),
      element('span', { class: 'number' }, time(total)));
    row('mean', task.name, task.breakdown, meanOf(task));
    if (task.worst) row(`worst (job ${task.worst.job})`, '', task.worst.by_cause, worstOf(task));
    rows.push(element('span', { class: 'apart' }));
  }
  at('causes').append(legend(), element('div', { class: 'breakdown' }, rows),
    element('p', { class: 'soft' }, 'From the nominal release to the end of a job; each task on the scale of its deadline, the upright line.'));
}

function showMisses() {
  const section = at('misses');
  if (!run.misses.length) return section.append(element('p', { class: 'soft' }, run.missed ? 'None is described.' : 'None.'));
  const rows = run.misses.map((miss, i) => {
    const index = taskIndex(miss.task);
    const where = windowOf(miss);
    const job = element('button', { type: 'button', disabled: where < 0, title: where < 0 ? 'In none of the charts drawn' : 'Show it in the chart', onclick: () => jumpToMiss(i) }, `job ${miss.job}`);
    return element('tr', { 'data-miss': i }, element('td', {}, index < 0 ? null : swatch(index), miss.task), element('td', { class: 'tools', style: 'display:table-cell' }, job),
      element('td', { class: 'number' }, miss.outcome === 'late' || miss.outcome === 'in-time' ? time(miss.response_ns - miss.deadline_ns) : miss.outcome), element('td', { class: 'why' }, miss.blame || '–'),
      element('td', {}, element('span', { class: 'track', style: 'display:block' }, stack(miss.by_cause, miss.response_ns || 1))), element('td', { class: 'number' }, time(miss.response_ns)),
      element('td', { class: 'number' }, instant(miss.nominal_ns, 1e5)));
  });
  const head = [['Task'], ['Job'], ['Late by', 1], ['Why'], ['Where the time went'], ['Response', 1], ['Released at', 1]];
  section.append(legend(), element('div', { class: 'scroll', tabindex: 0 }, element('table', {}, element('thead', {}, element('tr', {}, head.map(([title, number]) => element('th', { class: number ? 'number' : null }, title)))),
    element('tbody', {}, rows))));
  if (run.misses.length < run.missed) section.append(element('p', { class: 'soft' }, `The first ${count(run.misses.length)} of ${count(run.missed)}.`));
}

// ---- chains ---------------------------------------------------------------------------------------------------------
/// Returns the parts of an interval that begins at `begin`: a part for each cause with a share, in the order of
/// `causes`.
function pieces(shares, begin) {
  const parts = [];
  for (const [cause, shade] of causes) {
    const ns = shares.reduce((sum, share) => sum + (share.cause === cause ? share.time_ns : 0), 0);
    if (ns > 0) parts.push({ begin, ns, style: `background:${shade}`, title: `${cause}: ${time(ns)}` });
    begin += ns;
  }
  return parts;
}

/// Returns the parts of one step of a chain. Delays count from the job's nominal release, which may precede the arrival
/// of the data; the part before the release is cut off.
function piecesOf(step) {
  const released = step.there_ns + step.until_release_ns;
  const delays = pieces(step.delays, step.nominal_ns).map((part) => ({ ...part, begin: Math.max(part.begin, released), ns: part.begin + part.ns - Math.max(part.begin, released) }));
  return [{ begin: step.there_ns, ns: step.until_release_ns, kind: 'until-release', title: `until it is released: ${time(step.until_release_ns)}` }, ...delays, ...pieces(step.shares, step.read_ns),
    { begin: step.ended_ns, ns: step.held_ns, kind: 'held', title: `until its deadline: ${time(step.held_ns)}` }].filter((part) => part.ns > 0);
}

/// Returns a diagram of the longest reaction of a chain over time, with a row for each task.
function way(chain) {
  const { event_ns: event, reaction_ns: reaction, steps } = chain.worst;
  const bound = chain.reaction.bound_ns;
  const whole = Math.max(reaction, bound || 0) * 1.02;
  const place = (ns) => `${(100 * ns / whole).toFixed(3)}%`;
  const limit = () => (bound === null ? null : element('span', { class: 'deadline', style: `left:${place(bound)}`, title: `bound ${time(bound)}` }));
  const rows = steps.flatMap((step) => [element('span', { class: 'name' }, swatch(Math.max(0, taskIndex(step.task))), step.task), element('span', { class: 'soft' }, `job ${step.job}`),
    element('span', { class: 'track way' }, piecesOf(step).map((part) => element('i', { class: part.kind, style: `left:${place(part.begin - event)};width:${place(part.ns)};${part.style || ''}`, title: part.title })), limit()),
    element('span', { class: 'number' }, time(step.output_ns - step.there_ns))]);
  const { step, list } = ticks(0, whole, 8);
  const axis = element('span', { class: 'time-axis soft' }, list.filter((ns) => ns < 0.96 * whole).map((ns) => element('span', { style: `left:${place(ns)}` }, instant(ns, step))));
  return element('div', { class: 'breakdown', 'data-chain': chain.name }, rows, element('span'), element('span'), axis, element('span', { class: 'number' }, element('strong', {}, time(reaction))));
}

function showChains() {
  if (!run.chains.length) return;
  at('chains-section').hidden = false;
  const above = (measure) => (measure.above_bound ? element('strong', { class: 'bad' }, count(measure.above_bound)) : '0');
  const row = (chain, what, m) => [what === 'reaction' ? [chain.name, chain.invalid ? element('span', { class: 'warn', title: chain.invalid }, ' (invalid)') : null] : '', what, count(m.count),
    ...['min_ns', 'mean_ns', 'p99_ns', 'max_ns'].map((key) => (m.count ? time(m[key]) : '–')), time(m.bound_ns), above(m), time(m.limit_ns)];
  at('chains').append(table(['Chain', '', '>samples', '>min', '>mean', '>99 %', '>max', '>bound', '>above', '>limit'],
    run.chains.flatMap((chain) => [row(chain, 'reaction', chain.reaction), row(chain, 'data age', chain.age), row(chain, 'reduced age', chain.reduced_age)])));
  const worst = run.chains.filter((chain) => chain.worst);
  if (!worst.length) return;
  for (const chain of worst) at('chains').append(element('h3', { style: 'margin-top:14px' }, `${chain.name}: the longest reaction, to an event at ${instant(chain.worst.event_ns, 1e5)}`),
    element('p', { class: 'soft' }, chain.worst.blame), way(chain));
  at('chains').append(legend(), element('p', { class: 'soft' }, 'From the event to the output that answers it: dots until a job is released that will read, then what the job did and waited for, by cause; empty until its deadline, where its output appears then. The upright line is the bound.'));
}

// ---- Gantt chart ----------------------------------------------------------------------------------------------------
const barKinds = ['response', 'before', 'device', 'after', 'swap-in', 'swap-out', 'throttled', 'preempted'];
const markKinds = ['release', 'deadline', 'miss', 'dropped'];
const [RESPONSE, AFTER, SWAP_IN, SWAP_OUT, THROTTLED, PREEMPTED, MISS] = [0, 3, 4, 5, 6, 7, 2];
const gutter = 132, ruler = 26, taskHeight = 26, resourceHeight = 24, memoryHeight = 52, scrollHeight = 12;

/// Returns the index of the first element of the ascending `list` that is above `value`.
function firstAbove(list, value) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
function summed(distances, from) {
  const result = new Float64Array(distances.length);
  for (let i = 0, value = from; i < result.length; ++i) result[i] = value += distances[i];
  return result;
}

/// Prepares a window's columns for searching. Each lane gets its bars in the order of their begin. `reach` holds for
/// each bar the latest end of this bar and all bars before it.
function prepare(w) {
  const about = w.about;
  const begin = summed(w.bars.begin, about.from_ns);
  const end = begin.map((value, i) => value + w.bars.length[i]);
  const lanes = about.lanes.map((lane) => ({ ...lane, bars: [], marks: [], reach: [] }));
  for (let i = 0; i < begin.length; ++i) lanes[w.bars.lane[i]]?.bars.push(i);
  for (const lane of lanes) {
    let latest = -Infinity;
    lane.reach = lane.bars.map((i) => (latest = Math.max(latest, end[i])));
    lane.starts = lane.bars.map((i) => begin[i]);
  }
  const marks = summed(w.marks.at, about.from_ns);
  for (let i = 0; i < marks.length; ++i) lanes.find((lane) => lane.kind === 'task' && lane.index === w.marks.task[i])?.marks.push(i);
  for (const lane of lanes) lane.markTimes = lane.marks.map((i) => marks[i]);
  let top = ruler, before = '';
  for (const lane of lanes) {
    if (before === 'task' && lane.kind !== 'task') top += 8;
    lane.top = top;
    lane.height = lane.kind === 'task' ? taskHeight : resourceHeight;
    top += lane.height + (lane.kind === 'task' ? 0 : 5);
    before = lane.kind;
  }
  const steps = { at: summed(w.memory.at, about.from_ns), bytes: w.memory.bytes };
  const peak = steps.bytes.reduce((a, b) => Math.max(a, b), Math.max(about.memory_capacity_bytes, 1));
  const memoryTop = top + 4;
  if (steps.bytes.length) top += memoryHeight + 8;
  return { ...w, about, begin, end, lanes, marks: { ...w.marks, at: marks }, steps, peak, memoryTop, bottom: top, height: top + scrollHeight };
}

function windowOf(miss) {
  return data.windows.findIndex(({ about }) => {
    const from = miss.nominal_ns - about.origin_ns;
    return from < about.to_ns && from + miss.response_ns > about.from_ns;
  });
}

class GanttChart {
  constructor(windows) {
    this.windows = windows.map(() => null); // prepared when first shown
    this.barsDrawn = 0;
    this.drawMilliseconds = 0;
    this.highlight = '';
    this.canvas = element('canvas', { id: 'canvas', tabindex: 0, role: 'img', 'aria-label': 'Gantt chart. Plus and minus zoom, arrows move, 0 shows all.' });
    this.status = element('span', { class: 'soft', 'aria-live': 'polite' });
    this.tooltip = element('div', { id: 'tooltip', hidden: true, role: 'tooltip' });
    at('gantt').append(this.tools(), this.canvas, element('p', { class: 'soft' }, 'Arrows up: release (red: dropped); down: deadline; red cross: deadline missed. Pale: response, and the part after the device; '
      + 'copies have the colour of whose memory moves; red stripes: throttled. Wheel or + and \u2212: zoom; drag or arrows: move; 0: all; click: choose the task.'), this.tooltip);
    this.listen();
    this.show(0);
  }

  tools() {
    const button = (text, label, action) => element('button', { type: 'button', 'aria-label': label, title: label, 'data-do': label, onclick: action }, text);
    this.chooser = element('select', { id: 'window', 'aria-label': 'stretch of time', onchange: () => this.show(Number(this.chooser.value)) },
      data.windows.map(({ about }, i) => element('option', { value: i }, `${time(about.from_ns)} to ${time(about.to_ns)}${about.title ? `: ${about.title}` : ''}`)));
    this.lit = element('select', { id: 'highlight', 'aria-label': 'task to highlight', onchange: () => { this.highlight = this.lit.value; this.plan(); } },
      element('option', { value: '' }, 'all tasks'), [...new Set(data.windows.flatMap(({ about }) => about.tasks))].map((name) => element('option', { value: name }, name)));
    return element('div', { class: 'tools' }, this.chooser, button('+', 'zoom in', () => this.zoom(0.5)), button('\u2212', 'zoom out', () => this.zoom(2)),
      button('\u2190', 'earlier', () => this.move(-0.25)), button('\u2192', 'later', () => this.move(0.25)), button('All', 'show all', () => this.all()),
      element('label', {}, 'Highlight ', this.lit), this.status);
  }

  show(index) {
    this.index = index;
    this.chooser.value = String(index);
    this.windows[index] ??= prepare(data.windows[index]);
    this.w = this.windows[index];
    this.canvas.style.height = `${this.w.height}px`;
    this.all();
  }
  all() { this.look(this.w.about.from_ns, this.w.about.to_ns); }
  look(from, to) {
    const { from_ns: low, to_ns: high } = this.w.about;
    const span = Math.min(Math.max(to - from, 20), Math.max(high - low, 20));
    this.from = Math.min(Math.max(from, low), Math.max(low, high - span));
    this.to = this.from + span;
    this.plan();
  }
  zoom(factor, around = (this.from + this.to) / 2) { this.look(around - (around - this.from) * factor, around + (this.to - around) * factor); }
  move(share) { this.look(this.from + share * (this.to - this.from), this.to + share * (this.to - this.from)); }
  choose(name) {
    if (!this.highlight) return;
    this.highlight = this.lit.value = [...this.lit.options].some((option) => option.value === name) ? name : '';
    this.plan();
  }

  // -- pointer and keys
  timeAt(x) { return this.from + (x - gutter) / Math.max(1, this.width - gutter) * (this.to - this.from); }
  listen() {
    const canvas = this.canvas;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return this.move((event.deltaX || event.deltaY) / 1000);
      this.zoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY * (event.deltaMode ? 30 : 1))) / 400), this.timeAt(Math.max(gutter, event.offsetX)));
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button) return;
      this.drag = { x: event.offsetX, from: this.from, to: this.to, far: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => (this.drag ? this.dragged(event) : this.point(event)));
    canvas.addEventListener('pointerup', (event) => {
      if (this.drag && !this.drag.far) this.clicked(event);
      this.drag = null;
    });
    canvas.addEventListener('pointercancel', () => { this.drag = null; });
    canvas.addEventListener('pointerleave', () => { this.tooltip.hidden = true; });
    canvas.addEventListener('dblclick', () => this.all());
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.plan()).observe(canvas);
    for (const query of ['(prefers-color-scheme: dark)', 'print']) matchMedia(query).addEventListener('change', () => this.draw());
  }
  dragged(event) {
    const moved = event.offsetX - this.drag.x;
    if (Math.abs(moved) < 4 && !this.drag.far) return;
    this.drag.far = true;
    this.tooltip.hidden = true;
    const shift = moved / Math.max(1, this.width - gutter) * (this.drag.to - this.drag.from);
    this.look(this.drag.from - shift, this.drag.to - shift);
  }
  clicked(event) {
    const hit = this.hit(event.offsetX, event.offsetY);
    if (hit && hit.bar !== undefined && this.w.bars.kind[hit.bar] !== THROTTLED) selectTask(this.name(this.w.bars.task[hit.bar]));
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = { '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), ArrowLeft: () => this.move(-0.1), ArrowRight: () => this.move(0.1),
      ArrowUp: () => this.zoom(0.8), ArrowDown: () => this.zoom(1.25), 0: () => this.all(), Home: () => this.all() };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  // -- element under the pointer
  name(task) { return this.w.about.tasks[task] ?? `task ${task}`; }
  hit(x, y) {
    if (x < gutter) return null;
    const lane = this.w.lanes.find((l) => y >= l.top && y < l.top + l.height);
    if (!lane) return y >= this.w.memoryTop && y < this.w.memoryTop + memoryHeight && this.w.steps.at.length ? { memory: this.timeAt(x) } : null;
    const [low, high] = [this.timeAt(x - 3), this.timeAt(x + 3)];
    const mark = this.nearest(lane, low, high);
    if (mark !== undefined) return { mark };
    let found;
    for (let k = firstAbove(lane.reach, low); k < lane.bars.length && lane.starts[k] <= high; ++k) {
      const i = lane.bars[k];
      if (this.w.end[i] < low) continue;
      if (this.w.bars.kind[i] === PREEMPTED && y >= lane.top + 3) continue;
      if (this.w.bars.kind[i] === THROTTLED && found !== undefined && y < lane.top + lane.height - 8) continue;
      found = i;
    }
    return found === undefined ? null : { bar: found };
  }
  nearest(lane, low, high) {
    let found;
    for (let k = firstAbove(lane.markTimes, low); k < lane.marks.length && lane.markTimes[k] <= high; ++k)
      if (found === undefined || this.w.marks.kind[lane.marks[k]] === MISS) found = lane.marks[k];
    return found;
  }
  describe(hit) {
    const w = this.w;
    const exact = (ns) => instant(ns, Math.max(1, 10 ** Math.floor(Math.log10((this.to - this.from) / 1000))));
    if (hit.memory !== undefined) return `swapped memory in use: ${bytes(w.steps.bytes[Math.max(0, firstAbove(w.steps.at, hit.memory) - 1)])}\nof ${bytes(w.about.memory_capacity_bytes)}, at ${exact(hit.memory)}`;
    if (hit.mark !== undefined) return `${{ release: 'release', deadline: 'deadline', miss: 'DEADLINE MISSED', dropped: 'release dropped' }[markKinds[w.marks.kind[hit.mark]]]}: ${this.name(w.marks.task[hit.mark])}, job ${w.marks.job[hit.mark]}\nat ${exact(w.marks.at[hit.mark])}`;
    const i = hit.bar;
    const kind = w.bars.kind[i];
    const job = `${this.name(w.bars.task[i])}, job ${w.bars.job[i]}`;
    const what = kind === THROTTLED ? 'memory bandwidth used up: throttled'
      : kind === SWAP_IN || kind === SWAP_OUT ? `${barKinds[kind]} of ${this.name(w.bars.owner[i])}'s chunk\nfor ${job}` : `${job}: ${kind === RESPONSE ? 'response' : kind === PREEMPTED ? 'preempted on the device' : kind === 2 ? 'on the device' : `${barKinds[kind]} the device`}`;
    return `${what}\n${time(w.end[i] - w.begin[i])}, from ${exact(w.begin[i])} to ${exact(w.end[i])}`;
  }
  point(event) {
    const hit = this.hit(event.offsetX, event.offsetY);
    this.tooltip.hidden = !hit;
    if (!hit) return;
    this.tooltip.textContent = this.describe(hit);
    const [width, height] = [this.tooltip.offsetWidth, this.tooltip.offsetHeight];
    this.tooltip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    this.tooltip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  }

  // -- drawing
  plan() {
    if (!this.planned) this.planned = requestAnimationFrame(() => this.draw());
  }
  x(ns) { return gutter + (ns - this.from) * this.scale; }
  draw() {
    cancelAnimationFrame(this.planned);
    this.planned = 0;
    const started = performance.now();
    const style = getComputedStyle(document.documentElement);
    this.ink = Object.fromEntries(['paper', 'panel', 'ink', 'soft', 'rule', 'accent', 'series', 'limit'].map((key) => [key, style.getPropertyValue(`--${key}`).trim()]));
    const ratio = Math.max(1, devicePixelRatio || 1);
    this.width = Math.max(gutter + 50, this.canvas.clientWidth);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.w.height * ratio);
    const c = this.c = this.canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = this.ink.paper;
    c.fillRect(0, 0, this.width, this.w.height);
    this.scale = (this.width - gutter) / (this.to - this.from);
    this.barsDrawn = 0;
    this.drawGrid();
    c.save();
    c.beginPath();
    c.rect(gutter, 0, this.width - gutter, this.w.height);
    c.clip();
    for (const lane of this.w.lanes) this.drawBars(lane);
    for (const lane of this.w.lanes) this.drawMarks(lane);
    this.drawMemory();
    c.restore();
    this.drawNames();
    this.drawScroll();
    this.drawMilliseconds = performance.now() - started;
    this.status.textContent = `${instant(this.from, this.to - this.from > 0 ? (this.to - this.from) / 1000 : 1)} to ${instant(this.to, (this.to - this.from) / 1000)}: ${time(this.to - this.from)}`;
  }

  drawGrid() {
    const c = this.c;
    const { step, list } = ticks(this.from, this.to, Math.max(2, Math.floor((this.width - gutter) / 130)));
    c.font = '11px system-ui, "DejaVu Sans", sans-serif';
    c.textBaseline = 'alphabetic';
    c.textAlign = 'center';
    for (const value of list) {
      const x = Math.round(this.x(value)) + 0.5;
      c.fillStyle = this.ink.rule;
      c.fillRect(x - 0.5, ruler - 6, 1, this.w.bottom - ruler + 6);
      c.fillStyle = this.ink.soft;
      const text = instant(value, step);
      const half = c.measureText(text).width / 2;
      c.fillText(text, Math.min(Math.max(x, gutter + half), this.width - half - 2), ruler - 11);
    }
    c.fillStyle = this.ink.rule;
    for (const lane of this.w.lanes) c.fillRect(0, lane.top + lane.height - 1, this.width, 1);
  }

  pale(task) { return this.highlight && this.name(task) !== this.highlight; }
  /// Draws the bars of a lane. If several bars share a pixel, only the first of them is drawn.
  drawBars(lane) {
    const { begin, end, bars } = this.w;
    const c = this.c;
    let painted = -1, red = -1;
    for (let k = firstAbove(lane.reach, this.from); k < lane.bars.length && lane.starts[k] < this.to; ++k) {
      const i = lane.bars[k];
      if (end[i] <= this.from) continue;
      const kind = bars.kind[i];
      const left = Math.max(gutter - 2, this.x(begin[i])), right = Math.min(this.width + 2, Math.max(this.x(end[i]), left + 0.7));
      if (kind === THROTTLED) {
        if (right > red) this.drawThrottled(lane, left, right);
        red = Math.ceil(right);
        continue;
      }
      if (kind === PREEMPTED) {
        this.drawPreempted(lane, left, right, bars.task[i]);
        continue;
      }
      if (right <= painted) continue;
      const task = kind === SWAP_IN || kind === SWAP_OUT ? bars.owner[i] : bars.task[i];
      const inset = kind === RESPONSE ? 9 : 3;
      c.globalAlpha = (kind === RESPONSE ? 0.4 : kind === AFTER ? 0.6 : 1) * (this.pale(task) && this.pale(bars.task[i]) ? 0.15 : 1);
      c.fillStyle = colour(task);
      const gap = right - left > 4 ? 0.6 : 0;
      c.fillRect(left, lane.top + inset, right - left - gap, lane.height - inset - 1);
      painted = Math.max(painted, right - left < 1 ? Math.floor(right) + 1 : right);
      ++this.barsDrawn;
      if (right - left > 46) this.drawNumber(lane, kind, left, right, bars.job[i]);
    }
    c.globalAlpha = 1;
  }
  drawNumber(lane, kind, left, right, job) {
    const c = this.c;
    const text = `job ${job}`;
    const from = Math.max(left, gutter);
    if (Math.min(right, this.width) - from < c.measureText(text).width + 10) return;
    c.globalAlpha = 1;
    c.fillStyle = kind === RESPONSE || kind === AFTER ? this.ink.ink : '#111';
    c.textAlign = 'left';
    c.fillText(text, from + 5, lane.top + lane.height - 7);
  }
  /// Draws the preemption of a task as a thin line above the bars of other tasks.
  drawPreempted(lane, left, right, task) {
    const c = this.c;
    c.globalAlpha = this.pale(task) ? 0.15 : 1;
    c.fillStyle = colour(task);
    c.fillRect(left, lane.top + 1, right - left, 2);
    ++this.barsDrawn;
  }
  drawThrottled(lane, left, right) {
    const c = this.c;
    c.globalAlpha = 1;
    c.fillStyle = this.stripes();
    c.fillRect(left, lane.top + lane.height - 8, right - left, 7);
    ++this.barsDrawn;
  }
  stripes() {
    if (this.pattern) return this.pattern;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const c = tile.getContext('2d');
    c.fillStyle = '#fff';
    c.fillRect(0, 0, 6, 6);
    c.strokeStyle = '#c00000';
    c.lineWidth = 2.4;
    c.beginPath();
    for (const shift of [-6, 0, 6]) c.moveTo(shift - 1, 7), c.lineTo(shift + 7, -1);
    c.stroke();
    return (this.pattern = this.c.createPattern(tile, 'repeat'));
  }

  /// Draws the marks of a lane. Releases and deadlines are drawn only if there is room for all marks in view. Misses
  /// are always drawn: as crosses or, if there is no such room, as strokes.
  drawMarks(lane) {
    const { marks } = this.w;
    const margin = 6 / this.scale;
    const first = firstAbove(lane.markTimes, this.from - margin), last = firstAbove(lane.markTimes, this.to + margin);
    const crowded = last - first > (this.width - gutter) / 5;
    for (let k = first, painted = -1; k < last; ++k) {
      const i = lane.marks[k];
      const kind = marks.kind[i];
      const x = this.x(marks.at[i]);
      if (crowded && (kind !== MISS || x - painted < 1)) continue;
      if (kind === MISS) painted = x;
      this.c.globalAlpha = this.pale(marks.task[i]) ? 0.15 : 1;
      if (kind === MISS && crowded) this.stroke(this.ink.limit, 1.2, [[x, lane.top + 9], [x, lane.top + lane.height - 1]]);
      else if (kind === MISS) this.cross(x, lane.top + 13);
      else this.arrow(x, lane.top + 4, lane.top + lane.height - 1, kind === 1, kind === 0 ? colour(marks.task[i]) : kind === 1 ? this.ink.ink : this.ink.limit);
    }
    this.c.globalAlpha = 1;
  }
  stroke(shade, width, ...lines) {
    const c = this.c;
    c.strokeStyle = shade;
    c.lineWidth = width;
    c.beginPath();
    for (const [first, ...rest] of lines) {
      c.moveTo(...first);
      for (const point of rest) c.lineTo(...point);
    }
    c.stroke();
  }
  cross(x, y) { this.stroke(this.ink.limit, 2.2, [[x - 4, y - 4], [x + 4, y + 4]], [[x - 4, y + 4], [x + 4, y - 4]]); }
  arrow(x, high, low, down, shade) {
    const tip = down ? low : high, back = down ? low - 5 : high + 5;
    this.stroke(shade, 1.3, [[x, low], [x, high]], [[x - 3, back], [x, tip], [x + 3, back]]);
  }

  drawMemory() {
    const { steps, peak, memoryTop, about } = this.w;
    if (!steps.at.length) return;
    const c = this.c;
    const base = memoryTop + memoryHeight;
    const y = (used) => base - (memoryHeight - 6) * used / peak;
    let k = Math.max(0, firstAbove(steps.at, this.from) - 1);
    c.beginPath();
    c.moveTo(gutter - 2, base);
    c.lineTo(gutter - 2, y(steps.bytes[k]));
    for (++k; k < steps.at.length && steps.at[k] < this.to; ++k) {
      const x = this.x(steps.at[k]);
      c.lineTo(x, y(steps.bytes[k - 1]));
      c.lineTo(x, y(steps.bytes[k]));
    }
    c.lineTo(this.width + 2, y(steps.bytes[k - 1]));
    c.lineTo(this.width + 2, base);
    c.globalAlpha = 0.3;
    c.fillStyle = this.ink.series;
    c.fill();
    c.globalAlpha = 1;
    c.strokeStyle = this.ink.series;
    c.lineWidth = 1.2;
    c.stroke();
    if (!about.memory_capacity_bytes) return;
    c.setLineDash([4, 3]);
    this.stroke(this.ink.limit, 1.2, [[gutter, y(about.memory_capacity_bytes)], [this.width, y(about.memory_capacity_bytes)]]);
    c.setLineDash([]);
  }

  drawNames() {
    const c = this.c;
    c.fillStyle = this.ink.panel;
    c.fillRect(0, 0, gutter - 1, this.w.height);
    c.fillStyle = this.ink.rule;
    c.fillRect(gutter - 1, ruler - 6, 1, this.w.bottom - ruler + 6);
    for (const lane of this.w.lanes) c.fillRect(0, lane.top + lane.height - 1, gutter, 1);
    c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    c.textAlign = 'right';
    for (const lane of this.w.lanes) {
      c.fillStyle = lane.kind === 'task' && this.pale(lane.index) ? this.ink.soft : this.ink.ink;
      c.fillText(this.shortened(lane.name, gutter - 18), gutter - 9, lane.top + lane.height - 8);
    }
    if (!this.w.steps.at.length) return;
    c.fillStyle = this.ink.ink;
    c.fillText('swapped memory', gutter - 9, this.w.memoryTop + memoryHeight - 6);
    c.fillStyle = this.ink.soft;
    if (this.w.about.memory_capacity_bytes) c.fillText(bytes(this.w.about.memory_capacity_bytes), gutter - 9, this.w.memoryTop + 12);
  }
  shortened(text, width) {
    if (this.c.measureText(text).width <= width) return text;
    let kept = text;
    while (kept && this.c.measureText(`${kept}…`).width > width) kept = kept.slice(0, -1);
    return `${kept}…`;
  }
  /// Draws the scroll bar, which shows the part of the window that is in view.
  drawScroll() {
    const { from_ns: low, to_ns: high } = this.w.about;
    const whole = Math.max(1, high - low);
    const y = this.w.height - 7;
    this.c.fillStyle = this.ink.rule;
    this.c.fillRect(gutter, y, this.width - gutter, 4);
    this.c.fillStyle = this.ink.accent;
    this.c.fillRect(gutter + (this.from - low) / whole * (this.width - gutter), y, Math.max(3, (this.to - this.from) / whole * (this.width - gutter)), 4);
  }
}

function jumpToMiss(i) {
  const miss = run.misses[i];
  const index = miss ? windowOf(miss) : -1;
  if (index < 0) return;
  const begin = miss.nominal_ns - data.windows[index].about.origin_ns;
  if (gantt.index !== index) gantt.show(index);
  gantt.look(begin - 0.25 * miss.response_ns, begin + 1.25 * miss.response_ns);
  gantt.highlight = gantt.lit.value = '';
  selectTask(miss.task);
  at('gantt-section').scrollIntoView({ block: 'nearest' });
  gantt.canvas.focus({ preventScroll: true });
}

// ---- the run --------------------------------------------------------------------------------------------------------
function contentsOf(loading) {
  const tiles = loading.buffers.reduce((sum, buffer) => sum + buffer.tiles.length, 0);
  const made = loading.buffers.length ? [bytes(loading.bytes), time(loading.took_ns)] : ['–', '–'];
  return [...made, ...(tiles ? [count(tiles), time(loading.prefetched_ns), time(loading.made_ns), time(loading.overlapped_ns)] : ['–', '–', '–', '–'])];
}

function showRun() {
  const parts = [];
  if (run.resources.length) parts.push(panel('resources', 'Resources', table(['', '>parts', '>busy', '>longest', '>throttled', '>utilisation'],
    run.resources.map((r) => [r.name, count(r.parts), time(r.busy_ns), time(r.longest_ns), r.throttled_ns ? time(r.throttled_ns) : '–', percent(r.utilisation)]))));
  if (run.stolen.length) parts.push(panel('stolen', 'Stolen by the hypervisor', table(['', '>time'], run.stolen.map((each) => [`core ${each.core}`, time(each.time_ns)])),
    'What it took of each core, as the kernel counts it.'));
  if (run.swap) parts.push(panel('swaps', 'Swaps', table(['', '>chunks', '>bytes', '>median', '>max'], [
    ['in', count(run.swap.in), bytes(run.swap.in_bytes), run.swap.in_times.count ? time(run.swap.in_times.p50_ns) : '–', run.swap.in_times.count ? time(run.swap.in_times.max_ns) : '–'],
    ['out', count(run.swap.out), bytes(run.swap.out_bytes), run.swap.out_times.count ? time(run.swap.out_times.p50_ns) : '–', run.swap.out_times.count ? time(run.swap.out_times.max_ns) : '–'],
    ['only unmapped', count(run.swap.dropped), '–', '–', '–'], ['failed', count(run.swap.failed), '–', '–', '–']])));
  const loaded = run.tasks.filter((t) => t.loading.loaded);
  if (loaded.length) parts.push(panel('loading', 'Loading', table(['task', '>took', '>first contents', '>took', '>tiles', '>prefetched', '>made', '>both at once'],
    loaded.map((t) => [t.name, time(t.loading.loaded.end_ns - t.loading.loaded.begin_ns), ...contentsOf(t.loading)])),
    'Before the first release. Tiles of first contents are made by the GPU in one stream while the next are prefetched in another.'));
  if (run.run.tests.length) parts.push(panel('promises', 'What the plan rests on', table(['test', '', '>slack', 'tightest task'],
    run.run.tests.map((t) => [t.name, t.proved ? 'proved' : t.baseline ? 'not proved (not sound)' : 'not proved', time(t.slack_ns), t.limiting_task || '–']))));
  if (run.run.probes.length) parts.push(panel('probes', 'What the machine gave', table(['service', 'found'], run.run.probes.map((p) => [p.service, p.found]))));
  at('run').append(parts.length ? element('div', { class: 'facts' }, parts) : element('p', { class: 'soft' }, 'The recording says nothing of it.'));
}

// ---- page -----------------------------------------------------------------------------------------------------------
document.title = [heading, run.began, 'rtexec analyze'].filter(Boolean).join(', ');
let gantt = null;
showVerdict();
showTasks();
showSkipped();
showStage();
showCauses();
showChains();
if (data.windows.length) gantt = new GanttChart(data.windows);
else at('gantt').append(element('p', { class: 'soft' }, 'No stretch of time was drawn.'));
showMisses();
showRun();

/// The interface for scripts and for the tests of this page. Times are in nanoseconds from the window's origin.
window.rtexecPage = {
  selectTask, selectStage, jumpToMiss,
  selectWindow: (index) => gantt?.show(index),
  view: () => gantt && { from: gantt.from, to: gantt.to, window: gantt.index },
  redraw: () => { gantt?.draw(); return gantt?.drawMilliseconds ?? 0; },
  get barsDrawn() { return gantt?.barsDrawn ?? 0; },
  get drawMilliseconds() { return gantt?.drawMilliseconds ?? 0; },
};
})();
