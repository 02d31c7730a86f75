// ---------------------------------------------------------------------------------------------------------------------
// Below: helpers, the same in every exported flow.
// ---------------------------------------------------------------------------------------------------------------------

type Scope = Page | Locator | FrameLocator;

/** This text and nothing else; how white space divides it does not count. */
function exactly(text: string): RegExp {
  return new RegExp(`^\\s*${part(text).source}\\s*$`);
}

/** This text somewhere. */
function part(text: string): RegExp {
  const words = text.split(/\s+/).filter(Boolean);
  return new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('\\s*'));
}

/** Things of this role. */
function roles(scope: Scope, role: string): Locator {
  const found = scope.getByRole(role as Parameters<Page['getByRole']>[0]);
  if (role === 'status') return found.or(scope.locator('[aria-live=polite]'));
  if (role === 'alert') return found.or(scope.locator('[aria-live=assertive]'));
  return found;
}

/** Things of this role that say this: as a whole, apart from what stands in them, or by their name. */
function says(scope: Scope, role: string, text: string): Locator {
  const all = roles(scope, role);
  const named = scope.getByRole(role as Parameters<Page['getByRole']>[0], { name: text, exact: true });
  return all.filter({ hasText: exactly(text) }).or(all.and(scope.locator(`text=${JSON.stringify(text)}`))).or(named);
}

/** Whatever says this. */
function saying(scope: Scope, text: string): Locator {
  return scope.getByText(text, { exact: true }).or(scope.locator(`text=${JSON.stringify(text)}`)).or(scope.getByLabel(text, { exact: true }));
}

/** The rows, list items and named groups that this text names. */
function place(scope: Scope, text: string): Locator {
  const rows = scope.locator('tr, li, article, [role=row], [role=listitem], [role=article], [role=treeitem]');
  const own = scope.locator(`text=${JSON.stringify(text)}`);
  const groups = ['group', 'region', 'dialog', 'alertdialog', 'radiogroup', 'toolbar', 'form', 'tabpanel', 'menu', 'listbox'] as const;
  const named = groups.map((role) => scope.getByRole(role, { name: text, exact: true }));
  return named.reduce((all, one) => all.or(one), rows.filter({ has: own }).or(rows.and(own)));
}

/** The one at this place among so many that read alike; another number of them is another screen. */
async function among(found: Locator, index: number, of: number): Promise<Locator> {
  await expect(found).toHaveCount(of, { timeout: 15_000 });
  return found.nth(index);
}

/** What fields hold, and what other things say. */
function held(found: Locator): Promise<string[]> {
  return found.evaluateAll((all) => all.map((one: any) => {
    if (one.localName === 'select') return [...one.selectedOptions].map((option) => option.label).join(', ');
    return one.value ?? one.innerText.replace(/\s+/g, ' ').trim();
  }));
}

/** Reads the one thing that is found. */
async function read(found: Locator, timeout: number): Promise<string> {
  await expect(found).toHaveCount(1, { timeout });
  return (await held(found))[0];
}

/** Waits for an address: its path, its query in any order, its hash route; `{id}` stands for one part of it. */
async function isOn(page: Page, wanted: string, timeout: number): Promise<void> {
  await expect.poll(() => (reads(page.url(), wanted) ? wanted : page.url()), { timeout }).toBe(wanted);
}

function reads(address: string, wanted: string): boolean {
  const url = new URL(address);
  const [, origin, path, query, hash] = /^(https?:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/.exec(wanted) ?? [];
  const fits = (one: string[], other: string[]) => one.length === other.length && other.every((text, at) => (text === '{id}' ? one[at] !== '' : text === one[at]));
  const decoded = (text: string) => decodeURIComponent(text).split('/');
  const terms = (all: string[]) => all.sort().flatMap((term) => [term.slice(0, term.indexOf('=')), term.slice(term.indexOf('=') + 1)]);
  const route = /^#!?\//.test(url.hash) ? url.hash.slice(1) : '';
  return url.origin === (origin ?? new URL(BASE).origin)
    && fits(decoded(url.pathname), (path ?? '').split('/'))
    && fits(terms([...url.searchParams].map(([key, value]) => `${key}=${value}`)), terms((query ?? '').split('&').filter(Boolean)))
    && fits(decoded(route), (hash ?? '').split('/'));
}

/** Scrolls what scrolls around this element, or the window, so many times. */
async function scroll(from: Locator, x: number, y: number, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await from.evaluate((element, [dx, dy]) => {
      let node: Element | null = element;
      const scrolls = (one: Element) => /auto|scroll/.test(getComputedStyle(one).overflow) && (one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth);
      while (node && !scrolls(node)) node = node.parentElement;
      (node ?? document.scrollingElement ?? document.documentElement).scrollBy({ left: dx, top: dy, behavior: 'instant' });
    }, [x, y]);
  }
}

/** Presses a point of this thing, or brings the pointer there: so far from its left and its top, as parts of its size. */
async function point(found: Locator, left: number, top: number, press: boolean): Promise<void> {
  const box = await found.boundingBox();
  if (!box) throw new Error('the thing that the point lies in has no box');
  const position = { x: left * box.width, y: top * box.height };
  await (press ? found.click({ position }) : found.hover({ position }));
}

/** A value as it stands in a path, in a query, in a slug. */
function percent(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

function form(text: string): string {
  return percent(text).replace(/%20/g, '+');
}

function slug(text: string): string {
  return text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean).join('-');
}
