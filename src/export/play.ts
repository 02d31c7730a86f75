// ---------------------------------------------------------------------------------------------------------------------
// Below: how the steps are played and what counts as a fault. The same in every exported spec,
// but for the rules that only some kinds of bugs need.
// ---------------------------------------------------------------------------------------------------------------------

/** A fault: what `agent-test` calls a bug, by kind, class of the error and what exactly failed. */
type Finding = { kind: string; signal: string; detail: string; text?: string };
type Seen = {
  request: Request; method: string; url: string; type: string; top: boolean;
  status?: number; error?: string; refused?: string; done: boolean;
};
type Options = { value?: string | string[]; nth?: number; destructive?: boolean };
type Doing = 'click' | 'dblclick' | 'right_click' | 'hold' | 'press' | 'fill' | 'hover' | 'focus' | 'select' | 'upload';

/** A target may appear this late, and a screen may take this long to be still; milliseconds. */
const PATIENCE = 5_000;
const SETTLE = 5_000;
/** A page that does not answer for so long hangs; milliseconds. */
const HUNG = 10_000;

/** An address of the application, wherever it is served: `BASE_URL` may name another host, port or path. */
function at(path: string): string {
  return new URL(BASE.replace(/\/$/, '') + path).href;
}

class Play {
  private seen: Seen[] = [];
  private notes: string[] = [];
  private findings: Finding[] = [];
  private waiting: Array<() => void> = [];
  private mode: 'load' | 'login' | 'act' = 'load';
  private destructive = false;
  private shown = false;
  private last: { findings: Finding[]; refused?: Seen } | undefined;
  private tally = '';

  private constructor(private page: Page, private context: BrowserContext) {}

  static async begin(page: Page): Promise<Play> {
    const play = new Play(page, page.context());
    await play.context.addInitScript(watchPage);
    await play.context.route('**/*', (route) => play.guard(route));
    play.context.on('request', (request) => play.began(request));
    play.context.on('response', (response) => {
      const seen = play.of(response.request());
      seen.status = response.status();
      if (seen.top) play.shown = true;
    });
    play.context.on('requestfinished', (request) => play.ended(play.of(request)));
    play.context.on('requestfailed', (request) => {
      const seen = play.of(request);
      seen.error = request.failure()?.errorText ?? 'failed';
      play.ended(seen);
    });
    play.context.on('page', (opened) => play.attend(opened));
    play.attend(page);
    return play;
  }

  /** The window with this number; 0 is the first. */
  async window(number: number): Promise<Page> {
    const end = Date.now() + PATIENCE;
    while (!this.context.pages()[number] && Date.now() < end) {
      await this.context.waitForEvent('page', { timeout: end - Date.now() }).catch(() => null);
    }
    const page = this.context.pages()[number];
    if (!page) throw new Error(`not reached: the window ${number} did not open`);
    this.page = page;
    return page;
  }

  /** Opens the first page, logged in where that is needed. */
  async open(step: number, url: string): Promise<void> {
    if (LOGIN.url && process.env[LOGIN.password]) {
      await this.goto(step, at(LOGIN.url));
      if (await this.passwords()) await this.logIn(step);
    }
    let mark = this.mark();
    await this.goto(step, url);
    if ((await this.passwords()) === 1 && (!samePage(this.page.url(), url) || isLogin(this.page.url())) && process.env[LOGIN.password]) {
      await this.logIn(step);
      mark = this.mark();
      await this.goto(step, url);
    }
    await this.judge(step, mark, null, true);
    this.isThePage(step, url, await this.screen());
  }

  /** Opens another address. */
  async visit(step: number, url: string): Promise<void> {
    const before = await this.screen();
    const mark = this.mark();
    await this.goto(step, url);
    await this.judge(step, mark, before);
  }

  /**
   * Does something to the one visible element that a locator finds: the first locator that finds exactly one is taken,
   * and of several alike the one that stands where the last locator points.
   */
  async act(step: number, doing: Doing, what: string, ways: Locator[], options: Options = {}): Promise<void> {
    const before = await this.screen();
    const target = await this.find(step, what, ways, options.nth);
    if (!target) return; // left out, as in the recording
    if (doing !== 'hover' && !(await this.enabled(target))) {
      await this.judge(step, this.mark(), before, false, [{ kind: 'disabled_control', signal: 'not-enabled', detail: '', text: `${what} is disabled` }]);
      return;
    }
    const limit = { timeout: PATIENCE };
    let mark = this.mark();
    try {
      if (!['focus', 'press', 'upload'].includes(doing)) await target.hover(limit);
      this.tally = await this.count();
      mark = this.mark();
      this.mode = 'act';
      this.destructive = options.destructive ?? false;
      this.shown = false;
      const value = options.value ?? '';
      if (doing === 'click') await target.click(limit);
      else if (doing === 'dblclick') await target.dblclick(limit);
      else if (doing === 'right_click') await target.click({ ...limit, button: 'right' });
      else if (doing === 'hold') await target.click({ ...limit, delay: 700 });
      else if (doing === 'press') await target.press(String(value), limit);
      else if (doing === 'fill') await target.fill(String(value), limit);
      else if (doing === 'focus') await target.focus(limit);
      else if (doing === 'upload') await target.setInputFiles(value, limit);
      else if (doing === 'select') await target.selectOption({ label: String(value) }, { timeout: 1_000 }).catch(() => target.selectOption(value, limit));
    } catch (error) {
      // A page that hangs or crashes under the action is what the action shows.
      if (!(await this.hangs()) && !this.findings.slice(mark.findings).some((finding) => finding.kind === 'crash')) {
        throw new Error(`not reached: step ${step}: ${what}: ${String(error)}`);
      }
    }
    await this.settle(mark);
    await this.judge(step, mark, before);
  }

