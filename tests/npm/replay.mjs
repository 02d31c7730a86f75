// Plays recordings with the library that Chrome's DevTools replay them with, each in a fresh browser context that is
// logged in, and prints one JSON object: file -> "passed", or what failed.
//
//   node replay.mjs CHROME LOGIN-URL FILE...      (AGENT_TEST_USERNAME, AGENT_TEST_PASSWORD)
import { readFileSync } from 'node:fs';
import { PuppeteerRunnerExtension, createRunner, parse } from '@puppeteer/replay';
import puppeteer from 'puppeteer-core';

const [executablePath, login, ...files] = process.argv.slice(2);
const outcomes = {};

async function play(file) {
  const flow = parse(JSON.parse(readFileSync(file, 'utf8')));
  // A page that hangs answers nothing, and takes its browser along.
  const browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox'], protocolTimeout: 15_000 });
  try {
    const [page] = await browser.pages();
    await page.goto(login);
    await page.type('input[name=username], input[type=text]', process.env.AGENT_TEST_USERNAME);
    await page.type('input[type=password]', process.env.AGENT_TEST_PASSWORD);
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    let step = 'before the first step';
    class Extension extends PuppeteerRunnerExtension {
      async beforeEachStep(now) {
        step = `${now.type} ${now.url ?? now.expression ?? JSON.stringify(now.selectors ?? '')}`.slice(0, 200);
      }
    }
    try {
      await (await createRunner(flow, new Extension(browser, page))).run();
      return 'passed';
    } catch (error) {
      const last = flow.steps.at(-1);
      const atEnd = last.type === 'waitForExpression' && step.startsWith('waitForExpression') && last.expression.startsWith(step.slice(18, 190));
      return `${atEnd ? 'check' : 'step'}: ${String(error).split('\n')[0]} (${step})`;
    }
  } finally {
    browser.process()?.kill('SIGKILL');
    await browser.close().catch(() => undefined);
  }
}

const queue = [...files];
await Promise.all([0, 1].map(async () => {
  for (let file = queue.shift(); file; file = queue.shift()) {
    outcomes[file.split('/').pop()] = await play(file).catch((error) => `failed to start: ${error}`);
  }
}));
console.log(JSON.stringify(outcomes, null, 1));
process.exit(0);
