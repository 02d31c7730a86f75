// How complete the explorer is: what it acted on, or left out with a stated reason, of all that an independent count
// (census.mjs) finds on the page right after it has loaded; element by element, over several routes of each application.
// The same for what peers list: the snapshot that @playwright/mcp gives an agent (ref by ref), `agent-browser snapshot -i`
// (box by box), and what gremlins.js touches in a run as long as the explorer's, at most a minute.
//
//   node complete.mjs [APP...]     OUT=FILE writes every element as JSON; the last line is `complete: N % (goal 98 %)`
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { APPS, CHROME_FLAGS, VIEW, chrome, element, explore, freePort, keyOf, serve, sleep, table } from './common.mjs';
import { REMEMBER, census } from './census.mjs';

const require = createRequire(import.meta.url);
const { chromium: peerChromium } = createRequire(require.resolve('@playwright/mcp/package.json'))('playwright-core');
const GREMLINS = readFileSync(join(require.resolve('gremlins.js/package.json'), '../dist/gremlins.min.js'), 'utf8');
const ROUTES = Number(process.env.ROUTES ?? 3);
const WALL = Number(process.env.WALL ?? 240);
const PEERS = (process.env.PEERS ?? 'mcp,agent-browser,gremlins').split(',');
const names = process.argv.slice(2).length ? process.argv.slice(2) : Object.keys(APPS);

/** Every element that the explorer's looks at the route held before the first press, with what became of each. */
function explored({ sessions, reports }) {
  const known = new Map();
  const journal = sessions[0];
  // The looks between the last opening of the route and the first press: scrolling through it included.
  const first = journal.findIndex((entry, i) => entry.op === 'shot' && i > 0 && journal.slice(0, i).some((e) => e.op === 'goto'));
  const acted = journal.findIndex((entry, i) => i > first && ['press', 'move', 'key', 'target'].includes(entry.op));
  const from = journal.findLastIndex((entry, i) => i < (acted < 0 ? journal.length : acted) && entry.op === 'goto');
  for (const entry of journal.slice(from, acted < 0 ? undefined : acted)) {
    if (entry.op === 'look') for (const e of entry.elements.map(element)) if (!known.has(keyOf(e))) known.set(keyOf(e), { ...e, page: [e.box[0], e.box[1] + entry.scroll, e.box[2], e.box[3]] });
  }
  const nodes = new Map();
  const walk = (list) => { for (const node of list ?? []) { const key = node.locator && keyOf(node.locator); if (key && !nodes.has(key)) nodes.set(key, node); walk(node.children); } };
  const tree = reports[0].action_tree;
  for (const part of Object.values(tree)) walk(part);
  for (const [key, e] of known) {
    const node = nodes.get(key);
    e.fate = !node ? 'equal to one that was acted on' : node.action_result === 'skipped' ? node.skipped_reason.replace(/ by .*| on \/.*/, '') : node.action_result === 'refused' ? 'refused' : node.state === 'disabled' ? 'disabled' : 'acted on';
  }
  return known;
}

/** In the page: the elements that these paths lead to. */
const RESOLVE = `function (paths) {
  const root = (host) => window[Symbol.for('census')]?.root(host) ?? host.shadowRoot;
  return paths.map(({ frame, shadow, css }) => {
    try {
      let at = document;
      for (const step of frame ?? []) { const hit = at.querySelector(step.replace(/^>>/, '')); at = step.startsWith('>>') ? root(hit) : hit.contentDocument; }
      for (const step of shadow ?? []) at = root(at.querySelector(step));
      return at.querySelector(css);
    } catch { return null; }
  });
}`;

/** Tells for each item whether one of these elements is it, holds it or lies in it. The elements are given as a function's answer in the page. */
const MATCH = `function (all, given) {
  const parentOf = (node) => { const p = node.parentNode; if (!p) return null; if (p.nodeType === 11) return p.host ?? null; return p.nodeType === 1 ? p : null; };
  const contains = (outer, inner) => { for (let n = inner; n; n = parentOf(n)) if (n === outer) return true; return false; };
  const box = (e) => e.getBoundingClientRect();
  const near = (a, b) => { const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top); return w > 0 && h > 0 && w * h >= 0.6 * Math.max(a.width * a.height, b.width * b.height); };
  return all.map((e) => {
    const exact = given.indexOf(e);
    if (exact >= 0) return [exact, 'same'];
    // The same control by another of its elements: its label, its wrapper, the only thing inside it.
    const labels = e.labels ? [...e.labels] : [];
    let i = given.findIndex((g) => g && (labels.includes(g) || g.control === e || e.control === g));
    if (i >= 0) return [i, 'label'];
    i = given.findIndex((g) => g && (contains(g, e) || contains(e, g)) && near(box(g), box(e)));
    if (i >= 0) return [i, 'same place'];
    i = given.findIndex((g) => g && contains(g, e) && /^(a|button|label|summary)$/.test(g.localName));
    return i >= 0 ? [i, 'part'] : [-1, ''];
  });
}`;