  async press(step: number, key: string): Promise<void> {
    const before = await this.screen();
    this.tally = await this.count();
    const mark = this.mark();
    this.mode = 'act';
    this.destructive = this.shown = false;
    await this.page.keyboard.press(key);
    await this.settle(mark);
    await this.judge(step, mark, before);
  }

  async back(step: number): Promise<void> {
    const before = await this.screen();
    const mark = this.mark();
    this.mode = 'load';
    await this.page.goBack({ timeout: SETTLE * 2 }).catch((error) => { throw new Error(`not reached: step ${step}: ${String(error)}`); });
    await this.settle(mark);
    await this.judge(step, mark, before);
  }

  async scroll(step: number, y: number): Promise<void> {
    const before = await this.screen();
    const mark = this.mark();
    await this.page.evaluate((top) => window.scroll({ top, behavior: 'instant' }), y);
    await this.settle(mark);
    await this.judge(step, mark, before);
  }

  async showsText(step: number, text: string): Promise<void> {
    const before = await this.screen();
    const mark = this.mark();
    const end = Date.now() + PATIENCE;
    const holds = () => this.page.evaluate((wanted) => (document.body?.innerText ?? '').replace(/\s+/g, ' ').includes(wanted), text);
    let shown = await holds();
    while (!shown && Date.now() < end) {
      await this.change();
      shown = await holds();
    }
    const missing = { kind: 'missing_text', signal: 'text-missing', detail: plain(text), text: `the text "${text}" is not shown` };
    await this.judge(step, mark, before, false, shown ? [] : [missing]);
  }

  async still(step: number): Promise<void> {
    const before = await this.screen();
    const mark = this.mark();
    await this.settle(mark);
    await this.judge(step, mark, before);
  }

  /** Fails when the bug showed in the last step. */
  async verdict(): Promise<void> {
    const findings = this.last?.findings ?? [];
    const fired = findings.find((finding) => isBug(finding));
    const other = findings.find((finding) => MATTERS.includes(finding.kind) && !KNOWN.some((known) => known.kind === finding.kind && known.signal === finding.signal && known.detail === finding.detail));
    if (!fired && this.last?.refused) {
      const { method, url } = this.last.refused;
      throw new Error(`not reached: ${method} ${url} would change data and was stopped`);
    }
    if (!fired && other) throw new Error(`changed: the step fails in another way: [${other.kind}] ${other.text ?? other.detail}`);
    if (KNOWN_BAD) test.fail(true, 'a known bug');
    if (fired) throw new Error(`bug: [${BUG.kind}] ${BUG.title} (${fired.text ?? fired.detail})`);
  }

  // What a step showed ------------------------------------------------------------------------------------------------

  private async judge(step: number, mark: Mark, before: Screen | null, opening = false, more: Finding[] = []): Promise<void> {
    const after = await this.screen();
    const seen = this.seen.slice(mark.seen);
    const stopped = seen.some((one) => one.refused);
    const findings = [...more];
    for (const one of seen) if (!one.refused) findings.push(...judgeRequest(one));
    for (const finding of this.findings.slice(mark.findings)) {
      // What a page does about a request that was stopped here is no fault of its own.
      if (!(stopped && (finding.kind === 'exception' || finding.kind === 'error_message'))) findings.push(finding);
    }
    const failed = findings.some((finding) => finding.kind === 'http_error' && finding.text?.startsWith('document'));
    findings.push(...judgeScreen(after, failed));
    for (const text of after.messages) {
      if (before && readsLikeError(text) && !before.messages.includes(text)) {
        findings.push({ kind: 'error_message', signal: 'error-message', detail: plain(text), text: `the page says "${text}"` });
      }
    }
    const kept = findings.filter((finding) => {
      if (finding.kind === 'http_error' && finding.signal === 'http-5xx') return FAIL_ON_5XX;
      return STRICT || !['http_error', 'exception', 'disabled_control'].includes(finding.kind);
    });
    if (step !== LAST) {
      const stops = kept.find((finding) => STOPS.includes(finding.kind));
      if (stops && !FAILED.includes(step)) throw new Error(`not reached: step ${step} fails: [${stops.kind}] ${stops.text ?? stops.detail}`);
      return;
    }
    kept.push(...(await this.special(mark, before, after, opening)));
    this.last = { findings: kept, refused: REFUSED ? undefined : seen.find((one) => one.refused && one.refused !== 'would leave the application') };
  }

