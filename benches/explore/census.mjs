// An independent count of what a page holds that a person can use: the accessibility tree of every frame, every event
// listener that the browser knows, and the document itself with closed shadow roots and frames; nothing of the explorer's.
//
// Each item is one control. What wraps it or lies inside it without a handler of its own is the same control; what only
// listens for its descendants is none. An item counts as reachable when a press at one of its points arrives at it.

const CLICKS = new Set(['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'dblclick', 'contextmenu']);
const ROLES = new Set(['button', 'link', 'textbox', 'searchbox', 'checkbox', 'radio', 'combobox', 'listbox', 'menuitem', 'menuitemcheckbox',
  'menuitemradio', 'tab', 'treeitem', 'slider', 'spinbutton', 'switch', 'option', 'DisclosureTriangle', 'PopUpButton', 'MenuListPopup', 'TextField', 'ColorWell', 'Date', 'DateTime', 'InputTime']);

/** Run in every document before its own code: closed shadow roots can be entered afterwards by those who resolve paths. */
export const REMEMBER = `(() => {
  const roots = new WeakMap();
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = new Proxy(attach, { apply(target, self, args) { const root = Reflect.apply(target, self, args); roots.set(self, root); return root; } });
  Object.defineProperty(window, Symbol.for('census'), { value: { root: (host) => host.shadowRoot ?? roots.get(host) ?? null } });
})();`;

// In the page: elements below a root whose cursor says "press me" while their parent's does not, that jQuery delegates to,
// or that React gave a handler; contenteditable; labels of hidden fields.
const HINTS = `function () {
  const found = [];
  const root = this;
  const view = (root.ownerDocument ?? root).defaultView;
  if (!view) return found;
  const selectors = [];
  const data = view.jQuery?._data;
  if (data && root.nodeType === 9) for (const owner of [root, ...root.querySelectorAll('*')]) {
    let events; try { events = data(owner, 'events'); } catch { continue; }
    for (const type of ['click', 'mousedown', 'mouseup']) for (const one of events?.[type] ?? []) if (one.selector) selectors.push([owner, one.selector]);
  }
  for (const element of root.querySelectorAll('*')) {
    const parent = element.parentElement ?? root.host ?? null;
    const cursor = view.getComputedStyle(element).cursor === 'pointer' && (!parent || view.getComputedStyle(parent).cursor !== 'pointer');
    const delegated = selectors.some(([owner, selector]) => { try { return (owner.nodeType === 9 || owner !== element && owner.contains(element)) && element.matches(selector); } catch { return false; } });
    let react = false;
    for (const key of Object.keys(element)) if (key.startsWith('__reactProps$')) react = ['onClick', 'onMouseDown', 'onPointerDown', 'onDoubleClick'].some((name) => typeof element[key]?.[name] === 'function');
    const editable = element.isContentEditable && !parent?.isContentEditable;
    const label = element.localName === 'label' && element.control && !element.control.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (cursor || delegated || react || editable || label) found.push([element, [cursor && 'pointer', delegated && 'delegated', react && 'react', editable && 'editable', label && 'label'].filter(Boolean).join()]);
  }
  return found.flat();
}`;

// In the page: what an element is, where it is, whether a press arrives at it. The arguments are all items.
const MEASURE = `function (...all) {
  const rootOf = (host) => window[Symbol.for('census')]?.root(host) ?? host.shadowRoot ?? null;
  const parentOf = (node) => { const p = node.parentNode; if (!p) return null; if (p.nodeType === 11) return p.host ?? null; return p.nodeType === 1 ? p : null; };
  const contains = (outer, inner) => { for (let n = inner; n; n = parentOf(n)) if (n === outer) return true; return false; };
  const offsetOf = (element) => {
    let x = 0, y = 0;
    for (let view = element.ownerDocument.defaultView; view && view !== top && view.frameElement; view = view.parent) {
      const r = view.frameElement.getBoundingClientRect(); x += r.left + view.frameElement.clientLeft; y += r.top + view.frameElement.clientTop;
    }
    return { x, y };
  };
  const deepest = (doc, x, y) => { let hit = doc.elementFromPoint(x, y); for (;;) { const next = hit && rootOf(hit)?.elementFromPoint(x, y); if (!next || next === hit) return hit; hit = next; } };
  const native = (e) => e.matches('a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=link], [role=tab], [role=checkbox], [role=radio], [role=switch], [role=menuitem], [role=option], [role=combobox], [role=slider], [role=textbox], [role=treeitem], [contenteditable=""], [contenteditable=true], details > summary');
  const set = new Map(all.map((e, i) => [e, i]));
  const visibleOf = (e) => {
    if (!e.isConnected) return false;
    if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) && getComputedStyle(e).display !== 'contents') return false;
    let rects = [...e.getClientRects()].filter((r) => r.width >= 1 && r.height >= 1);
    if (!rects.length) rects = [...e.children].flatMap((c) => [...c.getClientRects()]).filter((r) => r.width >= 1 && r.height >= 1);
    return rects[0] ?? false;
  };
  // Folded away: a box around it hides what overflows, shows nothing of it, and a person cannot scroll it.
  const folded = (e, box) => {
    let { left, top, right, bottom } = box;
    for (let n = parentOf(e); n && !/^(body|html)$/.test(n.localName); n = parentOf(n)) {
      const style = getComputedStyle(n);
      if (style.display === 'contents') continue;
      const r = n.getBoundingClientRect();
      for (const [axis, from, to] of [[style.overflowX, 'left', 'right'], [style.overflowY, 'top', 'bottom']]) {
        const [a, b] = from === 'left' ? [left, right] : [top, bottom];
        if (axis === 'visible') continue;
        if (axis === 'hidden' || axis === 'clip') { if (Math.min(b, r[to]) - Math.max(a, r[from]) < 2) return true; } else if (from === 'left') { left = r.left; right = r.right; } else { top = r.top; bottom = r.bottom; }
      }
      if (style.position === 'fixed') return false;
    }
    return false;
  };
  // All of them before anything is scrolled.
  const away = all.map((e) => { const box = visibleOf(e); return box && folded(e, box); });
  const press = (e, i) => {
    // Does a press at one of its points arrive?
    const doc = e.ownerDocument;
    const box = visibleOf(e);
    if (!box) return 'gone';
    (e.getClientRects().length ? e : e.firstElementChild ?? e).scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    let cover = null;
    const rects = e.getClientRects().length ? [...e.getClientRects()] : [...e.children].flatMap((c) => [...c.getClientRects()]);
    for (const r of rects.slice(0, 4)) for (const [fx, fy] of [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.1, .1], [.9, .9], [.9, .1], [.1, .9], [.05, .5], [.95, .5]]) {
      const x = r.left + r.width * fx, y = r.top + r.height * fy;
      const hit = deepest(doc, x, y);
      if (!hit) continue;
      const mine = contains(e, hit) || e.labels && [...e.labels].some((l) => contains(l, hit)) || e.control && contains(e.control, hit);
      // A point that belongs to another item inside it is that item's.
      const other = mine && all.some((o, j) => j !== i && o !== e && contains(e, o) && contains(o, hit) && (native(o) || !native(e)));
      if (mine && !other) return 'yes';
      cover = cover ?? (mine ? 'its own parts' : hit.localName + (hit.id ? '#' + hit.id : '') + (typeof hit.className === 'string' && hit.className ? '.' + hit.className.trim().split(/\\s+/)[0] : ''));
    }
    return cover ? 'covered by ' + cover : 'outside';
  };
  return JSON.stringify(all.map((e, i) => {
    const box = visibleOf(e);
    const o = offsetOf(e);
    const at = box && [Math.round(box.left + o.x + scrollX), Math.round(box.top + o.y + scrollY), Math.round(box.width), Math.round(box.height)];
    let outer = -1; let strongInside = 0; let inside = 0;
    for (let n = parentOf(e); n; n = parentOf(n)) if (set.has(n)) { outer = set.get(n); break; }
    for (const other of all) if (other !== e && contains(e, other)) { inside += 1; if (native(other) && visibleOf(other)) strongInside += 1; }
    const text = (e.innerText ?? e.textContent ?? '').replace(/\\s+/g, ' ').trim().slice(0, 40);
    return { tag: e.localName, id: e.id || undefined, cls: typeof e.className === 'string' ? e.className.slice(0, 60) : undefined, native: native(e), text, box: at || null, outer, inside, strongInside,
      parts: e.childElementCount, cursor: getComputedStyle(e).cursor === 'pointer', share: box ? box.width * box.height / (innerWidth * innerHeight) : 0,
      disabled: e.matches(':disabled') || e.getAttribute('aria-disabled') === 'true', press: !box ? 'invisible' : away[i] ? 'folded away' : press(e, i) };
  }));
}`;

/** All items of the page that is open in a Playwright page, with the ids of their nodes; `mark` sets an expando on each. */
export async function census(page) {
  const cdp = await page.context().newCDPSession(page);
  const kinds = new Map();
  const add = (id, kind) => { if (!id) return; if (!kinds.has(id)) kinds.set(id, new Set()); kinds.get(id).add(kind); };
  const ax = new Map();
  await cdp.send('DOM.enable');
  await cdp.send('Accessibility.enable');
  const { root } = await cdp.send('DOM.getDocument', { depth: -1, pierce: true });
  const roots = [];
  let foreign = 0;
  let closed = 0;
  const attributes = (node) => Object.fromEntries((node.attributes ?? []).flatMap((value, i, list) => (i % 2 ? [] : [[value, list[i + 1]]])));
  const walk = (node) => {
    if (node.nodeType === 9 || node.nodeType === 11) roots.push(node.backendNodeId);
    if (node.shadowRootType === 'closed') closed += 1;
    if (node.nodeType === 1) {
      const name = node.localName;
      const a = attributes(node);
      if ((name === 'a' || name === 'area') && 'href' in a) add(node.backendNodeId, 'link');
      else if (/^(button|select|textarea|summary)$/.test(name) || name === 'input' && a.type !== 'hidden') add(node.backendNodeId, 'native');
      if (a.onclick || a.onmousedown || a.ondblclick) add(node.backendNodeId, 'listener');
      if (name === 'iframe' && !node.contentDocument) foreign += 1;
    }
    for (const child of [...(node.children ?? []), ...(node.shadowRoots ?? []).filter((r) => r.shadowRootType !== 'user-agent'), ...(node.contentDocument ? [node.contentDocument] : [])]) walk(child);
  };
  walk(root);
  // Listeners of the whole document, closed roots and frames of the same process included.
  const doc = await cdp.send('Runtime.evaluate', { expression: 'document' });
  const { listeners } = await cdp.send('DOMDebugger.getEventListeners', { objectId: doc.result.objectId, depth: -1, pierce: true });
  for (const one of listeners) if (CLICKS.has(one.type)) add(one.backendNodeId, 'listener');
  // The accessibility tree of every frame.
  const frames = [];
  const gather = (tree) => { frames.push(tree.frame.id); for (const child of tree.childFrames ?? []) gather(child); };
  gather((await cdp.send('Page.getFrameTree')).frameTree);
  for (const frameId of frames) {
    const tree = await cdp.send('Accessibility.getFullAXTree', { frameId }).catch(() => ({ nodes: [] }));
    for (const node of tree.nodes) {
      if (node.ignored || !node.backendDOMNodeId) continue;
      const role = node.role?.value;
      ax.set(node.backendDOMNodeId, { role, name: node.name?.value ?? '' });
      if (ROLES.has(role)) add(node.backendDOMNodeId, 'ax');
    }
  }
  // Hints of each root.
  const objects = new Map();
  for (const id of roots) {
    const { object } = await cdp.send('DOM.resolveNode', { backendNodeId: id }).catch(() => ({}));
    if (!object) continue;
    const answer = await cdp.send('Runtime.callFunctionOn', { objectId: object.objectId, functionDeclaration: HINTS });
    if (!answer.result.objectId) continue;
    const { result } = await cdp.send('Runtime.getProperties', { objectId: answer.result.objectId, ownProperties: true });
    const values = result.filter((p) => /^\d+$/.test(p.name)).sort((a, b) => a.name - b.name).map((p) => p.value);
    for (let i = 0; i + 1 < values.length; i += 2) {
      const { node } = await cdp.send('DOM.describeNode', { objectId: values[i].objectId });
      objects.set(node.backendNodeId, values[i].objectId);
      for (const kind of values[i + 1].value.split(',')) add(node.backendNodeId, kind);
    }
  }
  // Measure all of them in one call.
  const ids = [...kinds.keys()];
  const args = [];
  const kept = [];
  for (const id of ids) {
    const { object } = await cdp.send('DOM.resolveNode', { backendNodeId: id }).catch(() => ({}));
    if (!object || object.subtype !== 'node' || !object.className || /Document|Window/.test(object.className)) continue;
    args.push({ objectId: object.objectId });
    kept.push(id);
  }
  const measured = await cdp.send('Runtime.callFunctionOn', { objectId: doc.result.objectId, functionDeclaration: MEASURE, arguments: args, returnByValue: true });
  if (measured.exceptionDetails) throw new Error(measured.exceptionDetails.exception?.description ?? 'the count failed');
  const items = JSON.parse(measured.result.value).map((item, i) => ({ ...item, index: i, node: kept[i], kinds: [...kinds.get(kept[i])], ...ax.get(kept[i]) }));
  for (const item of items) item.verdict = judge(item, items);
  await page.evaluate(() => window.scroll(0, 0));
  return { items, objects: args.map((arg) => arg.objectId), cdp, foreign, closed };
}

/** Whether an item is a control of its own that can be reached; else why not. */
function judge(item, items) {
  if (/^(html|body|option|optgroup)$/.test(item.tag) && item.tag !== 'option') return 'page';
  if (item.tag === 'option') return 'part of a list';
  if (!item.box) return 'invisible';
  const weak = !item.native && !item.kinds.includes('editable') && !item.kinds.includes('label') && !(item.kinds.includes('ax') && ROLES.has(item.role));
  const own = item.kinds.some((kind) => kind === 'listener' || kind === 'react' || kind === 'delegated');
  const outer = items[item.outer];
  if (weak && item.strongInside && !item.cursor) return 'listens for its parts';
  if (weak && item.inside > 1 && item.share > 0.5) return 'listens for its parts';
  if (weak && item.parts > 1 && item.inside && !item.cursor) return 'listens for its parts';
  // A container that only wraps the control inside it, or a part of a control without a handler of its own.
  if (weak && !own && (item.inside || outer)) return 'same control';
  if (weak && outer && outer.native && !item.kinds.includes('listener')) return 'same control';
  if (weak && item.strongInside && item.press !== 'yes') return 'same control';
  if (item.kinds.includes('label') && !own && weak && outer) return 'same control';
  if (item.press !== 'yes') return item.press;
  return 'control';
}