async function match(counted, produce) {
  const { cdp, objects } = counted;
  const doc = await cdp.send('Runtime.evaluate', { expression: 'document' });
  const all = await cdp.send('Runtime.callFunctionOn', { objectId: doc.result.objectId, functionDeclaration: 'function (...all) { return all; }', arguments: objects.map((objectId) => ({ objectId })) });
  const given = await produce(cdp, doc.result.objectId);
  const answer = await cdp.send('Runtime.callFunctionOn', { objectId: doc.result.objectId, functionDeclaration: MATCH, arguments: [{ objectId: all.result.objectId }, { objectId: given }], returnByValue: true });
  if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description);
  return answer.result.value;
}

/** Elements that lie where these boxes do (window coordinates), else at their centre. */
const AT = `function (boxes) {
  const root = (host) => window[Symbol.for('census')]?.root(host) ?? host.shadowRoot;
  const all = [];
  const walk = (at, dx, dy) => { for (const e of at.querySelectorAll('*')) { all.push([e, dx, dy]); const r = root(e); if (r) walk(r, dx, dy); if (e.localName === 'iframe') { try { const b = e.getBoundingClientRect(); walk(e.contentDocument, dx + b.left, dy + b.top); } catch {} } } };
  walk(document, 0, 0);
  const measured = all.map(([e, dx, dy]) => { const b = e.getBoundingClientRect(); return [e, b.left + dx, b.top + dy, b.width, b.height]; }).filter((m) => m[3] > 0);
  // The innermost of those that fill the box.
  return boxes.map(([x, y, w, h]) => measured.filter((m) => Math.abs(m[1] - x) < 1.5 && Math.abs(m[2] - y) < 1.5 && Math.abs(m[3] - w) < 1.5 && Math.abs(m[4] - h) < 1.5).at(-1)?.[0] ?? null);
}`;

async function agentBrowser(port, counted, url) {
  const tool = (...args) => execFileSync(require.resolve('agent-browser/package.json').replace('package.json', 'bin/agent-browser.js'), ['--session', `bench-${port}`, '--cdp', String(port), '--json', ...args], { encoding: 'utf8', timeout: 60000, maxBuffer: 1 << 26, stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    const tabs = JSON.parse(tool('tab')).data.tabs ?? [];
    const tab = tabs.find((one) => one.url === url);
    if (tab && !tab.active) tool('tab', String(tab.tabId ?? tab.index));
    const began = performance.now();
    const { data } = JSON.parse(tool('snapshot', '-i'));
    const ms = performance.now() - began;
    const refs = Object.keys(data.refs ?? {});
    const boxes = [];
    for (let i = 0; i < refs.length; i += 100) {
      const input = JSON.stringify(refs.slice(i, i + 100).map((ref) => ['get', 'box', `@${ref}`]));
      const out = execFileSync(require.resolve('agent-browser/package.json').replace('package.json', 'bin/agent-browser.js'), ['--session', `bench-${port}`, '--cdp', String(port), '--json', 'batch'], { input, encoding: 'utf8', timeout: 120000, maxBuffer: 1 << 26, stdio: ['pipe', 'pipe', 'ignore'] });
      for (const one of JSON.parse(out).data?.results ?? JSON.parse(out).data ?? JSON.parse(out)) { const b = one.result ?? one.data ?? {}; boxes.push([b.x, b.y, b.width, b.height]); }
    }
    const found = await match(counted, async (cdp, doc) => (await cdp.send('Runtime.callFunctionOn', { objectId: doc, functionDeclaration: AT, arguments: [{ value: boxes }] })).result.objectId);
    return { found, listed: refs.length, ms };
  } finally {
    try { tool('close'); } catch { /* it was not connected */ }
  }
}

async function mcp(port, counted, url) {
  const browser = await peerChromium.connectOverCDP(`http://127.0.0.1:${port}`);
  try {
    const page = browser.contexts().flatMap((context) => context.pages()).find((one) => one.url() === url);
    const began = performance.now();
    const text = page._snapshotForAI ? (await page._snapshotForAI()).full ?? await page._snapshotForAI() : await page.ariaSnapshot({ mode: 'ai' });
    const ms = performance.now() - began;
    // A ref on which an agent would act: interactive role, or a cursor that says so.
    const refs = [...String(text).matchAll(/^\s*- '?(?:'?)([a-z]+)\b.*?\[ref=((?:f\d+)?e\d+)\](.*)$/gm)]
      .filter(([, role, , rest]) => /^(button|link|textbox|searchbox|checkbox|radio|combobox|listbox|menuitem|menuitemcheckbox|menuitemradio|tab|treeitem|slider|spinbutton|switch|option)$/.test(role) || rest.includes('[cursor=pointer]'))
      .map(([, , ref]) => ref);
    for (const [index, ref] of refs.entries()) await page.locator(`aria-ref=${ref}`).evaluate((e, i) => { (e.ownerDocument.defaultView.top.__refs ??= [])[i] = e; }, index).catch(() => {});
    const found = await match(counted, async (cdp) => (await cdp.send('Runtime.evaluate', { expression: 'Array.from(window.__refs ?? [], (e) => e ?? null)' })).result.objectId);
    return { found, listed: refs.length, ms };
  } finally {
    await browser.close();
  }
}

