// What the explorer itself takes: peak memory of its process at a route of 2,000 nodes (the browser aside), routes a
// minute with 1, 2 and 4 workers, and what is left behind after a hundred routes (processes, profiles).
//
//   node memory.mjs      the last line is `memory: M MB (goal 60), left behind: N`
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, explore, table } from './common.mjs';

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
console.log(`a route of 2,000 nodes, ${count.found} elements, ${count.acted_on} acted on: peak ${peak.toFixed(0)} MB (resident, development profile)`);

const run = (...args) => new Promise((resolve, reject) => {
  const child = spawnAsync(args);
  child.then(resolve, reject);
});
import { spawn } from 'node:child_process';
function spawnAsync(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let peakOf = 0;
    const watch = setInterval(() => { try { peakOf = Math.max(peakOf, Number(readFileSync(`/proc/${child.pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024); } catch { /* it ended */ } }, 100);
    let text = '';
    child.stderr.on('data', (data) => { text += data; });
    child.on('close', (code) => { clearInterval(watch); if (code > 1) reject(new Error(`${args.join(' ')} ended with ${code}: ${text.slice(-500)}`)); else resolve(peakOf); });
  });
}

/** A campaign over so many small routes; seconds of its `run`. */
async function campaign(routes, workers) {
  const dir = mkdtempSync(join(tmpdir(), 'explore-memory-'));
  writeFileSync(join(dir, 'routes.txt'), Array.from({ length: routes }, (_, n) => `/p${n}`).join('\n') + '\n');
  execFileSync(binary, ['discover', '--from-list', join(dir, 'routes.txt'), '--project-dir', dir], { stdio: 'ignore' });
  await run('init', '--base-url', base, '--all', '--project-dir', dir);
  const began = performance.now();
  const most = await run('run', '--workers', String(workers), '--project-dir', dir);
  const seconds = (performance.now() - began) / 1000;
  const state = JSON.parse(readFileSync(join(dir, '.monkey-test-state.json'), 'utf8'));
  rmSync(dir, { recursive: true, force: true });
  return { seconds, most, state };
}

/** Processes of browsers and drivers that run, and profiles that lie about. */
function left() {
  const processes = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try { return /agent-test-[^ ]*profile|user-data-dir=[^ ]*agent-test/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')); } catch { return false; }
  });
  return new Set(processes);
}
const zombies = () => Number(spawnSync('sh', ['-c', `ps -o stat= --ppid ${process.pid} | grep -c Z`], { encoding: 'utf8' }).stdout.trim() || 0);
const profiles = () => { const home = [process.env.XDG_RUNTIME_DIR && join(process.env.XDG_RUNTIME_DIR, 'agent-test'), join(tmpdir(), `agent-test-${process.getuid()}`)].filter(Boolean); return new Set(home.flatMap((dir) => { try { return readdirSync(dir).map((name) => join(dir, name)); } catch { return []; } })); };

const rows = [];
const few = Number(process.env.FEW ?? 12);
for (const workers of [1, 2, 4]) {
  const { seconds, most } = await campaign(few, workers);
  rows.push([workers, seconds.toFixed(1), (few / seconds * 60).toFixed(0), most.toFixed(0)]);
}
table(['workers', `s for ${few} routes`, 'routes/min', 'peak MB'], rows);
const before = { processes: left(), profiles: profiles() };
const { seconds, most } = await campaign(ROUTES, 2);
await new Promise((resolve) => setTimeout(resolve, 2000));
const stay = [...[...left()].filter((pid) => !before.processes.has(pid)), ...[...profiles()].filter((dir) => !before.profiles.has(dir))];
server.close();
console.log(`${ROUTES} routes with 2 workers: ${seconds.toFixed(0)} s, peak ${most.toFixed(0)} MB, ${zombies()} zombies`);
if (stay.length) console.log(`left behind: ${stay.join(' ')}`);
console.log(`memory: ${peak.toFixed(0)} MB (goal 60), left behind: ${stay.length}`);
process.exit(0);