  /** The rule of the bug's own kind, where it needs more than a look. */
  private async special(mark: Mark, before: Screen | null, after: Screen, opening: boolean): Promise<Finding[]> {
    //# dead_control
    if (!opening && this.tally === (await this.count()) && this.seen.length === mark.seen && this.notes.length === mark.notes) {
      return [{ kind: 'dead_control', signal: 'no-effect', detail: '', text: 'it changes nothing on the screen and sends no request' }];
    }
    //# login_redirect
    if (await this.passwords()) {
      return [{ kind: 'login_redirect', signal: 'login-redirect', detail: BUG.detail, text: `the login page ${this.page.url()} is shown` }];
    }
    //# never_loads
    let loading = after.spinners;
    for (const end = Date.now() + PATIENCE; loading && Date.now() < end; loading = (await this.screen()).spinners) await this.change();
    if (loading) return [{ kind: 'never_loads', signal: 'never-loads', detail: '', text: `${loading} signs of loading are visible` }];
    //# focus_trap
    if (after.layers > (before?.layers ?? 0) && !(await this.close(before?.layers ?? 0))) {
      return [{ kind: 'focus_trap', signal: 'focus-trap', detail: '', text: 'its own controls, Escape and a click beside it leave it open' }];
    }
    //#
    return [];
  }