/** What random clicks touch in so many milliseconds; navigations are stopped, which its users do as well. */
async function gremlins(page, counted, duration) {
  await page.route('**/*', (route) => (route.request().isNavigationRequest() && route.request().frame() === page.mainFrame() ? route.fulfill({ status: 204 }) : route.continue()));
  const touched = new Set();
  await page.exposeFunction('__touch', (index) => { touched.add(index); });
  for (const [index, objectId] of counted.objects.entries()) {
    await counted.cdp.send('Runtime.callFunctionOn', { objectId, functionDeclaration: 'function (index) { this.__item = index; }', arguments: [{ value: index }] });
  }
  await page.evaluate(() => {
    const told = new Set();
    // The innermost item on the event's way is what was touched.
    const hear = (event) => {
      const item = event.composedPath().find((e) => e.__item !== undefined)?.__item;
      if (item !== undefined && !told.has(item)) { told.add(item); window.__touch(item); }
    };
    for (const type of ['mousedown', 'click', 'dblclick', 'focusin', 'input', 'touchstart']) addEventListener(type, hear, { capture: true, passive: true });
  });
  await page.evaluate(GREMLINS);
  await page.evaluate(() => {
    window.confirm = () => false; window.alert = () => {}; window.prompt = () => null; window.open = () => null;
    const horde = window.gremlins.createHorde({ strategies: [window.gremlins.strategies.distribution({ delay: 10, nb: 10_000_000 })], mogwais: [] });
    horde.unleash();
  }).catch(() => {});
  await sleep(duration);
  return counted.items.map((item) => (touched.has(item.index) ? [item.index, 'touched'] : [-1, '']));
}

