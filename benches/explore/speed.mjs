// How fast the explorer is: the same sequence of actions with a screenshot each, played by a Playwright script as somebody
// would write it by hand, in turn in the same run. The sequence is the explorer's own journal: every press, key, scroll,
// step back and navigation, the ways back and the second tries included. The script awaits what each of them brought
// (the address, what appeared, what went, the text, a dialog) by Playwright's own waiting, then that what moves has come to
// rest (finite animations, effects of jQuery), as the explorer does, and takes the same screenshots. What it would take
// without that rest, with pictures in the midst of a movement, is a column of its own.
//
//   node speed.mjs [APP...]        the last line is `explore: ratio R (goal 1.25)`
//
// What the script cannot play (a control that moved in the meantime) is taken out of both sums and counted.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, expect } from '@playwright/test';
import { APPS, CHROME_FLAGS, VIEW, chrome, element, explore, serve, sum, table } from './common.mjs';

const GOAL = 1.25;
const ACTIONS = Number(process.env.ACTIONS ?? 60);
const ROUTES = Number(process.env.ROUTES ?? 2);
const PATIENCE = 3000;
const names = process.argv.slice(2).length ? process.argv.slice(2) : ['adminlte', 'gentelella', 'django'];

/** The journal of a session as steps, each with its time in milliseconds and what it brought. */
export function steps(journal) {
  const known = new Map();
  const all = [];
  let doc = '';
  let look = null;
  let full = null;
  let pending = null;
  let current = null;
  let cost = 0;
  const begin = (step, t) => {
    if (current) { current.ours = t - current.t - cost; all.push(current); }
    cost = 0;
    current = { ...step, t, before: look };
    return current;
  };
  for (const { op, t, what, ...rest } of journal) {
    if (op === 'look') {
      for (const e of rest.elements.map(element)) known.set(`${rest.doc}#${e.uid}`, e);
      doc = rest.doc;
      look = rest;
      if (rest.elements.length) full = rest;
      cost += rest.cost ?? 0;
      if (current && !current.after) current.after = rest;
      pending = null;
      continue;
    }
    if (op === 'dialog') { if (current) current.dialogs = (current.dialogs ?? 0) + 1; continue; }
    if (op === 'looked' || op === 'session') { if (op === 'session') begin({ do: 'session' }, t); continue; }
    if (op === 'target') {
      // A page that was left and is shown again as it stood is not looked at anew: what was seen on it still holds.
      if (full && !known.has(`${doc}#${what.uid}`)) { look = full; doc = full.doc; }
      pending = { ...what, element: known.get(`${doc}#${what.uid}`) };
      // Focus, a choice, a key need no pointer and leave no other line.
      const step = begin({ do: 'miss' }, t);
      if (/^(Focus|Choose|Upload)/.test(what.action)) Object.assign(step, { do: 'target', ...pending });
      continue;
    }
    if (op === 'move') { if (pending && current.do === 'miss') Object.assign(current, { do: 'target', ...pending }); continue; }
    if (op === 'press') {
      const wasTarget = current?.do === 'target' && !current.pressed && current.element && pending;
      if (wasTarget) current.pressed = what;
      else begin({ do: 'mouse', at: what }, t);
      continue;
    }
    if (op === 'type') { if (current?.do === 'target') current.types = true; continue; }
    if (op === 'key') {
      if (current?.do === 'miss') { Object.assign(current, { do: 'key', key: what, element: pending?.element }); continue; }
      if (current?.do === 'key' && t - current.t < 2) continue;
    }
    pending = null;
    begin(op === 'goto' || op === 'back' ? { do: op, url: what } : op === 'scroll' ? { do: op, y: what } : { do: op, key: what, other: what?.other }, t);
  }
  if (current) { current.ours = 0; all.push(current); }
  // A press that is repeated at once on the same control is the second try.
  let last = null;
  for (const step of all) {
    if (step.do === 'target' && last?.do === 'target' && last.uid === step.uid && last.element === step.element) step.again = true;
    if (step.do !== 'miss') last = step;
  }
  return all;
}

/** What a script would wait for after a step. */
function result(step) {
  const { before, after } = step;
  if (!before || !after) return null;
  if (before.doc !== after.doc || before.url !== after.url) return { url: after.url, load: before.doc !== after.doc };
  const key = (e) => `${e.frame.join()}|${e.shadow.join()}|${e.css}`;
  const was = new Map(before.elements.map(element).map((e) => [key(e), e]));
  const is = new Map(after.elements.map(element).map((e) => [key(e), e]));
  const came = [...is].filter(([k]) => !was.has(k)).map(([, e]) => e);
  if (came.length) return { shows: came.at(-1) };
  const went = [...was].filter(([k]) => !is.has(k)).map(([, e]) => e);
  if (went.length) return { hides: went.at(-1) };
  if (before.text !== after.text && after.text) {
    let from = 0;
    while (from < after.text.length && before.text[from] === after.text[from]) from += 1;
    const text = after.text.slice(Math.max(0, from - 5), from + 20).trim();
    if (text && !before.text.includes(text)) return { text };
  }
  return null;
}