  //# focus_trap
  /** Closes what is open, as a person would; gives back whether no more than `wanted` layers are left. */
  private async close(wanted: number): Promise<boolean> {
    const words = /^(cancel|keep|never mind|close|dismiss|no|not now|back|abbrechen|schließen|nein|annuler|fermer|non|cancelar|cerrar|fechar|annulla|chiudi|annuleren|sluiten|avbryt|stäng|anuluj|zamknij|отмена|закрыть|キャンセル|閉じる|取消|关闭|취소|닫기|iptal|kapat|×|x|✕|✖|╳)($|[ ,](?!.*order))/i;
    const harmless = /^(ok|okay|done|got it|understood|finish|fertig|verstanden|d'accord|aceptar)$/i;
    const left = async () => (await this.screen()).layers;
    this.mode = 'act';
    this.destructive = true;
    for (let layer = 0; layer < 4 && (await left()) > wanted; layer += 1) {
      const open = await left();
      const top = this.page.locator(LAYERS).filter({ visible: true }).last();
      const controls = top.locator('button, a, [role=button], input[type=button], input[type=submit]').filter({ visible: true });
      let tried = 0;
      for (const control of await controls.all()) {
        const name = ((await control.getAttribute('aria-label')) || (await control.innerText()) || (await control.getAttribute('title')) || '').trim();
        const icon = !name && /close|fa-times|bi-x|icon-x|dismiss/.test((await control.getAttribute('class')) ?? '');
        if (!(icon || words.test(name) || harmless.test(name)) || tried >= 3) continue;
        tried += 1;
        const mark = this.mark();
        await control.click({ timeout: 1_000 }).catch(() => undefined);
        await this.settle(mark);
        if ((await left()) < open) break;
      }
      if ((await left()) < open) continue;
      let mark = this.mark();
      await this.page.keyboard.press('Escape');
      await this.settle(mark);
      if ((await left()) < open) continue;
      mark = this.mark();
      await this.page.mouse.click(3, 3);
      await this.settle(mark);
      if ((await left()) >= open) return false;
    }
    return (await left()) <= wanted;
  }

  //#
  /** That the page which was recorded is shown, and not another one in its place. */
  private isThePage(step: number, url: string, screen: Screen): void {
    const shown = this.page.url();
    if (screen.passwords && isLogin(shown) && !isLogin(OPENED)) {
      throw new Error(`not reached: step ${step}: the login page ${shown} is shown in place of the page; set ${LOGIN.username} and ${LOGIN.password}`);
    }
    const maintenance = /\b(under|for|scheduled|undergoing)\s+maintenance\b|\bmaintenance mode\b|\b(be|come) (right )?back (soon|shortly|later)\b|\btemporarily (unavailable|offline|down)\b|\bwartungsarbeiten\b|\ben maintenance\b|\ben mantenimiento\b/i;
    if (screen.controls < 12 && screen.text.length < 1500 && maintenance.test(`${screen.title} ${screen.heading} ${screen.text}`)) {
      throw new Error(`not reached: step ${step}: a maintenance page is shown`);
    }
    if (!this.last?.findings.length && template(shown) !== template(OPENED)) {
      throw new Error(`not reached: step ${step}: ${shown} was opened, the recording stood on ${OPENED}`);
    }
  }

  // Finding and waiting ------------------------------------------------------------------------------------------------

  private async find(step: number, what: string, ways: Locator[], nth?: number): Promise<Locator | null> {
    const css = ways[ways.length - 1].filter({ visible: true });
    const end = Date.now() + PATIENCE;
    for (;;) {
      const why: number[] = [];
      for (const way of ways) {
        const visible = way.filter({ visible: true });
        const found = await visible.count().catch(() => 0);
        if (found === 1) return visible;
        if (found > 1 && nth !== undefined && nth < found) return visible.nth(nth);
        if (found > 1 && (await visible.and(css).count().catch(() => 0)) === 1) return visible.and(css);
        why.push(found);
      }
      if (Date.now() > end) {
        if (SKIPPED.includes(step) && step !== LAST) return null;
        throw new Error(`not reached: step ${step}: ${what} is not found (${why.join(', ')} visible elements fit the locators, 1 must)`);
      }
      await this.change();
    }
  }

  private async enabled(target: Locator): Promise<boolean> {
    const end = Date.now() + PATIENCE;
    for (;;) {
      if (await target.isEnabled({ timeout: PATIENCE })) return true;
      if (Date.now() > end) return false;
      await this.change();
    }
  }

  private async goto(step: number, url: string): Promise<void> {
    this.mode = 'load';
    const mark = this.mark();
    await this.page.goto(url, { timeout: 30_000, waitUntil: 'commit' }).catch((error) => {
      if (!/ERR_ABORTED|interrupted|crashed/.test(String(error))) throw new Error(`not reached: step ${step}: network: ${String(error)}`);
    });
    await this.settle(mark);
  }

  /** Waits until no request of this step is under way, nothing has changed for 50 ms and no timer is due soon. */
  private async settle(mark: Mark): Promise<void> {
    const end = Date.now() + SETTLE;
    for (;;) {
      const left = Math.max(end - Date.now(), 1);
      const still = await this.ask((cap) => (window as any)[Symbol.for('agent-test-export')]?.still(50, cap) ?? true, left, 'moved');
      if (still === 'hung') return;
      const busy = () => this.seen.slice(mark.seen).some((one) => !one.done && !one.refused && one.type !== 'eventsource' && one.type !== 'websocket');
      if (still === true && !busy()) return;
      if (Date.now() >= end) return;
      if (busy()) await this.news(Math.min(left, 250));
    }
  }

  /** Waits until a request ends, at most so many milliseconds. */
  private async news(most: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
      timer = setTimeout(resolve, most);
    });
    clearTimeout(timer);
  }

  private ended(seen: Seen): void {
    seen.done = true;
    for (const go of this.waiting.splice(0)) go();
  }

  /** Waits until something of the page changes, at most 250 ms. */
  private async change(): Promise<void> {
    await this.ask(() => (window as any)[Symbol.for('agent-test-export')]?.change(250), 0, 'moved');
  }

  /** Asks the page. A page that is being replaced has moved; one that does not answer hangs. */
  private async ask<A, R>(question: (argument: A) => R, argument: A, moved: R): Promise<R | 'hung'> {
    let timer: NodeJS.Timeout | undefined;
    const hung = new Promise<'hung'>((resolve) => { timer = setTimeout(() => resolve('hung'), HUNG); });
    try {
      const answer = this.page.evaluate(question as any, argument as any).catch(async (error) => {
        if (/crashed|closed/.test(String(error))) return 'hung';
        await this.page.waitForLoadState('domcontentloaded', { timeout: SETTLE }).catch(() => undefined);
        return moved;
      });
      const first = (await Promise.race([answer, hung])) as R | 'hung';
      if (first === 'hung' && !this.findings.some((finding) => finding.kind === 'crash')) {
        this.findings.push({ kind: 'crash', signal: 'hang', detail: '', text: "the page's main thread is blocked" });
      }
      return first;
    } finally {
      clearTimeout(timer);
    }
  }

  private async hangs(): Promise<boolean> {
    return (await this.ask(() => 1, 0, 1)) === 'hung';
  }

  private async screen(): Promise<Screen> {
    if (this.findings.some((finding) => finding.kind === 'crash')) return EMPTY;
    for (let times = 0; times < 3; times += 1) {
      const screen = await this.ask(readScreen, LAYERS, null);
      if (screen === 'hung') return EMPTY;
      if (screen) return screen;
    }
    return EMPTY;
  }

  private async passwords(): Promise<number> {
    return (await this.screen()).passwords;
  }

  /** What leaves a mark on the page, as one text; background tickers are left out. */
  private async count(): Promise<string> {
    const counts = await Promise.all(this.page.frames().map((frame) => frame.evaluate(() => (window as any)[Symbol.for('agent-test-export')]?.count() ?? '').catch(() => '')));
    return [this.page.url(), ...counts].join(' ');
  }

  private mark(): Mark {
    return { seen: this.seen.length, findings: this.findings.length, notes: this.notes.length };
  }

  // The browser's news -------------------------------------------------------------------------------------------------

  private attend(page: Page): void {
    if (page !== this.page) this.notes.push('window');
    page.on('download', () => this.notes.push('download'));
    page.on('filechooser', () => this.notes.push('file chooser'));
    page.on('crash', () => this.findings.push({ kind: 'crash', signal: 'crash', detail: '', text: 'the page crashed' }));
    page.on('pageerror', (error) => this.threw(error));
    page.on('dialog', async (dialog) => {
      this.notes.push('dialog');
      const kind = dialog.type();
      const accept = kind === 'alert' || kind === 'beforeunload' || SAFE_TO_MUTATE || ACCEPTED.includes(`${kind} ${dialog.message().split('\n')[0].trim()}`);
      if (kind === 'alert' && readsLikeError(dialog.message())) {
        this.findings.push({ kind: 'error_message', signal: 'error-message', detail: plain(dialog.message().split('\n')[0]), text: `an alert says "${dialog.message()}"` });
      }
      await (accept ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
    });
  }

  private threw(error: Error): void {
    this.notes.push('exception');
    const stack = String(error.stack ?? '');
    const frame = /\bat (?:async |new )*(?:(\S+)[^()\n]*\()?([a-z-]+:\/\/[^\s)]+?)(?::\d+)?(?::\d+)?\)?(?:\n|$)/.exec(stack);
    const url = frame?.[2] ?? '';
    if ((url && !sameSite(url)) || /^Script error/.test(error.message)) return;
    const first = (error.name && !error.message.startsWith(error.name) ? `${error.name}: ${error.message}` : error.message).split('\n')[0].trim();
    const file = url ? new URL(url).pathname : '';
    this.findings.push({ kind: 'exception', signal: error.name || 'Error', detail: `${file} ${plain(first.slice(0, 400))}`, text: `uncaught ${first}` });
  }

  private began(request: Request): void {
    const top = request.isNavigationRequest() && request.frame().parentFrame() === null;
    this.seen.push({ request, method: request.method(), url: request.url(), type: request.resourceType(), top, done: false });
  }

  private of(request: Request): Seen {
    const known = this.seen.findLast((one) => one.request === request);
    if (known) return known;
    this.began(request);
    return this.seen[this.seen.length - 1];
  }

  /**
   * Unless the run was allowed to change data, no request leaves that an action causes and that is no read, and none
   * whose control or address reads destructive. The application is never left.
   */
  private async guard(route: Route): Promise<void> {
    const request = route.request();
    const one = this.of(request);
    const own = isOwn(one.url);
    const reads = ['GET', 'HEAD', 'OPTIONS'].includes(one.method.toUpperCase());
    if (one.top && !own) one.refused = 'would leave the application';
    // A page that the action has opened asks for its own data; that is not the action any more.
    else if (this.mode === 'act' && !(this.shown && one.type !== 'document') && !SAFE_TO_MUTATE && !isAllowed(one.method, one.url)) {
      if (!reads) one.refused = 'would change data';
      else if (this.destructive && !['stylesheet', 'script', 'font'].includes(one.type)) one.refused = 'its control reads destructive';
      else if (readsDestructive(one.url)) one.refused = 'its address reads destructive';
    }
    if (!one.refused) await route.continue().catch(() => undefined);
    else if (one.type === 'document') await route.fulfill({ status: 204 }).catch(() => undefined); // the present page stays
    else await route.abort('blockedbyclient').catch(() => undefined);
    if (one.refused) one.done = true;
  }

  private async logIn(step: number): Promise<void> {
    const page = this.page;
    const password = page.locator(LOGIN.passwordField ?? 'input[type=password]').filter({ visible: true }).first();
    const user = LOGIN.usernameField
      ? page.locator(LOGIN.usernameField)
      : page.locator('input:not([type]), input[type=text], input[type=email], input[type=tel], input[type=search], input[type=number]')
          .filter({ visible: true }).and(page.locator('xpath=//input[following::input[@type="password"]]')).last();
    this.mode = 'login';
    const before = page.url();
    const mark = this.mark();
    try {
      if (await user.count()) await user.fill(secret(LOGIN.username), { timeout: PATIENCE });
      await password.fill(secret(LOGIN.password), { timeout: PATIENCE });
      if (LOGIN.submit) await page.locator(LOGIN.submit).click({ timeout: PATIENCE });
      else await password.press('Enter', { timeout: PATIENCE });
    } catch (error) {
      const text = String(error).split('\n')[0];
      throw new Error(text.includes('not reached') ? text.slice(text.indexOf('not reached')) : `not reached: step ${step}: the login failed: ${text}`);
    }
    await this.settle(mark);
    const passwords = await this.passwords();
    if (passwords && (samePath(page.url(), before) || (passwords === 1 && isLogin(page.url())))) {
      throw new Error(`not reached: step ${step}: the login failed: the login page ${page.url()} is still shown after the form was sent`);
    }
  }
}

