// The same steps as a replay's, as somebody would write them by hand with Playwright: a fresh context each time, every step
// waits for what it brings, and fails when the page throws, the server answers 5xx or the control is disabled.
//
//   node bench.mjs CHROME      (a trace on each line of stdin; milliseconds on stdout)
import { createInterface } from 'node:readline';
import { chromium, expect } from '@playwright/test';

const browser = await chromium.launch({ executablePath: process.argv[2], args: ['--no-sandbox'] });

async function play(trace) {
  const began = performance.now();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const failures = [];
  page.on('pageerror', (error) => failures.push(String(error)));
  page.on('response', (response) => { if (response.status() >= 500) failures.push(`${response.status()} ${response.url()}`); });
  const ready = performance.now();
  for (const step of trace) {
    if (step.tool === 'goto') {
      const answer = await page.goto(step.value);
      if (answer.status() >= 400) failures.push(`${answer.status()} ${step.value}`);
    } else {
      const target = page.getByRole(step.locator.role, { name: step.locator.name, exact: true });
      await expect(target).toBeEnabled();
      await target.click();
    }
    await expect(page.locator('#out')).toHaveText(step.observation);
    if (failures.length) throw new Error(failures.join('; '));
  }
  const done = performance.now();
  await context.close();
  return { steps: done - ready, context: ready - began + performance.now() - done };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await play(JSON.parse(line)).catch((error) => ({ error: String(error) }))));
}
await browser.close();