/** Whether nothing moves any more; runs in the page. */
const rests = () => (window.jQuery?.timers?.length ?? 0) === 0 && document.getAnimations().every((animation) => {
  const end = animation.effect?.getComputedTiming().endTime;
  return animation.playState !== 'running' || !(end < 5000);
});

const quiet = `(() => {
  // No request that changes data, as in the exploration; the login may.
  if (/login/.test(location.pathname)) return;
  const safe = (method) => /^(get|head|options)$/i.test(method ?? 'get');
  addEventListener('submit', (event) => { if (!safe(event.submitter?.formMethod || event.target.method)) event.preventDefault(); });
  const original = window.fetch;
  window.fetch = (input, init) => (safe(init?.method ?? input?.method) ? original(input, init) : Promise.reject(new TypeError('stopped')));
  const open = XMLHttpRequest.prototype.open;
  XMLHttpRequest.prototype.open = function (method, ...rest) { if (!safe(method)) throw new Error('stopped'); return open.call(this, method, ...rest); };
})();`;

/** Plays steps as a script would; milliseconds for each, none where it could not be played. */
export async function play(browser, list, app, shots, rest = true) {
  const login = APPS[app].login;
  const times = new Array(list.length).fill(null);
  const why = [];
  let context;
  let page;
  let popup = null;
  let kept = null;
  let count = 0;
  const locate = (e) => {
    let at = page;
    for (const css of e.frame) at = css.startsWith('>>') ? at.locator(css.slice(2)) : at.frameLocator(css);
    for (const css of e.shadow) at = at.locator(css);
    return at.locator(e.css).first();
  };
  const wait = async (step, had) => {
    const what = result(step);
    if (!what) return;
    if (what.url) {
      const template = new URL(what.url);
      await page.waitForURL((url) => url.pathname === template.pathname, { timeout: PATIENCE, waitUntil: what.load ? 'load' : 'commit' });
    } else if (what.shows) await expect(locate(what.shows)).toBeVisible({ timeout: PATIENCE });
    else if (what.hides && had) await expect(locate(what.hides)).toBeHidden({ timeout: PATIENCE });
    else if (what.text) await expect(page.locator('body')).toContainText(what.text, { timeout: PATIENCE, useInnerText: true });
  };
  for (const [index, step] of list.entries()) {
    const began = performance.now();
    const dialog = step.dialogs ? page.waitForEvent('dialog', { timeout: PATIENCE }) : null;
    dialog?.catch(() => {});
    try {
      if (step.do === 'session') {
        context = await browser.newContext({ viewport: VIEW });
        await context.addInitScript(quiet);
        page = await context.newPage();
        page.setDefaultTimeout(PATIENCE);
        page.on('dialog', (one) => one.dismiss().catch(() => {}));
        kept = null;
      } else if (step.do === 'goto') {
        await page.goto(step.url, { timeout: 10000 });
        kept ??= await page.evaluate(() => ({ local: Object.entries(localStorage), session: Object.entries(sessionStorage) }));
      } else if (step.do === 'back') await page.goBack({ timeout: 10000, waitUntil: 'commit' });
      else if (step.do === 'scroll') await page.evaluate((y) => window.scroll({ top: y, behavior: 'instant' }), step.y);
      else if (step.do === 'key') {
        if (step.element) await locate(step.element).press(step.key);
        else await page.keyboard.press(step.key);
        await wait(step, false);
      } else if (step.do === 'mouse') {
        await page.mouse.click(...step.at);
        await wait(step, false);
      } else if (step.do === 'storage') {
        // What stood there after the first page had come; the journal does not tell of it.
        await page.evaluate((kept) => {
          for (const [name, store] of [['local', localStorage], ['session', sessionStorage]]) {
            const items = kept?.[name];
            if (!items) continue;
            store.clear();
            for (const [key, value] of items) store.setItem(key, value);
          }
        }, kept);
      } else if (step.do === 'target') {
        const target = locate(step.element);
        const opens = list.slice(index + 1, index + 3).some((next) => next.do === 'shot' && next.other);
        const coming = opens ? page.waitForEvent('popup', { timeout: PATIENCE }) : null;
        coming?.catch(() => {});
        if (step.types) await target.fill(step.element.css === login?.passwordField ? login.password : login?.user ?? '');
        else if (step.action === 'Hover') await target.hover();
        else if (step.action === 'Focus') await target.focus();
        else if (step.action.startsWith('Choose(')) await target.selectOption(JSON.parse(step.action.slice(7, -1)));
        else if (/Twice/.test(step.action)) await target.dblclick();
        else if (/Right/.test(step.action)) await target.click({ button: 'right' });
        else if (/Held/.test(step.action)) await target.click({ delay: 700 });
        else await target.click();
        if (coming) { popup = await coming; await popup.waitForLoadState(); }
        await wait(step, true);
      } else if (step.do === 'shot') {
        count += 1;
        await (step.other && popup ? popup : page).screenshot({ path: join(shots, `${count}.png`), timeout: 15000 });
      } else if (step.do === 'close window') {
        await popup?.close();
        popup = null;
      } else if (step.do === 'end') await context.close();
      else continue;
      await dialog;
      if (rest && ['goto', 'back', 'key', 'mouse', 'target'].includes(step.do)) await page.waitForFunction(rests, null, { timeout: PATIENCE, polling: 16 });
      times[index] = performance.now() - began;
    } catch (error) {
      why.push(`${step.do} ${step.action ?? ''} ${step.element?.css ?? step.url ?? ''}: ${String(error).split('\n')[0]}`);
      // Goes on as well as it can.
      if (step.do === 'target' && step.pressed) await page.mouse.click(...step.pressed).catch(() => {});
    }
  }
  return { times, why };
}