type Mark = { seen: number; findings: number; notes: number };

// Rules ----------------------------------------------------------------------------------------------------------------

/** What fails an earlier step, and what fails the last one in another way. */
const STOPS = ['exception', 'http_error', 'crash', 'disabled_control', 'missing_text'];
const MATTERS = [...STOPS, 'error_message', 'blank_page'];

function isBug(finding: Finding): boolean {
  // Written by another program: any failure of the step, or any of this category.
  if (!BUG.kind) return MATTERS.includes(finding.kind) && (!BUG.category || category(finding) === BUG.category);
  if (finding.kind !== BUG.kind) return false;
  if (finding.signal !== BUG.signal) return false;
  // A script without an address of its own has no file to compare.
  const nowhere = finding.kind === 'exception' && finding.detail.startsWith(' ') && BUG.detail.endsWith(finding.detail);
  return finding.detail === BUG.detail || nowhere;
}

function category(finding: Finding): string {
  if (finding.kind === 'http_error') return finding.text?.startsWith('document') ? 'navigation' : 'network';
  if (finding.kind === 'blank_page' || finding.signal === 'error-page') return 'navigation';
  if (finding.kind === 'error_message' || finding.kind === 'missing_text') return 'assertion';
  if (finding.kind === 'disabled_control') return 'interaction';
  return finding.signal === 'hang' ? 'timeout' : 'page-error';
}

function origin(url: string): string {
  try { return new URL(url).origin; } catch { return ''; }
}

function isOwn(url: string): boolean {
  return /^(about|blob|data):/.test(url) || origin(url) === origin(BASE) || OWN_ORIGINS.some((own) => own.replace(/\/+$/, '').toLowerCase() === origin(url));
}

function sameSite(url: string): boolean {
  try {
    const one = new URL(url);
    const base = new URL(BASE);
    const port = (of: URL) => of.port || (of.protocol === 'https:' ? '443' : '80');
    return isOwn(url) || (one.hostname.replace(/^www\./, '') === base.hostname.replace(/^www\./, '') && port(one) === port(base));
  } catch {
    return false;
  }
}

