// Runs in every document before the page's own code. Remembers what cannot be asked for later: event listeners, closed
// shadow roots, pending timers, effects that leave no mark in the document, and when the document last changed.
// Wrapped functions are proxies of the originals, so that they look native and always call through.
(() => {
  const KEY = Symbol.for('agent-test');
  if (window[KEY]) {
    window[KEY].ensure(document);
    return;
  }
  const api = {};
  Object.defineProperty(window, KEY, { value: api });
  const now = () => performance.now();
  const setTimer = window.setTimeout.bind(window);
  api.later = setTimer;
  api.now = now;
  api.born = now();
  api.doc = Math.random().toString(36).slice(2, 10);

  const wrap = (owner, name, around) => {
    const original = owner && owner[name];
    if (typeof original !== 'function') return;
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    if (descriptor && (!descriptor.configurable || descriptor.get)) return;
    try {
      Object.defineProperty(owner, name, { ...(descriptor ?? { writable: true, configurable: true, enumerable: true }), value: new Proxy(original, { apply: around }) });
    } catch { /* a page may forbid it */ }
  };

  // Listeners: element -> Map(type -> count).
  const listeners = new WeakMap();
  api.listeners = (target) => listeners.get(target);
  wrap(EventTarget.prototype, 'addEventListener', (target, self, args) => {
    const owner = self ?? window;
    const [type, handler] = args;
    if (handler && typeof type === 'string' && (typeof owner === 'object')) {
      let types = listeners.get(owner);
      if (!types) listeners.set(owner, (types = new Map()));
      types.set(type, (types.get(type) ?? 0) + 1);
    }
    return Reflect.apply(target, self, args);
  });
  wrap(EventTarget.prototype, 'removeEventListener', (target, self, args) => {
    const types = listeners.get(self ?? window);
    const count = types?.get(args[0]);
    if (count > 1) types.set(args[0], count - 1);
    else if (count === 1) types.delete(args[0]);
    return Reflect.apply(target, self, args);
  });

  // Elements whose handler was set as a property (`element.onclick = ...`); what it is now is asked of them.
  const assigned = new WeakSet();
  api.assigned = (element) => assigned.has(element);
  for (const owner of [window.HTMLElement?.prototype, window.SVGElement?.prototype]) {
    for (const name of owner ? Object.getOwnPropertyNames(owner) : []) {
      if (!name.startsWith('on')) continue;
      const descriptor = Object.getOwnPropertyDescriptor(owner, name);
      if (!descriptor?.set || !descriptor.configurable) continue;
      const set = new Proxy(descriptor.set, {
        apply: (target, self, args) => { if (self && typeof self === 'object') assigned.add(self); return Reflect.apply(target, self, args); },
      });
      try { Object.defineProperty(owner, name, { ...descriptor, set }); } catch { /* a page may forbid it */ }
    }
  }

  // Closed shadow roots, for the walk; the page never sees them.
  const roots = new WeakMap();
  api.shadow = (host) => host.shadowRoot ?? roots.get(host) ?? null;
  wrap(Element.prototype, 'attachShadow', (target, self, args) => {
    const root = Reflect.apply(target, self, args);
    roots.set(self, root);
    api.attach(root);
    return root;
  });

  // What may lead to a change later on.
  let stirs = 0;

  // Effects that leave no mark in the document.
  api.effects = [];
  const effect = (name) => { if (api.effects.length < 200) api.effects.push(name); };
  for (const name of ['alert', 'confirm', 'prompt']) {
    wrap(window, name, (target, self, args) => { stirs += 1; return Reflect.apply(target, self, args); });
  }
  wrap(window, 'print', () => effect('print'));
  wrap(window, 'scrollTo', (target, self, args) => { effect('scroll'); return Reflect.apply(target, self, args); });
  wrap(Element.prototype, 'scrollIntoView', (target, self, args) => { if (!api.quiet) effect('scroll'); return Reflect.apply(target, self, args); });
  if (window.Clipboard) wrap(Clipboard.prototype, 'writeText', (target, self, args) => { effect('clipboard'); return Reflect.apply(target, self, args); });
  wrap(Document.prototype, 'execCommand', (target, self, args) => { effect('command'); return Reflect.apply(target, self, args); });
  if (window.Storage) {
    wrap(Storage.prototype, 'setItem', (target, self, args) => { effect('storage'); return Reflect.apply(target, self, args); });
    wrap(Storage.prototype, 'removeItem', (target, self, args) => { effect('storage'); return Reflect.apply(target, self, args); });
  }
  if (window.HTMLMediaElement) wrap(HTMLMediaElement.prototype, 'play', (target, self, args) => { effect('play'); return Reflect.apply(target, self, args); });

  // Timers. A one-shot timer that is due soon is work to wait for; chains and intervals that go on are a ticker.
  const SOON = 1600;
  const timers = new Map();
  const seen = new Map();
  let level = 0;
  let source = null;
  // A timer that a page sets while it loads, and that does nothing when it fires, is not waited for at the next load of the
  // same page in this session: `idle` and `busy` say what was learned, `known` what earlier loads have told. It is known by
  // its delay and its code.
  const idle = new Set();
  const busy = new Set();
  let known = new Set();
  let used = false;
  const stirred = () => stirs + api.changes + api.effects.length;
  const keyOf = (handler, delay) => {
    const code = Function.prototype.toString.call(handler);
    return `${delay}|${code.length}|${code.slice(0, 60)}`;
  };
  let learning = 0;
  const learn = (key, before) => {
    learning += 1;
    setTimer(() => { learning -= 1; (stirred() === before ? idle : busy).add(key); }, 0);
  };
  api.learned = (told) => {
    known = new Set(told);
    return { idle: [...idle].filter((key) => !busy.has(key)).slice(0, 50), busy: [...busy].slice(0, 50) };
  };
  for (const [owner, name] of [[window, 'fetch'], [window.XMLHttpRequest?.prototype, 'send']]) {
    wrap(owner, name, (target, self, args) => { stirs += 1; return Reflect.apply(target, self, args); });
  }
  const inside = (from, depth, self, handler, rest) => {
    const before = [level, source];
    level = depth;
    source = from;
    try {
      return Reflect.apply(handler, self, rest);
    } finally {
      level = before[0];
      // The observer's callback and promise reactions run before the next task.
      setTimer(() => { if (source === from) source = null; }, 0);
    }
  };
  wrap(window, 'setTimeout', (target, self, args) => {
    const [handler] = args;
    if (typeof handler !== 'function') return Reflect.apply(target, self, args);
    const delay = Math.max(0, Number(args[1]) || 0);
    const depth = level + 1;
    const times = (seen.get(delay) ?? 0) + 1;
    seen.set(delay, times);
    const chain = depth > 3 || times > 12 ? { born: source?.born ?? api.born } : source;
    let id = 0;
    stirs += 1;
    const soon = delay <= SOON && depth <= 3 && times <= 12;
    const key = soon && !used && delay >= 50 ? keyOf(handler, delay) : null;
    const run = function (...rest) {
      timers.delete(id);
      if (key) learn(key, stirred());
      return inside(chain, depth, this, handler, rest);
    };
    id = Reflect.apply(target, self, [run, ...args.slice(1)]);
    if (soon) timers.set(id, { due: now() + delay, key });
    return id;
  });
  wrap(window, 'clearTimeout', (target, self, args) => {
    timers.delete(args[0]);
    return Reflect.apply(target, self, args);
  });
  const intervals = new Map();
  wrap(window, 'setInterval', (target, self, args) => {
    const [handler] = args;
    if (typeof handler !== 'function') return Reflect.apply(target, self, args);
    const from = { born: now(), every: Math.max(4, Number(args[1]) || 0), touched: 0 };
    const run = function (...rest) { return inside(from, 4, this, handler, rest); };
    const id = Reflect.apply(target, self, [run, ...args.slice(1)]);
    intervals.set(id, from);
    return id;
  });
  wrap(window, 'clearInterval', (target, self, args) => {
    intervals.delete(args[0]);
    return Reflect.apply(target, self, args);
  });
  let frames = 0;
  wrap(window, 'requestAnimationFrame', (target, self, args) => {
    const [handler] = args;
    if (typeof handler !== 'function') return Reflect.apply(target, self, args);
    stirs += 1;
    const from = source?.frames ? source : { born: now(), frames: true };
    const run = function (...rest) { frames += 1; return inside(from, level, this, handler, rest); };
    return Reflect.apply(target, self, [run, ...args.slice(1)]);
  });

  // Changes. A change that a ticker older than YOUNG makes is background: nobody waits for it, and it is no effect.
  const YOUNG = 1500;
  api.changed = now();
  api.changes = 0;
  api.background = 0;
  const observer = new MutationObserver((records) => {
    if (source && now() - source.born > YOUNG) {
      api.background += records.length;
      return;
    }
    if (source) source.touched = now();
    api.changed = now();
    api.changes += records.length;
  });
  api.attach = (root) => {
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  };
  // A frame may put another document into the same window without running this script again.
  let root = null;
  api.ensure = (now) => {
    if (now === root) return;
    root = now;
    api.attach(root);
    listen(root);
  };
  // Values, checks and scrolling do not show as mutations.
  const add = EventTarget.prototype.addEventListener;
  // What a person does is nobody's tick, even right after one.
  for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'keydown', 'keyup']) {
    add.call(window, type, () => { source = null; used = true; }, { capture: true, passive: true });
  }
  // A page that the browser had kept, and shows again.
  add.call(window, 'pageshow', (event) => { if (event.persisted) api.restored = true; }, { capture: true, passive: true });
  listeners.delete(window);
  const listen = (target) => ['input', 'change', 'toggle', 'focusin', 'scroll'].forEach((type) => {
    add.call(target, type, () => {
      if (type === 'focusin') api.focused = (api.focused ?? 0) + 1;
      else if (type === 'scroll') { if (!api.quiet) api.scrolled = (api.scrolled ?? 0) + 1; }
      else { api.changes += 1; api.changed = now(); }
    }, { capture: true, passive: true });
    listeners.delete(target);
  });
  api.ensure(document);

  api.pending = () => {
    const t = now();
    let soon = learning;
    for (const [id, { due, key }] of timers) {
      if (due < t - 1000) timers.delete(id);
      else if (!key || !known.has(key)) soon += 1;
    }
    // A young interval that works on the page may still have something to say between two ticks.
    for (const from of intervals.values()) if (t - from.born < YOUNG && from.touched && t - from.touched < from.every * 4 + 400) soon += 1;
    return soon;
  };
  api.moving = () => {
    try {
      return document.getAnimations().some((animation) => {
        if (animation.playState !== 'running') return false;
        const { endTime } = animation.effect?.getComputedTiming() ?? {};
        return Number.isFinite(endTime) && endTime < 5000;
      });
    } catch {
      return false;
    }
  };
})();
