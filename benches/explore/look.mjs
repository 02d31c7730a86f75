// What a look costs at 5,000 and at 20,000 elements, a tenth of them controls with listeners: the explorer's (round trip
// and parsing included; names and roles timed apart), `agent-browser snapshot -i`, and Playwright's aria snapshot, on the
// same pages in the same run.
//
//   node look.mjs [ELEMENTS...]      the last line is `look: A ms, B ms (goal 60, 300)`
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { chromium } from '@playwright/test';
import { CHROME_FLAGS, VIEW, chrome, explore, freePort, median, table } from './common.mjs';

const require = createRequire(import.meta.url);
const TIMES = Number(process.env.TIMES ?? 7);
const sizes = process.argv.slice(2).map(Number);
if (!sizes.length) sizes.push(5000, 20000);

/** Rows of ten elements, one of them a control. */
export function page(elements) {
  const rows = Array.from({ length: Math.round(elements / 10) }, (_, n) => `<section class="row" id="r${n}"><h3>Row ${n}</h3><p>Some <b>text</b> of <i>row</i> ${n}</p><ul><li>one</li><li>two</li></ul>${n % 3 ? `<button class="act">Do ${n}</button>` : `<a href="#r${n}">Go to ${n}</a>`}<span>end</span></section>`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${elements} elements</title><h1>Look</h1><main>${rows.join('\n')}</main><script>for (const b of document.querySelectorAll('.act')) b.addEventListener('click', () => { b.classList.toggle('on'); });</script></html>`;
}

const server = createServer((request, answer) => {
  answer.setHeader('content-type', 'text/html');
  answer.end(request.url === '/favicon.ico' ? '' : page(Number(request.url.slice(1))));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${server.address().port}`;
const rows = [];
const ours = [];
for (const size of sizes) {
  const { sessions } = await explore('look', base, [`/${size}`], { actions: TIMES });
  const looks = sessions.flat().filter((entry) => entry.op === 'look');
  // The first one asks for all names.
  const later = looks.slice(1).map((entry) => entry.took);
  const first = looks[0];
  const port = await freePort();
  const browser = await chromium.launch({ executablePath: chrome, args: [...CHROME_FLAGS, `--remote-debugging-port=${port}`] });
  const over = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  const tab = await over.contexts()[0].newPage();
  await tab.setViewportSize(VIEW);
  await tab.goto(`${base}/${size}`);
  const nodes = await tab.evaluate(() => document.querySelectorAll('*').length);
  const aria = [];
  for (let i = 0; i < TIMES; i += 1) { const began = performance.now(); await tab.locator('body').ariaSnapshot(); aria.push(performance.now() - began); }
  const tool = (...args) => execFileSync(require.resolve('agent-browser/package.json').replace('package.json', 'bin/agent-browser.js'), ['--session', `look-${port}`, '--cdp', String(port), ...args], { encoding: 'utf8', timeout: 60000, maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'ignore'] });
  const agent = [];
  let start = NaN;
  try {
    const tabs = JSON.parse(tool('tab', '--json')).data.tabs ?? [];
    const mine = tabs.find((one) => one.url.endsWith(`/${size}`));
    if (mine && !mine.active) tool('tab', String(mine.tabId ?? mine.index));
    // Starting its command-line program is not the look.
    const starts = [];
    for (let i = 0; i < TIMES; i += 1) { const began = performance.now(); tool('get', 'title'); starts.push(performance.now() - began); }
    start = median(starts);
    for (let i = 0; i < TIMES; i += 1) { const began = performance.now(); tool('snapshot', '-i'); agent.push(performance.now() - began); }
  } catch (error) {
    console.error(`agent-browser: ${String(error).split('\n')[0]}`);
  }
  try { tool('close'); } catch { /* it was not connected */ }
  await over.close();
  await browser.close();
  const look = median(later);
  ours.push(look);
  rows.push([nodes, first.elements.length, look.toFixed(0), (first.took - first.names).toFixed(0), first.names.toFixed(0), (median(agent) - start).toFixed(0), start.toFixed(0), median(aria).toFixed(0)]);
}
server.close();
table(['elements', 'controls', 'look ms', 'first look ms', 'its names ms', 'agent-browser ms', 'its start ms', 'Playwright aria ms'], rows);
console.log(`look: ${ours.map((ms) => ms.toFixed(0)).join(' ms, ')} ms (goal 60, 300)`);