function isAllowed(method: string, url: string): boolean {
  const path = new URL(url).pathname;
  return ALLOWED.some((pattern) => {
    const rule = new RegExp(`^${pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
    return [url, `${method} ${url}`, path, `${method} ${path}`].some((text) => rule.test(text));
  });
}

function readsDestructive(address: string): boolean {
  const words = /(?:^|[/_.=-])(delete|remove|destroy|purge|erase|drop|truncate|logout|log-out|log_out|signout|sign-out|sign_out|logoff|signoff|deactivate|revoke|unsubscribe|uninstall|reset|shutdown|reboot|empty-trash|trash)(?:$|[/_.=&-])/i;
  const pages = ['link', 'page', 'guide', 'demo', 'example', 'dialog', 'button', 'list', 'log', 'history'];
  const url = new URL(address);
  const tail = url.pathname.split('/').filter(Boolean).slice(-2);
  const inPath = tail.some((part) => !part.includes('.') && words.test(part) && !pages.includes(part.split(/[-_]/).filter(Boolean).pop() ?? ''));
  const inQuery = [...url.searchParams].some(([key, value]) => (/^(action|do|cmd|op|task|_?method)$/.test(key) && words.test(value)) || (!value && words.test(key)));
  return inPath || inQuery;
}

/** An address without what varies: ids as `:id`, times as `:ts`, no tracking, the query sorted. */
function template(address: string): string {
  const part = (text: string) => {
    const digits = /^\d+$/.test(text);
    const number = Number(text);
    const epoch = digits && ((text.length === 10 && number >= 1e9 && number < 4102444800) || (text.length === 13 && number >= 1e12 && number < 4102444800000));
    if (epoch || /^\d{4}-\d{2}-\d{2}([T_ ]\d{2}[:-]?\d{2}([:-]?\d{2}(\.\d+)?)?Z?)?$/.test(text)) return ':ts';
    const hex = text.length >= 8 && /^[0-9a-f]+$/i.test(text) && /\d/.test(text);
    const uuid = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26})$/i.test(text);
    return digits || hex || uuid ? ':id' : text;
  };
  const tracking = /^(utm_.*|gclid|gbraid|wbraid|fbclid|msclkid|mc_cid|mc_eid|_ga|_gl|yclid|igshid)$/;
  let url: URL;
  try { url = new URL(address); } catch { return address; }
  let text = '/' + url.pathname.split('/').filter(Boolean).map(part).join('/');
  const query = [...url.searchParams].filter(([key]) => !tracking.test(key)).map(([key, value]) => `${key}=${part(value)}`).sort();
  if (query.length) text += '?' + query.join('&');
  if (/^#!?\//.test(url.hash)) text += '#' + url.hash.slice(1).split('/').map(part).join('/');
  return text;
}

/** A text without numbers, ids and times. */
function plain(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?|\b0x[0-9a-f]+\b|\(?\d+([.,:]\d+)*\)?/gi, '')
    .split(/\s+/).filter(Boolean).join(' ');
}

function samePath(one: string, other: string): boolean {
  return new URL(one).pathname === new URL(other).pathname;
}

function samePage(one: string, other: string): boolean {
  const key = (url: string) => url.replace(/#(?!!?\/).*$/, '');
  return key(one) === key(other);
}

function isLogin(url: string): boolean {
  const { pathname, hash } = new URL(url);
  return /login|log-in|signin|sign-in|sign_in|sso|\/auth|anmelden|connexion/i.test(`${pathname}${hash}`);
}

function judgeRequest(one: Seen): Finding[] {
  const line = `${one.method} ${one.url} answered ${one.status}`;
  const detail = `${one.method} ${template(one.url)}`;
  const broken = (why: string): Finding => {
    const kind = one.type === 'image' ? 'broken_image' : 'broken_resource';
    return { kind, signal: `${one.type === 'stylesheet' ? 'style-sheet' : one.type}-missing`, detail, text: `${one.method} ${one.url}: ${why}` };
  };
  if (!sameSite(one.url)) return [];
  const part = ['script', 'stylesheet', 'image'].includes(one.type) && !one.url.endsWith('/favicon.ico');
  if (one.status === undefined) {
    return part && one.error && !/ABORTED|BLOCKED/.test(one.error) ? [broken(one.error)] : [];
  }
  if (one.status < 400) return [];
  if (part) return [broken(`HTTP ${one.status}`)];
  const signal = one.status >= 500 ? 'http-5xx' : `http-${one.status}`;
  if (one.type === 'document' && (one.status === 404 || one.status === 410 || one.status >= 500)) {
    return [{ kind: 'http_error', signal, detail: `${detail} ${one.status}`, text: `document ${line}` }];
  }
  if ((one.type === 'xhr' || one.type === 'fetch') && one.status >= 500) {
    return [{ kind: 'http_error', signal, detail: `${detail} ${one.status}`, text: line }];
  }
  return [];
}

function readsLikeError(text: string): boolean {
  const error = /(?<![\p{L}\p{N}_])(error|failed|failure|went wrong|exception|could not|couldn't|cannot be|unable to|unexpected|fehler|fehlgeschlagen|erreur|échec|fallo|falló|errore|erro|ошибка)(?![\p{L}\p{N}_])|错误|失败|エラー|오류/iu;
  const form = /\b(required|please (enter|fill|select|choose|correct|provide)|must (be|have|not)|invalid (e-?mail|value|input|format)|no errors?|without errors?|0 errors|error[- ](rate|log|page)s?)\b/i;
  return error.test(text) && !form.test(text);
}

function judgeScreen(screen: Screen, documentFailed: boolean): Finding[] {
  if (screen === EMPTY || documentFailed) return [];
  const findings: Finding[] = [];
  if (!screen.text && !screen.controls && !screen.media) {
    findings.push({ kind: 'blank_page', signal: 'blank', detail: '', text: 'no text, no image and no control is visible' });
  }
  const heading = /^\W*((http )?(error )?(404|500|502|503|504)\b|error\b|oops|whoops|something went wrong|an? (unexpected |internal )?error|internal server error|page not found|not found|bad gateway|service unavailable|gateway time-?out|server error|application error|unhandled exception|fatal error|whitelabel error page|traceback)/i;
  const stack = /Traceback \(most recent call last\)|Fatal error: |Whitelabel Error Page|org\.springframework\.|Parse error: syntax error|SQLSTATE\[|Unhandled Runtime Error/;
  if ((heading.test(screen.heading) && screen.text.length < 1500) || stack.test(screen.text)) {
    const text = screen.heading || screen.title;
    findings.push({ kind: 'error_message', signal: 'error-page', detail: plain(text), text: `the page is an error page: ${text}` });
  }
  return findings;
}

// In the page ----------------------------------------------------------------------------------------------------------

type Screen = {
  title: string; heading: string; text: string; controls: number; media: number; passwords: number; spinners: number;
  layers: number; messages: string[];
};
const EMPTY: Screen = { title: '', heading: '', text: '', controls: 0, media: 0, passwords: 0, spinners: 0, layers: 0, messages: [] };
const LAYERS = '[role=dialog], [role=alertdialog], [aria-modal=true], dialog[open], [role=menu], [popover]:popover-open';

/** What is on the screen; runs in the page. */
function readScreen(layers: string): Screen {
  const squash = (text: unknown) => String(text ?? '').replace(/[\uE000-\uF8FF]/g, '').replace(/\s+/g, ' ').trim();
  const visible = (element: Element) => {
    const box = element.getBoundingClientRect();
    return box.width >= 1 && box.height >= 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true } as any);
  };
  // Open shadow roots and frames of the same origin belong to the screen.
  const all = (selector: string, root: ParentNode = document): HTMLElement[] => {
    const found = [...root.querySelectorAll<HTMLElement>(selector)];
    for (const host of root.querySelectorAll('*')) {
      if (host.shadowRoot) found.push(...all(selector, host.shadowRoot));
      if (host instanceof HTMLIFrameElement) {
        try { if (host.contentDocument) found.push(...all(selector, host.contentDocument)); } catch { /* another origin */ }
      }
    }
    return found;
  };
  const loading = /\b(loading|please wait|laden|wird geladen|chargement|cargando|carregando|caricamento)\b|загрузка|読み込み中|加载中|로딩/i;
  const spinners = all('[class*=spinner], [class*=loader], [class*=loading], [class*=skeleton], [aria-busy=true], [role=progressbar]').filter((element) => {
    const busy = element.getAttribute('aria-busy') === 'true';
    const progress = element.getAttribute('role') === 'progressbar' && !element.getAttribute('aria-valuenow');
    if (!busy && !progress && !/[\s_-](spinner|loader|loading|skeleton)(?=[\s_-]|$)/i.test(` ${element.className}`)) return false;
    const near = squash(element.parentElement?.innerText).slice(0, 120);
    const says = loading.test(squash(element.innerText).slice(0, 120)) || loading.test(element.getAttribute('aria-label') ?? '') || (near.length < 80 && loading.test(near));
    return (says || busy || element.closest('table, [role=grid], [role=table]')) && visible(element);
  });
  const messages: string[] = [];
  const word = /[\s_-](toast|snackbar|notification|flash|alert|growl|message-box|toastr)(?=[\s_-]|$)/i;
  for (const element of all('[role=alert], [role=status], [aria-live=polite], [aria-live=assertive], [class*=toast], [class*=snackbar], [class*=notification], [class*=flash], [class*=alert], [class*=growl], [class*=message-box]')) {
    const live = element.matches('[role=alert], [role=status], [aria-live=polite], [aria-live=assertive]');
    if (!(live || word.test(` ${element.getAttribute('class') ?? ''}`)) || !visible(element)) continue;
    // A region that only holds messages is not one message.
    const parts = [...element.children].filter((part) => visible(part) && squash((part as HTMLElement).innerText)) as HTMLElement[];
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && squash(node.textContent));
    const region = !own && parts.length > 1 && parts.every((part) => part.localName === parts[0].localName);
    for (const message of region ? parts : [element]) {
      const text = squash(message.innerText);
      const cut = text.length > 300 ? `${text.slice(0, 299)}…` : text;
      if (cut && !messages.includes(cut)) messages.push(cut);
    }
  }
  return {
    title: document.title,
    heading: squash(document.querySelector<HTMLElement>('h1, h2, [role=heading]')?.innerText).slice(0, 200),
    text: squash(document.body?.innerText).slice(0, 4000),
    controls: all('a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [onclick]').filter(visible).length,
    media: document.querySelectorAll('img, svg, canvas, video, iframe, input, button').length,
    passwords: all('input[type=password]').filter(visible).length,
    spinners: spinners.length,
    layers: all(layers).filter((element, _, list) => visible(element) && !list.some((other) => other !== element && other.contains(element))).length,
    messages,
  };
}

/** Counts what changes and what is due, in every document before its own code; runs in the page. */
function watchPage(): void {
  const key = Symbol.for('agent-test-export');
  const self = window as any;
  if (self[key]) return;
  const later = window.setTimeout.bind(window);
  const now = () => performance.now();
  const timers = new Map<number, number>();
  const often = new Map<number, number>();
  let ticker: { born: number } | null = null;
  let depth = 0;
  let changes = 0;
  let ticks = 0;
  let effects = 0;
  let changed = now();
  const inside = (from: { born: number } | null, level: number, run: () => unknown) => {
    const before = [depth, ticker] as const;
    [depth, ticker] = [level, from];
    try {
      return run();
    } finally {
      depth = before[0];
      later(() => { if (ticker === from) ticker = null; }, 0); // promise reactions and observers come before that
    }
  };
  const wrap = (owner: any, name: string, around: (target: any, self: any, args: any[]) => unknown) => {
    if (typeof owner?.[name] !== 'function') return;
    try { owner[name] = new Proxy(owner[name], { apply: around }); } catch { /* a page may forbid it */ }
  };
  wrap(window, 'setTimeout', (target, self, args) => {
    const [handler, wait] = args;
    if (typeof handler !== 'function') return Reflect.apply(target, self, args);
    const delay = Math.max(0, Number(wait) || 0);
    const level = depth + 1;
    const times = (often.get(delay) ?? 0) + 1;
    often.set(delay, times);
    const from = level > 3 || times > 12 ? { born: 0 } : ticker;
    const id: number = Reflect.apply(target, self, [function (this: unknown, ...rest: unknown[]) {
      timers.delete(id);
      return inside(from, level, () => handler.apply(this, rest));
    }, ...args.slice(1)]);
    if (delay <= 1600 && level <= 3 && times <= 12) timers.set(id, now() + delay);
    return id;
  });
  wrap(window, 'clearTimeout', (target, self, args) => { timers.delete(args[0]); return Reflect.apply(target, self, args); });
  wrap(window, 'setInterval', (target, self, args) => {
    const from = { born: now() };
    const [handler] = args;
    if (typeof handler !== 'function') return Reflect.apply(target, self, args);
    return Reflect.apply(target, self, [function (this: unknown, ...rest: unknown[]) { return inside(from, 4, () => handler.apply(this, rest)); }, ...args.slice(1)]);
  });
  const first = { born: now() };
  wrap(window, 'requestAnimationFrame', (target, self, args) => {
    const [handler] = args;
    if (typeof handler !== 'function') return Reflect.apply(target, self, args);
    const from = ticker ?? first;
    return Reflect.apply(target, self, [function (this: unknown, time: number) { return inside(from, depth, () => handler.call(this, time)); }]);
  });
  // Effects that leave no mark in the document.
  for (const [owner, name] of [[window, 'print'], [window, 'scrollTo'], [self.Clipboard?.prototype, 'writeText'], [Document.prototype, 'execCommand'], [self.Storage?.prototype, 'setItem'], [self.Storage?.prototype, 'removeItem'], [self.HTMLMediaElement?.prototype, 'play']] as const) {
    wrap(owner, name, (target, self, args) => { effects += 1; return name === 'print' ? undefined : Reflect.apply(target, self, args); });
  }
  // A change that an old ticker makes is background: nobody waits for it, and it is no effect.
  const observer = new MutationObserver((records) => {
    if (ticker && now() - ticker.born > 1500) { ticks += records.length; return; }
    changes += records.length;
    changed = now();
  });
  const attend = (root: Node) => observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  attend(document);
  wrap(Element.prototype, 'attachShadow', (target, self, args) => {
    //# shadow
    // Closed roots are opened to the test, and stay closed to the page.
    const closed = args[0]?.mode === 'closed';
    const root: ShadowRoot = Reflect.apply(target, self, [{ ...args[0], mode: 'open' }]);
    if (closed) Object.defineProperty(self, 'shadowRoot', { value: null });
    //# !shadow
    const root: ShadowRoot = Reflect.apply(target, self, args);
    //#
    attend(root);
    return root;
  });
  for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'keydown', 'keyup']) {
    window.addEventListener(type, () => { ticker = null; }, { capture: true, passive: true });
  }
  for (const type of ['input', 'change', 'toggle', 'scroll']) {
    document.addEventListener(type, () => { changes += 1; changed = now(); }, { capture: true, passive: true });
  }
  const moving = () => document.getAnimations().some((one) => {
    const end = Number(one.effect?.getComputedTiming().endTime);
    return one.playState === 'running' && end < 5000;
  });
  const due = () => {
    for (const [id, time] of timers) if (time < now() - 1000) timers.delete(id);
    return timers.size > 0;
  };
  const wait = (cap: number, done: () => boolean, answer: (inTime: boolean) => unknown) => new Promise((resolve) => {
    const start = now();
    const check = () => {
      if (done()) resolve(answer(true));
      else if (now() - start > cap) resolve(answer(false));
      else later(check, 8);
    };
    check();
  });
  const born = Math.random().toString(36).slice(2);
  self[key] = {
    count: () => [born, changes, effects].join('/'),
    still: (quiet: number, cap: number) => {
      const start = now();
      return wait(cap, () => document.readyState === 'complete' && now() - Math.max(changed, start) >= quiet && !due() && !moving(), (inTime) => inTime);
    },
    change: (cap: number) => {
      const start = changes + ticks;
      return wait(cap, () => changes + ticks !== start, () => 0);
    },
  };
}