async function main() {
  const browser = await chromium.launch({ executablePath: chrome, args: CHROME_FLAGS, ignoreDefaultArgs: ['--disable-back-forward-cache'] });
  const shots = mkdtempSync(join(tmpdir(), 'explore-shots-'));
  const rows = [];
  const ratios = [];
  for (const name of names) {
    const app = await serve(name);
    const total = { ours: 0, theirs: 0, strictOurs: 0, strictTheirs: 0, acts: 0, shots: 0, missed: 0, steps: 0, again: 0, wall: 0, hasty: 0, oursHasty: 0 };
    for (const route of APPS[name].routes.slice(0, ROUTES)) {
      const { sessions, answer } = await explore(name, app.base, [route], { actions: ACTIONS });
      const list = steps(sessions[0]);
      const { times, why } = await play(browser, list, name, shots);
      const { times: hasty } = await play(browser, list, name, shots, false);
      if (process.env.VERBOSE) for (const line of why) console.error(`${name}${route}: ${line}`);
      for (const [index, step] of list.entries()) {
        total.wall += step.ours;
        if (step.do === 'target') total.acts += 1;
        if (step.do === 'shot') total.shots += 1;
        if (step.again) total.again += 1;
        // An attempt that reached nothing is ours alone.
        if (step.do === 'session' || step.do === 'end') continue;
        if (step.do === 'miss') { total.ours += step.ours; continue; }
        if (hasty[index] !== null) { total.oursHasty += step.ours; total.hasty += hasty[index]; }
        total.steps += 1;
        if (times[index] === null) { total.missed += 1; continue; }
        total.ours += step.ours;
        total.theirs += times[index];
        if (process.env.STEPS) console.error(`${step.ours.toFixed(0).padStart(6)} ${times[index].toFixed(0).padStart(6)}  ${step.do}${step.again ? ' again' : ''} ${step.action ?? ''} ${step.element?.name ?? step.url ?? step.key ?? ''}`);
        if (step.again) total.strictTheirs -= times[index];
      }
      console.error(`${name}${route}: ${answer.routes[0].coverage.acted_on} elements acted on, ${list.length} steps`);
    }
    await app.stop();
    const ratio = total.ours / total.theirs;
    ratios.push(ratio);
    const rate = (ms, acts) => (acts / ms * 60000).toFixed(0);
    rows.push([name, total.acts, total.shots, total.steps, total.missed, (total.ours / 1000).toFixed(1), (total.theirs / 1000).toFixed(1), ratio.toFixed(2),
      (total.ours / (total.theirs + total.strictTheirs)).toFixed(2), (total.oursHasty / total.hasty).toFixed(2), rate(total.wall, total.acts), rate(total.theirs + 2000 * total.acts, total.acts)]);
  }
  await browser.close();
  rmSync(shots, { recursive: true, force: true });
  table(['application', 'acts', 'shots', 'steps', 'not played', 'ours s', 'Playwright s', 'ratio', 'no 2nd tries', 'no rest', 'acts/min', '2 s waits'], rows);
  console.log('ratio: all that the explorer did, beside the script; no 2nd tries: the script does not press twice what stays silent; no rest: it does not wait until what moves has come to rest.');
  console.log('acts/min: presses of the explorer in a minute; 2 s waits: the script, with a fixed wait of 2 s after each press');
  console.log(`explore: ratio ${(sum(ratios) / ratios.length).toFixed(2)} (goal ${GOAL})`);
}

if (process.argv[1].endsWith('speed.mjs')) await main();
