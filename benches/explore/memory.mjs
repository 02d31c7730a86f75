// What the explorer itself takes: peak memory of its process at a route of 2,000 nodes (the browser aside), routes a
// minute with 1, 2 and 4 workers, and what is left behind after a hundred routes (processes, profiles).
//
//   node memory.mjs      the last line is `memory: M MB (goal 60), left behind: N`
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, explore, sleep, table } from './common.mjs';

const ROUTES = Number(process.env.ROUTES ?? 100);
const big = () => `<!doctype html><title>2,000 nodes</title><h1>Nodes</h1>${Array.from({ length: 400 }, (_, n) => `<div><p><b>Part</b> ${n}</p><button onclick="this.title='${n}'">Part ${String.fromCharCode(97 + n % 26).repeat(1 + n % 7)} ${n}</button><a href="#${n}">${n}</a></div>`).join('')}`;
const small = (n) => `<!doctype html><title>Page ${n}</title><h1>Page ${n}</h1><button onclick="out.textContent='one'">One</button><button onclick="fetch('/api').then((a) => a.text()).then((t) => { out.textContent = t; })">Ask</button><button onclick="d.showModal()">Open</button><dialog id=d><p>Dialog</p><button onclick="d.close()">Close</button></dialog><input placeholder=Name><p id=out></p>`;
const server = createServer((request, answer) => {
  answer.setHeader('content-type', 'text/html');
  answer.end(request.url === '/api' ? 'answer' : request.url === '/big' ? big() : small(request.url.slice(2)));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${server.address().port}`;

const { peak, reports } = await explore('memory', base, ['/big'], { journal: false });
const count = reports[0].coverage;
console.log(`a route of 2,000 nodes, ${count.found} elements, ${count.acted_on} acted on: peak ${peak.toFixed(0)} MB (resident)`);

/** Descendants of a process that have ended and were not waited for. */
function zombies(parent) {
  const all = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).flatMap((pid) => {
    try { const [, , state, ppid] = readFileSync(`/proc/${pid}/stat`, 'latin1').match(/^(\d+) \(.*\) (\S) (\d+)/); return [{ pid: Number(pid), state, ppid: Number(ppid) }]; } catch { return []; }
  });
  const tree = new Set([parent]);
  for (let grown = true; grown;) { grown = false; for (const { pid, ppid } of all) if (tree.has(ppid) && !tree.has(pid)) { tree.add(pid); grown = true; } }
  return all.filter(({ pid, state }) => state === 'Z' && tree.has(pid)).length;
}

/** Runs the program; its peak memory in MB, and how many zombies it had when it was last looked at. */
function run(home, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { env: { ...process.env, TMPDIR: home }, stdio: ['ignore', 'ignore', 'pipe'] });
    let peak = 0;
    let dead = 0;
    const watch = setInterval(() => {
      try { peak = Math.max(peak, Number(readFileSync(`/proc/${child.pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024); dead = zombies(child.pid); } catch { /* it ended */ }
    }, 500);
    let text = '';
    child.stderr.on('data', (data) => { text += data; });
    child.on('close', (code) => { clearInterval(watch); if (code > 1) reject(new Error(`${args.join(' ')} ended with ${code}: ${text.slice(-500)}`)); else resolve({ peak, dead }); });
  });
}

/** A campaign over so many small routes, its temporary files in a place of its own: seconds of `run`, and what stays. */
async function campaign(routes, workers) {
  const dir = mkdtempSync(join(tmpdir(), 'explore-memory-'));
  const home = mkdtempSync(join(tmpdir(), 'explore-home-'));
  writeFileSync(join(dir, 'routes.txt'), Array.from({ length: routes }, (_, n) => `/p${n}`).join('\n') + '\n');
  await run(home, 'discover', '--from-list', join(dir, 'routes.txt'), '--project-dir', dir);
  await run(home, 'init', '--base-url', base, '--all', '--project-dir', dir);
  const began = performance.now();
  const { peak, dead } = await run(home, 'run', '--workers', String(workers), '--project-dir', dir);
  const seconds = (performance.now() - began) / 1000;
  await sleep(1000);
  const running = readdirSync('/proc').filter((pid) => { try { return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(home); } catch { return false; } });
  const files = readdirSync(home, { recursive: true }).filter((name) => /profile-|browser-/.test(name));
  for (const place of [dir, home]) rmSync(place, { recursive: true, force: true });
  return { seconds, peak, dead, stay: [...running, ...files] };
}

const rows = [];
const few = Number(process.env.FEW ?? 12);
for (const workers of [1, 2, 4]) {
  const { seconds, peak: most } = await campaign(few, workers);
  rows.push([workers, seconds.toFixed(1), (few / seconds * 60).toFixed(0), most.toFixed(0)]);
}
table(['workers', `s for ${few} routes`, 'routes/min', 'peak MB'], rows);
const { seconds, peak: most, dead, stay } = await campaign(ROUTES, 2);
server.close();
console.log(`${ROUTES} routes with 2 workers: ${seconds.toFixed(0)} s, peak ${most.toFixed(0)} MB, ${dead} zombies at the end`);
if (stay.length) console.log(`left behind: ${stay.join(' ')}`);
console.log(`memory: ${peak.toFixed(0)} MB (goal 60), left behind: ${stay.length}`);