async function measure(name, app, route, totals, details) {
  const began = performance.now();
  const run = await explore(name, app.base, [route], { wall: WALL, actions: 5000 });
  const ours = explored(run);
  const took = run.answer.routes[0].duration_ms ?? performance.now() - began;
  const port = await freePort();
  const browser = await chromium.launch({ executablePath: chrome, args: [...CHROME_FLAGS, `--remote-debugging-port=${port}`] });
  const open = async () => {
    const context = browser.contexts()[0] ?? await browser.newContext({ viewport: VIEW });
    return context.newPage();
  };
  try {
    // Peers see the default context only, so the page is opened there.
    const over = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
    const context = over.contexts()[0];
    await context.addInitScript(REMEMBER);
    const page = await context.newPage();
    await page.setViewportSize(VIEW);
    page.on('dialog', (dialog) => dialog.dismiss().catch(() => {}));
    const login = APPS[name].login;
    if (login) {
      await page.goto(app.base + login.url);
      await page.fill(login.userField, login.user);
      await page.fill(login.passwordField, login.password);
      await page.click(login.button);
      await page.waitForLoadState();
    }
    await page.goto(app.base + route);
    await page.waitForLoadState('networkidle', { timeout: 5000 }).catch(() => {});
    await page.evaluate(async () => { for (let y = 0; y < document.documentElement.scrollHeight && y < 12 * 640; y += 640) { window.scroll(0, y); await new Promise((r) => setTimeout(r, 60)); } window.scroll(0, 0); });
    await page.waitForTimeout(1500);
    const counted = await census(page);
    const paths = [...ours.values()].map(({ frame, shadow, css }) => ({ frame, shadow, css }));
    const mine = await match(counted, async (cdp, doc) => (await cdp.send('Runtime.callFunctionOn', { objectId: doc, functionDeclaration: RESOLVE, arguments: [{ value: paths }] })).result.objectId);
    const peers = {};
    const url = page.url();
    if (PEERS.includes('mcp')) peers.mcp = await mcp(port, counted, url).catch((error) => ({ error: String(error).split('\n')[0] }));
    if (PEERS.includes('agent-browser')) peers['agent-browser'] = await agentBrowser(port, counted, url).catch((error) => ({ error: String(error).split('\n')[0] }));
    if (PEERS.includes('gremlins')) peers.gremlins = await gremlins(page, counted, Math.min(took, 60_000)).then((found) => ({ found })).catch((error) => ({ error: String(error).split('\n')[0] }));
    const list = [...ours.values()];
    const row = { route, exist: 0, acted: 0, reasons: {}, missed: [], cut: 0, mcp: 0, 'agent-browser': 0, gremlins: 0, unreachable: 0, closed: counted.closed, foreign: counted.foreign, seconds: took / 1000, listed: ours.size };
    for (const item of counted.items) {
      const [at, how] = mine[item.index];
      const fate = at >= 0 ? list[at].fate : null;
      if (item.verdict !== 'control') {
        if (/^(covered|outside)/.test(item.verdict)) row.unreachable += 1;
      } else {
        row.exist += 1;
        if (fate === null) row.missed.push(item);
        else if (fate === 'acted on' || fate === 'disabled') row.acted += 1;
        else if (/limit/.test(fate)) row.cut += 1;
        else row.reasons[fate] = (row.reasons[fate] ?? 0) + 1;
        for (const peer of Object.keys(peers)) if (peers[peer].found?.[item.index]?.[0] >= 0) row[peer] += 1;
      }
      details.push({ app: name, route, fate, how, peers: Object.fromEntries(Object.entries(peers).map(([peer, { found }]) => [peer, found?.[item.index]?.[1] || null])), ...item });
    }
    for (const [peer, { error }] of Object.entries(peers)) if (error) { row[peer] = NaN; console.error(`${name}${route}: ${peer}: ${error}`); }
    for (const item of row.missed) console.error(`${name}${route}: missed: <${item.tag}> ${item.role ?? ''} "${item.name || item.text}" ${item.kinds.join('+')} at ${item.box} ${item.id ? '#' + item.id : ''} ${item.cls ?? ''}`);
    for (const limit of run.reports[0].limits ?? []) console.error(`${name}${route}: limit: ${limit.slice(0, 160)}`);
    // What the account of the report says itself.
    const { found, acted_on, skipped, refused, disabled } = run.reports[0].coverage;
    console.error(`${name}${route}: report: found ${found}, acted on ${acted_on}, refused ${refused}, disabled ${disabled}, skipped ${JSON.stringify(skipped)}; landing: ${ours.size} elements, ${row.exist} counted, ${row.missed.length} missed, ${row.unreachable} unreachable, ${row.seconds.toFixed(0)} s`);
    totals.push({ name, ...row });
    await over.close();
  } finally {
    await browser.close();
  }
}

async function main() {
  const totals = [];
  const details = [];
  for (const name of names) {
    const app = await serve(name);
    for (const route of APPS[name].routes.slice(0, ROUTES)) {
      await measure(name, app, route, totals, details).catch((error) => { console.error(`${name}${route}: ${error.stack}`); process.exitCode = 1; });
      if (process.env.OUT) writeFileSync(process.env.OUT, JSON.stringify({ totals, details }));
    }
    await app.stop();
  }
  const percent = (part, whole) => (Number.isNaN(part) ? '-' : `${(part / whole * 100).toFixed(1)} %`);
  const line = (label, rows) => {
    const add = (get) => rows.reduce((all, row) => all + get(row), 0);
    const exist = add((row) => row.exist);
    const acted = add((row) => row.acted);
    const reasons = add((row) => Object.values(row.reasons).reduce((a, b) => a + b, 0));
    return [label, rows.length, exist, acted, reasons, add((row) => row.cut), add((row) => row.missed.length), percent(acted + reasons, exist), percent(add((row) => row.mcp), exist), percent(add((row) => row['agent-browser']), exist), percent(add((row) => row.gremlins), exist)];
  };
  const rows = names.map((name) => line(name, totals.filter((row) => row.name === name))).filter((row) => row[1]);
  table(['application', 'routes', 'exist', 'acted on', 'left out, reason', 'limit', 'missed', 'ours', '@playwright/mcp', 'agent-browser', 'gremlins.js'], [...rows, line('all', totals)]);
  const all = line('all', totals);
  console.log(`complete: ${all[7]} (goal 98 %)`);
}

await main();
