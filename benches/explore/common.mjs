// What the benchmarks of the explorer share: applications that are served, the explorer run over their routes with its
// journal, a browser for the others.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, '../..');
export const binary = process.env.AGENT_TEST_BIN ?? join(root, 'target/debug/agent-test');
export const VIEW = { width: 1280, height: 800 };

/** Applications that nobody here wrote, and the routes of each that are measured. */
export const APPS = {
  adminlte: { routes: ['/pages/UI/modals.html', '/pages/forms/general.html', '/pages/tables/data.html', '/pages/kanban.html'] },
  gentelella: { routes: ['/production/form_wizards.html', '/production/notifications.html', '/production/inbox.html', '/production/orders.html'] },
  django: {
    routes: ['/admin/', '/admin/shop/product/', '/admin/shop/product/add/', '/admin/shop/order/1/change/'],
    login: { url: '/admin/login/', user: 'admin', password: 'admin-pass-1', userField: '#id_username', passwordField: '#id_password', button: 'input[type=submit]' },
  },
  swagger: { routes: ['/index.html'] },
  rapidoc: { routes: ['/index.html'] },
  glances: { routes: ['/'] },
};

export const chrome = [process.env.AGENT_TEST_CHROME, '/usr/lib/chromium/chromium', '/usr/bin/chromium', '/usr/bin/chromium-browser',
  '/opt/google/chrome/chrome', '/usr/bin/google-chrome', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']
  .find((path) => path && existsSync(path));
export const CHROME_FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--force-color-profile=srgb'];

export const freePort = () => new Promise((resolve) => {
  const server = createServer();
  server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
});
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const children = new Set();
process.on('exit', () => { for (const child of children) child.kill('SIGKILL'); });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

/** Serves an application; gives back its address and how to stop it. */
export async function serve(name) {
  const port = await freePort();
  const script = join(root, 'benches/apps/serve.sh');
  execFileSync(script, [name, String(port), '--install'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const child = spawn(script, [name, String(port)], { stdio: 'ignore' });
  children.add(child);
  const ended = new Promise((resolve) => child.on('exit', () => { children.delete(child); resolve(); }));
  const base = `http://127.0.0.1:${port}`;
  for (let i = 0; ; i += 1) {
    const answer = await fetch(base, { redirect: 'manual' }).catch(() => null);
    if (answer && answer.status < 500) break;
    if (child.exitCode !== null || i > 300) throw new Error(`${name} does not start`);
    await sleep(200);
  }
  return { base, stop: async () => { child.kill('SIGTERM'); await ended; } };
}

/** Runs the explorer over routes. Gives back its answer, its reports, its journal for each route, its peak memory in MB. */
export async function explore(name, base, routes, { actions = 500, wall = 600, journal = true } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'explore-bench-'));
  const login = APPS[name]?.login;
  const lines = [`base_url = "${base}"`, '[limits]', `actions = ${actions}`, `wall_time_s = ${wall}`];
  if (login) lines.push('[login]', `url = "${login.url}"`);
  writeFileSync(join(dir, 'agent-test.toml'), lines.join('\n') + '\n');
  const env = { ...process.env, AGENT_TEST_USERNAME: login?.user ?? '', AGENT_TEST_PASSWORD: login?.password ?? '' };
  if (journal) env.AGENT_TEST_LOG = 'journal=trace';
  const began = performance.now();
  const child = spawn(binary, ['explore', ...routes, '--no-confirm', '--json', '--project-dir', dir], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let peak = 0;
  const watch = setInterval(() => {
    try { peak = Math.max(peak, Number(readFileSync(`/proc/${child.pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024); } catch { /* it ended */ }
  }, 50);
  const sessions = [];
  const talk = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    const at = line.indexOf(' journal: {');
    if (at < 0) { talk.push(line); return; }
    const entry = JSON.parse(line.slice(at + 10));
    if (entry.op === 'session') sessions.push([]);
    sessions.at(-1)?.push(entry);
  });
  let out = '';
  child.stdout.on('data', (data) => { out += data; });
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearInterval(watch);
  children.delete(child);
  let answer;
  try { answer = JSON.parse(out); } catch { throw new Error(`the explorer ended with ${code}: ${talk.slice(-5).join('\n')}`); }
  if (answer.error) throw new Error(answer.error.message);
  const reports = answer.routes.map((route) => JSON.parse(readFileSync(join(dir, route.report), 'utf8')));
  rmSync(dir, { recursive: true, force: true });
  return { answer, reports, sessions, peak, wall: performance.now() - began };
}

/** Names of the parts of an element of a journalled look. */
export const element = ([uid, css, shadow, frame, tag, why, role, name, box, disabled]) => ({ uid, css, shadow, frame, tag, why, role, name, box, disabled });
export const keyOf = ({ css, shadow, frame }) => [...(frame ?? []), '|', ...(shadow ?? []), '|', css].join(' ');

export const sum = (list) => list.reduce((a, b) => a + b, 0);
export const median = (list) => { const all = [...list].sort((a, b) => a - b); return all[Math.floor(all.length / 2)] ?? NaN; };

/** Prints a table; the first column on the left, the others on the right. */
export function table(head, rows) {
  const all = [head, ...rows].map((row) => row.map(String));
  const width = head.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  for (const row of all) console.log(row.map((cell, column) => (column ? cell.padStart(width[column]) : cell.padEnd(width[column]))).join('  '));
}
