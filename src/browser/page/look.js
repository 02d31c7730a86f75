// The look: one walk over the document, its open and closed shadow roots and its same-origin frames. Returns every
// interactive element with what is needed to name it, to tell it from others and to find it again, and what is open.
(() => {
  const KEY = Symbol.for('agent-test');
  const api = window[KEY];
  if (!api || api.look) return;

  const SQUASHABLE = /[\uE000-\uF8FF]|[^\S ]| {2}|^ | $/;
  const squash = (text) => {
    const plain = String(text ?? '');
    return SQUASHABLE.test(plain) ? plain.replace(/[\uE000-\uF8FF]/g, '').replace(/\s+/g, ' ').trim() : plain;
  };
  const cut = (text, most = 160) => { const flat = squash(text); return flat.length > most ? flat.slice(0, most - 1) + '…' : flat; };
  const uids = new WeakMap();
  const byUid = new Map();
  let next = 1;
  const uidOf = (element) => {
    let uid = uids.get(element);
    if (!uid) { uid = next++; uids.set(element, uid); byUid.set(uid, new WeakRef(element)); }
    return uid;
  };
  api.element = (uid) => byUid.get(uid)?.deref() ?? null;
  api.uidOf = uidOf;

  const TEST_IDS = ['data-testid', 'data-test-id', 'data-test', 'data-qa', 'data-cy'];
  const parentElementOf = (element) => {
    let node = element.parentNode;
    if (node && node.nodeType === 11) node = node.host ?? null;
    return node && node.nodeType === 1 ? node : null;
  };
  api.parentElementOf = parentElementOf;
  const containsComposed = (outer, inner) => {
    for (let node = inner; node; node = parentElementOf(node)) if (node === outer) return true;
    return false;
  };
  api.containsComposed = containsComposed;

  // What is asked of many elements again and again is remembered for a look: places among siblings, ids, boxes.
  let paths = null;
  const once = (name, element, compute) => {
    const known = paths?.[name];
    if (!known) return compute(element);
    let value = known.get(element);
    if (value === undefined) { value = compute(element); known.set(element, value); }
    return value;
  };

  // What an element has of the nearest of its ancestors, itself included, that has it; not by recursion, as pages nest deep.
  const inherited = (name, element, own, none) => {
    const known = paths?.[name];
    const way = [];
    let value = none;
    for (let node = element; node; node = parentElementOf(node)) {
      const before = known?.get(node);
      if (before !== undefined) { value = before; break; }
      way.push(node);
      const mine = own(node);
      if (mine !== undefined) { value = mine; break; }
    }
    for (const node of way) known?.set(node, value);
    return value;
  };

  const styleOf = (element) => element.ownerDocument.defaultView?.getComputedStyle(element);

  // Rectangles of the element, or of its children when it has no box of its own.
  const rectsOf = (element) => once('rects', element, measure);
  const measure = (element) => {
    let rects = [...element.getClientRects()].filter((r) => r.width >= 1 && r.height >= 1);
    if (!rects.length && (styleOf(element)?.display === 'contents' || element.localName === 'a')) {
      rects = [...element.children].flatMap((child) => [...child.getClientRects()]).filter((r) => r.width >= 1 && r.height >= 1);
      if (!rects.length && element.firstChild) {
        const range = element.ownerDocument.createRange();
        range.selectNodeContents(element);
        rects = [...range.getClientRects()].filter((r) => r.width >= 1 && r.height >= 1);
      }
    }
    return rects;
  };
  api.rectsOf = rectsOf;

  const visible = (element, memo) => once('seen', element, (one) => isVisible(one, memo));
  const isVisible = (element, memo) => {
    if (element.checkVisibility && styleOf(element)?.display !== 'contents' && !element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) return false;
    const rects = rectsOf(element);
    if (!rects.length) return false;
    // Cut away by an ancestor that hides what overflows, and cannot be scrolled by a person.
    let box = rects[0];
    let left = box.left, top = box.top, right = box.right, bottom = box.bottom;
    let fixed = styleOf(element)?.position === 'fixed';
    for (let node = parentElementOf(element); node && !fixed; node = parentElementOf(node)) {
      if (node === node.ownerDocument.body || node === node.ownerDocument.documentElement) break;
      let style = memo.get(node);
      if (!style) {
        const computed = styleOf(node);
        style = { x: computed.overflowX, y: computed.overflowY, position: computed.position, opacity: computed.opacity, display: computed.display };
        if (style.x !== 'visible' || style.y !== 'visible') style.rect = node.getBoundingClientRect();
        memo.set(node, style);
      }
      if (style.opacity === '0' && !containsComposed(node, node.ownerDocument.activeElement)) return false;
      if (style.rect && style.display !== 'contents') {
        const hides = (value) => value === 'hidden' || value === 'clip';
        if (hides(style.x)) { left = Math.max(left, style.rect.left); right = Math.min(right, style.rect.right); }
        if (hides(style.y)) { top = Math.max(top, style.rect.top); bottom = Math.min(bottom, style.rect.bottom); }
        if (right - left < 2 || bottom - top < 2) return false;
        // What lies inside a box that scrolls can be brought anywhere into it: from here on the box counts.
        const scrolls = (value) => value === 'auto' || value === 'scroll';
        if (scrolls(style.x) && right + node.scrollLeft > style.rect.left) { left = style.rect.left; right = style.rect.right; }
        if (scrolls(style.y) && bottom + node.scrollTop > style.rect.top) { top = style.rect.top; bottom = style.rect.bottom; }
      }
      if (style.position === 'fixed') fixed = true;
    }
    const view = element.ownerDocument.defaultView;
    // Left of or above everything that can be scrolled to.
    if (right + view.scrollX <= 0 || bottom + view.scrollY <= 0) return false;
    return true;
  };

  const FALLBACK_ROLES = { A: 'link', BUTTON: 'button', SELECT: 'combobox', TEXTAREA: 'textbox', SUMMARY: 'button', AREA: 'link' };
  const roleOf = (element) => {
    const computed = element.computedRole;
    if (computed && computed !== 'generic' && computed !== 'none') return computed;
    const attribute = element.getAttribute('role');
    if (attribute) return attribute.split(/\s+/)[0];
    if (element.localName === 'summary') return 'button';
    if (element.localName === 'input') {
      const type = element.type;
      if (type === 'checkbox' || type === 'radio') return type;
      if (['button', 'submit', 'reset', 'image', 'file', 'color'].includes(type)) return 'button';
      return 'textbox';
    }
    return FALLBACK_ROLES[element.tagName] ?? 'generic';
  };
  const labelTextOf = (element) => cut([...(element.labels ?? [])].map((label) => label.textContent).join(' '));
  const textOf = (element) => cut(element.innerText ?? element.textContent);
  const nameOf = (element) => {
    // A file field's own name carries the chosen file.
    const computed = element.type === 'file' ? labelTextOf(element) : squash(element.computedName);
    if (computed) return cut(computed);
    const root = element.getRootNode();
    const by = (element.getAttribute('aria-labelledby') ?? '').split(/\s+/).filter(Boolean).map((id) => root.getElementById?.(id)?.textContent).join(' ');
    const own = squash(by) || squash(element.getAttribute('aria-label')) || labelTextOf(element);
    if (own) return cut(own);
    const input = /^(input|textarea|select)$/.test(element.localName);
    if (input && ['button', 'submit', 'reset'].includes(element.type) && element.value) return cut(element.value);
    const text = input ? '' : textOf(element);
    if (text) return text;
    const inner = element.querySelector?.('img[alt], svg title, [aria-label], [title]');
    const other = squash(element.getAttribute('title')) || squash(element.getAttribute('placeholder'))
      || squash(inner?.getAttribute('alt') ?? inner?.getAttribute('aria-label') ?? inner?.getAttribute('title') ?? inner?.textContent);
    if (other) return cut(other);
    if (input) return cut(element.name || element.type);
    const icon = [...(element.querySelectorAll?.('[class]') ?? []), element].map((e) => e.getAttribute('class') ?? '').join(' ').match(/(?:fa|bi|icon|mdi|glyphicon|ion|ti|lucide)-([a-z][a-z0-9-]*)/);
    return icon ? icon[1].replace(/-/g, ' ') : '';
  };
  api.nameOf = nameOf;
  api.roleOf = roleOf;

  // The browser's own name and role cost milliseconds each where its accessibility tree is not alive (a page that came
  // back from the page cache), so they are kept for as long as nothing that makes them has changed.
  const named = new WeakMap();
  const NAMING = ['aria-label', 'aria-labelledby', 'title', 'placeholder', 'alt', 'role', 'value', 'type', 'href', 'aria-describedby'];
  let spent = 0;
  const identify = (element) => {
    const key = `${element.textContent.length > 2000 ? element.textContent.length : element.textContent}|${NAMING.map((name) => element.getAttribute(name) ?? '').join('|')}|${element.value?.length ?? ''}|${element.labels?.length ?? ''}`;
    const known = named.get(element);
    if (known?.key === key) return known;
    if (spent > 400) {
      const tag = element.getAttribute('role')?.split(/\s+/)[0] ?? FALLBACK_ROLES[element.tagName] ?? (element.localName === 'input' ? 'textbox' : 'generic');
      return { role: known?.role ?? tag, name: known?.name ?? textOf(element) };
    }
    const start = api.now();
    const entry = { key, role: roleOf(element), name: nameOf(element) };
    spent += api.now() - start;
    // What is not shown has another name than what is: pictures in it do not count.
    if (element.checkVisibility?.({ visibilityProperty: true }) ?? true) named.set(element, entry);
    return entry;
  };

  const stableId = (id) => id && id.length <= 40 && !/\d{4,}|[0-9a-f]{8}-|:|^ember|^react|^radix|^headlessui|^mui-|[0-9a-f]{10,}/i.test(id);
  const isOnly = (root, id) => {
    if (!paths) return root.querySelectorAll('#' + CSS.escape(id)).length === 1;
    let ids = paths.ids.get(root);
    if (!ids) {
      ids = new Map();
      for (const one of root.querySelectorAll('[id]')) ids.set(one.id, (ids.get(one.id) ?? 0) + 1);
      paths.ids.set(root, ids);
    }
    return ids.get(id) === 1;
  };
  const FEW = 16;
  const placeOf = (node) => {
    const parent = node.parentNode;
    const name = node.localName;
    if (!parent?.children) return { index: 1, same: 1 };
    if (parent.children.length <= FEW) {
      let index = 0;
      let same = 0;
      for (let sibling = parent.firstElementChild; sibling; sibling = sibling.nextElementSibling) {
        if (sibling.localName === name) same += 1;
        if (sibling === node) index = same;
      }
      return { index, same };
    }
    let known = paths?.places.get(parent);
    if (!known) {
      known = { index: new Map(), same: new Map() };
      for (let sibling = parent.firstElementChild; sibling; sibling = sibling.nextElementSibling) {
        const same = (known.same.get(sibling.localName) ?? 0) + 1;
        known.same.set(sibling.localName, same);
        known.index.set(sibling, same);
      }
      paths?.places.set(parent, known);
    }
    return { index: known.index.get(node) ?? 1, same: known.same.get(name) ?? 1 };
  };
  const cssOf = (element) => {
    const known = paths?.css.get(element);
    if (known) return known;
    const root = element.getRootNode();
    const own = (() => {
      if (stableId(element.id) && isOnly(root, element.id)) return '#' + CSS.escape(element.id);
      if (element.localName === 'html' || element.localName === 'body') return element.localName;
      const { index, same } = placeOf(element);
      const step = same > 1 ? `${element.localName}:nth-of-type(${index})` : element.localName;
      const parent = element.parentElement;
      return parent && parent.localName !== 'html' ? `${cssOf(parent)} > ${step}` : step;
    })();
    paths?.css.set(element, own);
    return own;
  };
  const chainOf = (element) => {
    const shadow = [];
    for (let root = element.getRootNode(); root.nodeType === 11 && root.host; root = root.host.getRootNode()) shadow.unshift(cssOf(root.host));
    return shadow;
  };

  const NATIVE = new Set(['button', 'select', 'textarea', 'summary']);
  const ROLES = new Set(['button', 'link', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'checkbox', 'radio', 'switch', 'treeitem', 'combobox', 'slider', 'spinbutton', 'textbox', 'searchbox']);
  const CLICKS = ['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'dblclick', 'contextmenu', 'touchstart', 'touchend', 'auxclick'];
  const HOVERS = ['mouseenter', 'mouseover', 'pointerenter', 'pointerover'];
  const PROP = /^(\$\$|__)?(on)?(click|press|tap|mousedown|pointerdown|select)$/i;

  const HANDLERS = [...CLICKS, ...HOVERS, 'keydown', 'change'].map((type) => [type, 'on' + type]);

  const NO_TYPES = new Set();
  const handlerTypes = (element, own) => {
    const heard = own.listeners(element);
    let types = null;
    const add = (type) => { types = types ?? new Set(heard?.keys()); types.add(type); };
    if (heard?.size) types = new Set(heard.keys());
    // The properties are asked for only where one was set, or stands as an attribute: asking is dear.
    const written = element.hasAttributes() && element.getAttributeNames().some((name) => name.startsWith('on'));
    if (written || own.assigned(element)) for (const [type, property] of HANDLERS) if (element[property]) add(type);
    // A framework keeps the element's own handlers in a property.
    for (const key of Object.getOwnPropertyNames(element)) {
      const value = element[key];
      if (typeof value === 'function' && PROP.test(key)) add('click');
      else if (value && typeof value === 'object' && /props|handlers|events|vei|listeners/i.test(key)) {
        const bag = Object.keys(value).slice(0, 60);
        const has = (pattern) => bag.some((name) => pattern.test(name) && typeof (value[name]?.value ?? value[name]) === 'function');
        if (has(/^(on)?change$/i)) add('change');
        if (has(/^(on)?double_?click$|^(on)?dbl_?click$/i)) add('dblclick');
        if (has(/^(on)?context_?menu$/i)) add('contextmenu');
        if (has(/^(on)?(click|mouse_?down|pointer_?down)$/i)) add('click');
        else if (/reactProps/.test(key)) types?.delete('click');
      }
    }
    return types ?? NO_TYPES;
  };
  api.frameApi = (element) => element.ownerDocument.defaultView?.[KEY] ?? api;

  const NONE = [];
  const jqueryTargets = (element, own) => {
    // It listens itself where it delegates.
    if (!own.listeners(element)?.size) return NONE;
    try {
      const view = (element.ownerDocument ?? element).defaultView;
      if (!view.jQuery?._data) return NONE;
      const events = view.jQuery._data(element, 'events');
      const found = [];
      for (const type of ['click', 'mousedown', 'mouseup']) for (const one of events?.[type] ?? []) if (one.selector) found.push(one.selector);
      return found;
    } catch {
      return [];
    }
  };

  const LANDMARKS = { nav: 'navigation', header: 'banner', footer: 'contentinfo', aside: 'complementary', main: 'main' };
  const landmarkOf = (element) => inherited('landmark', element, (node) => {
    const role = node.getAttribute('role');
    if (role && /^(navigation|banner|contentinfo|complementary|main|menubar)$/.test(role)) return role;
    const own = LANDMARKS[node.localName];
    return own && !(own === 'banner' && parentElementOf(node)?.closest?.('main, article, section, [role=dialog]')) ? own : undefined;
  }, '');

  const CONFIRM = /\b(are you sure|really|confirm|cannot be undone|can't be undone|permanently|sicher|wirklich|sûr|seguro|sicuro|tem certeza|確認|确定|确认)\b|確認|确定|确认|정말|уверены/i;
  const overlayKind = (element, style) => {
    const role = element.getAttribute('role');
    if (role === 'alertdialog') return 'alertdialog';
    if (role === 'dialog' || element.getAttribute('aria-modal') === 'true' || (element.localName === 'dialog' && element.open)) return 'dialog';
    if (role === 'menu' || role === 'listbox' && (style.position === 'absolute' || style.position === 'fixed')) return 'menu';
    try { if (element.hasAttribute('popover') && element.matches(':popover-open')) return 'popover'; } catch { /* no popover */ }
    if (style.position === 'fixed' || style.position === 'absolute') {
      const word = ` ${element.getAttribute('class') ?? ''} ${element.id} `;
      if (/[\s_-](modal|dialog|drawer|offcanvas|lightbox|swal2-popup|popup-window|ui-dialog)(?=[\s_-]|$)/i.test(word) && !/backdrop|overlay/i.test(word)) return 'dialog';
      if (/[\s_-](dropdown-menu|dropdown|menu|submenu|popover|autocomplete|select2-dropdown|datepicker|daterangepicker|flatpickr-calendar|tooltip-menu)(?=[\s_-]|$)/i.test(word)) return 'menu';
    }
    return null;
  };

  // A drawer that waits beside the window is not open.
  const isParked = (element, style) => {
    const box = element.getBoundingClientRect();
    const view = element.ownerDocument.defaultView ?? window;
    if (box.width < 1 || box.height < 1) return false;
    const beside = box.right <= 1 || box.left >= view.innerWidth - 1;
    return beside || (style.position === 'fixed' && (box.bottom <= 1 || box.top >= view.innerHeight - 1));
  };

  const ERROR_TEXT = /\b(error|failed|failure|went wrong|exception|could not|unable to|not found|forbidden|unauthori[sz]ed|denied|fehler|erreur|échec|fallo|errore|erro|ошибка)\b|错误|失败|エラー|오류/i;

  const LOADING = /\b(loading|please wait|laden|wird geladen|chargement|cargando|carregando|caricamento)\b|загрузка|読み込み中|加载中|로딩/i;

  // The look itself.
  api.look = (options) => {
    paths = { ids: new Map(), places: new Map(), css: new Map(), rects: new Map(), seen: new Map(), landmark: new Map(), group: new Map(), layer: new Map() };
    try { return look(options); } finally { paths = null; }
  };
  const look = (options) => {
    const most = options?.nodes ?? 50000;
    // A glance tells everything but the controls.
    const glance = options?.glance === true;
    spent = 0;
    const memo = new Map();
    const elements = [];
    const overlays = [];
    const toasts = [];
    const frames = [];
    const broken = [];
    const texts = [];
    let nodes = 0;
    let truncated = false;
    let passwords = 0;
    let spinners = 0;
    let frameCount = 0;
    const tables = [];
    const tabs = [];
    const found = [];

    const walkRoot = (root, frame, offset, depth) => {
      const own = (root.defaultView ?? root.ownerDocument?.defaultView)?.[KEY] ?? api;
      const delegated = glance ? [] : jqueryTargets(root, own).map((selector) => ({ element: root, selector }));
      // Asking each element costs a check of all styles.
      let editable = (root.ownerDocument ?? root).designMode === 'on' || !!root.querySelector('[contenteditable]');
      const stack = [...(root.children ?? [])].reverse();
      while (stack.length) {
        const element = stack.pop();
        nodes += 1;
        if (nodes > most) { truncated = true; break; }
        const name = element.localName;
        if (name === 'script' || name === 'style' || name === 'template' || name === 'head' || name === 'noscript') continue;
        if (element.inert) continue;
        const shadow = own.shadow(element);
        if (shadow && !editable) editable = !!shadow.querySelector('[contenteditable]');
        consider(element, name, own, frame, offset, depth, delegated, editable);
        if (name === 'iframe' || name === 'frame') {
          enterFrame(element, frame, offset, depth);
          continue;
        }
        if (name === 'svg' && !element.querySelector('a, [role], [onclick]')) continue;
        for (let child = element.lastElementChild; child; child = child.previousElementSibling) stack.push(child);
        if (shadow) for (let i = shadow.children.length - 1; i >= 0; i -= 1) stack.push(shadow.children[i]);
      }
      resolveDelegated(delegated, frame, offset, depth);
    };

    const enterFrame = (element, frame, offset, depth) => {
      const rect = element.getBoundingClientRect();
      const css = cssOf(element);
      if (rect.width < 2 || rect.height < 2) return;
      let inner = null;
      try { inner = element.contentDocument; } catch { inner = null; }
      if (!inner || !inner.defaultView?.[KEY]) {
        frames.push({ css, url: element.src || '', skipped: inner ? 'not ready' : 'another origin' });
        return;
      }
      if (depth >= 3 || frameCount >= 20) {
        frames.push({ css, url: inner.URL, skipped: 'frames nested too deep' });
        return;
      }
      frameCount += 1;
      frames.push({ css, url: inner.URL, skipped: null });
      const style = styleOf(element);
      const dx = rect.left + element.clientLeft + (parseFloat(style.paddingLeft) || 0);
      const dy = rect.top + element.clientTop + (parseFloat(style.paddingTop) || 0);
      walkRoot(inner, [...frame, ...chainOf(element).map((css) => '>>' + css), css], { x: offset.x + dx, y: offset.y + dy }, depth + 1);
    };

    const consider = (element, name, own, frame, offset, depth, delegated, editable) => {
      const attribute = (key) => element.getAttribute(key);
      if (name === 'img' && element.complete && element.naturalWidth === 0 && element.currentSrc && !/^data:/.test(element.currentSrc)) {
        if (element.checkVisibility?.() !== false) broken.push(element.currentSrc);
      }
      if (name === 'input' && element.type === 'password' && visible(element, memo)) passwords += 1;
      const role = attribute('role');
      if ((name === 'table' || role === 'grid' || role === 'table' || role === 'treegrid') && tables.length < 5 && visible(element, memo)) {
        const rows = [...element.querySelectorAll('tbody > tr, [role=row]')].filter((row) => row.querySelector('td, [role=cell], [role=gridcell]'));
        const heads = [...element.querySelectorAll('thead th, [role=columnheader]')];
        tables.push({ element, rows, headers: (heads.length ? heads : [...element.querySelectorAll('tr:first-child th')]).map((th) => cut(th.innerText, 60)).filter(Boolean) });
      }
      if ((role === 'tab') && tabs.length < 40 && visible(element, memo)) tabs.push(nameOf(element));
      const style = (role || element.hasAttribute('class') || element.id || name === 'dialog' || element.hasAttribute('popover') || element.hasAttribute('style')) ? styleOf(element) : null;
      if (style && style.display !== 'none') {
        const kind = overlayKind(element, style);
        if (kind && visible(element, memo) && Number(style.opacity) > 0.01 && !isParked(element, style)) {
          const parent = overlays.find((o) => o.kind === kind && containsComposed(o.element, element));
          if (!parent) overlays.push({ element, kind, frame: frame.length });
        }
        const live = role === 'alert' || role === 'status' || /^(polite|assertive)$/.test(attribute('aria-live') ?? '');
        const word = ` ${attribute('class') ?? ''} `;
        const fixed = style.position === 'fixed' || style.position === 'absolute';
        if ((live || /[\s_-](toast|snackbar|notification|flash|alert|growl|message-box|toastr)(?=[\s_-]|$)/i.test(word)) && toasts.length < 20 && visible(element, memo)) {
          // A region that only holds messages is not one message: each of them comes and goes alone.
          const parts = [...element.children].filter((part) => visible(part, memo) && cut(part.innerText, 300));
          const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
          const region = !own && parts.length > 1 && parts.every((part) => part.localName === parts[0].localName);
          if (!toasts.some((t) => containsComposed(t.element, element) || containsComposed(element, t.element))) {
            for (const message of region ? parts.slice(0, 20) : [element]) {
              const text = cut(message.innerText, 300);
              if (text) toasts.push({ element: message, text, live, fixed, error: ERROR_TEXT.test(text) });
            }
          }
        }
        if (/[\s_-](spinner|loader|loading|skeleton)(?=[\s_-]|$)/i.test(word) || attribute('aria-busy') === 'true' || role === 'progressbar' && !attribute('aria-valuenow')) {
          // A spinner counts when it says, or its surroundings say, that something is still to come.
          const near = squash(parentElementOf(element)?.innerText).slice(0, 120) || '';
          const says = LOADING.test(squash(element.innerText).slice(0, 120)) || LOADING.test(element.getAttribute('aria-label') ?? '') || (near.length < 80 && LOADING.test(near));
          if ((says || attribute('aria-busy') === 'true' || element.closest('table, [role=grid], [role=table]')) && visible(element, memo)) spinners += 1;
        }
      }

      if (glance) return;

      // Is it a control?
      let why = null;
      let strong = false;
      if ((name === 'a' || name === 'area') && element.hasAttribute('href')) { why = 'link'; strong = true; }
      else if (NATIVE.has(name)) { why = 'native'; strong = true; }
      else if (name === 'input' && element.type !== 'hidden') { why = 'native'; strong = true; }
      else if (role && ROLES.has(role)) { why = 'role'; strong = true; }
      else if (editable && element.isContentEditable && !parentElementOf(element)?.isContentEditable) { why = 'editable'; strong = true; }
      const types = handlerTypes(element, own);
      const clicks = CLICKS.some((type) => types.has(type));
      const hovers = HOVERS.some((type) => types.has(type));
      for (const selector of jqueryTargets(element, own)) delegated.push({ element, selector });
      if (name === 'html' || name === 'body') return;
      if (!why && clicks) why = 'listener';
      if (!why && name !== 'iframe' && name !== 'label') {
        const cursor = styleOf(element)?.cursor;
        if (cursor === 'pointer') {
          const parent = parentElementOf(element);
          if (!parent || styleOf(parent)?.cursor !== 'pointer') why = 'pointer';
        }
      }
      if (!why && name === 'label' && element.control && !visible(element.control, memo)) { why = 'label'; strong = true; }
      if (!why && element.hasAttribute('tabindex') && element.tabIndex >= 0 && (types.has('keydown') || types.has('keyup'))) why = 'listener';
      const opens = hovers || attribute('aria-haspopup') && attribute('aria-haspopup') !== 'false' || name === 'li';
      if (!why && opens) {
        // A menu that only shows while the pointer is over its parent.
        const hidden = name === 'li' || attribute('aria-haspopup') ? element.querySelector(':scope ul a[href], :scope ul button, :scope [role=menu] [role=menuitem], :scope menu button') : null;
        if (hovers || (hidden && hidden.checkVisibility && !hidden.checkVisibility({ visibilityProperty: true }))) why = 'hover';
      }
      if (!why) return;
      found.push({ element, why, strong, types, clicks, hovers, frame, offset, depth });
    };

    // jQuery's handlers are kept by a container: what their selectors mean are the controls.
    const resolveDelegated = (delegated, frame, offset, depth) => {
      if (!delegated.length) return;
      const listed = new Set(found.map((f) => f.element));
      for (const { element, selector } of delegated) {
        let targets = [];
        try { targets = [...element.querySelectorAll(selector)].slice(0, 400); } catch { continue; }
        for (const target of targets) {
          if (listed.has(target)) continue;
          listed.add(target);
          found.push({ element: target, why: 'listener', strong: false, types: new Set(['click']), clicks: true, hovers: false, frame, offset, depth });
        }
      }
    };

    walkRoot(document, [], { x: 0, y: 0 }, 0);

    // Nested candidates: a container that only delegates is no control; a part without a handler of its own is not another one.
    const set = new Map(found.map((f) => [f.element, f]));
    const inner = new Map();
    for (const f of found) {
      for (let node = parentElementOf(f.element); node; node = parentElementOf(node)) {
        const outer = set.get(node);
        if (outer) { inner.set(outer.element, (inner.get(outer.element) ?? 0) + 1); f.outer = f.outer ?? outer; }
      }
    }
    const kept = [];
    for (const f of found) {
      const { element, why } = f;
      if (!visible(element, memo)) continue;
      const nested = inner.get(element) ?? 0;
      if (why === 'listener' || why === 'pointer') {
        if (nested && why === 'pointer') continue;
        if (why === 'pointer' && f.outer && f.outer.why !== 'hover') continue;
        if (why === 'listener') {
          const strongInside = nested > 0 && found.some((other) => other !== f && containsComposed(element, other.element) && visible(other.element, memo));
          const big = element.children.length > 1;
          // A row or card with a listener of its own is a control beside those inside it.
          const card = /^(tr|li|article)$/.test(element.localName) || element.getAttribute('role') === 'row';
          if (strongInside && element.localName === 'tbody') {
            const rows = [...element.children].filter((row) => row.localName === 'tr' && visible(row, memo)).slice(0, 500);
            for (const row of rows) if (!kept.some((other) => other.element === row)) kept.push({ ...f, element: row, why: 'delegated' });
            continue;
          }
          if (strongInside && (big || nested > 0) && !card && styleOf(element)?.cursor !== 'pointer') continue;
          if (strongInside && found.some((other) => other !== f && other.outer === f && other.why !== 'pointer' && element.childElementCount === 1)) continue;
          const rect = element.getBoundingClientRect();
          if (rect.width * rect.height > innerWidth * innerHeight * 0.6 && styleOf(element)?.cursor !== 'pointer') continue;
          if (element.localName === 'label' || (f.outer?.strong && !f.types.size)) continue;
          // One listener on a list: its items are the controls.
          const items = [...element.children].filter((child) => child.localName === element.children[0].localName && visible(child, memo));
          if (!strongInside && items.length >= 2 && items.length === element.childElementCount && /^(ul|ol|table|tbody|div|section|nav|menu)$/.test(element.localName) && items.every((item) => (item.getAttribute('class') ?? '').split(' ')[0] === (items[0].getAttribute('class') ?? '').split(' ')[0]) && styleOf(element)?.cursor !== 'pointer') {
            for (const item of items.slice(0, 500)) kept.push({ ...f, element: item, why: 'delegated' });
            continue;
          }
        }
      }
      if (why === 'hover' && f.hovers && !f.clicks) {
        const text = textOf(element);
        if (!text || nested > 3 || element.getBoundingClientRect().height > 200) continue;
      }
      if (why === 'label' && f.outer?.strong) continue;
      if (element.localName === 'option' ) continue;
      kept.push(f);
    }

    const overlayOf = (element) => {
      for (let i = overlays.length - 1; i >= 0; i -= 1) if (containsComposed(overlays[i].element, element)) return i;
      return -1;
    };
    const layerOf = (element) => inherited('layer', element, (node) => {
      if (node.localName === 'body') return null;
      const { position } = memo.get(node) ?? styleOf(node);
      if (position === 'fixed' || position === 'absolute') {
        const { zIndex } = styleOf(node);
        if (zIndex !== 'auto' && Number(zIndex) > 0 || position === 'fixed') {
          const rect = node.getBoundingClientRect();
          return { uid: uidOf(node), share: Math.round((rect.width * rect.height) / (innerWidth * innerHeight) * 100) / 100, fixed: position === 'fixed' };
        }
      }
      return undefined;
    }, null);

    // What the icons in a control are called: class names of it and of its parts.
    const iconsOf = (element) => {
      let names = '';
      for (const part of [element, ...(element.firstElementChild ? element.querySelectorAll('[class]') : [])]) {
        const name = part.getAttribute('class');
        if (name) names += `${names ? ' ' : ''}class="${name}"`;
        if (names.length > 400) break;
      }
      return names.slice(0, 400);
    };
    const classNames = (element) => (element.getAttribute('class') ?? '').split(/\s+/);
    const kindOf = (element) => once('group', element, (node) => `${node.localName}.${classNames(node).filter((c) => c && !/\d|^(active|open|show|selected|disabled|current|menu-open)$/.test(c)).sort().join('.')}`);
    const fields = new Map();
    const hasField = (around) => {
      if (!fields.has(around)) fields.set(around, !!around?.querySelector('input:not([type=hidden]):not([type=checkbox]):not([type=radio]), textarea'));
      return fields.get(around);
    };
    for (const f of kept.slice(0, 3000)) {
      const { element, frame, offset } = f;
      const rects = rectsOf(element);
      if (!rects.length) continue;
      const rect = rects[0];
      const { role, name: label } = identify(element);
      const row = element.closest('tr, [role=row]');
      const landmark = landmarkOf(element);
      // A table that lays out a navigation is no list of rows.
      const table = landmark === 'navigation' ? null : row?.closest('table, [role=grid], [role=table], [role=treegrid]');
      let rowIndex;
      let tableIndex;
      if (row && table) {
        const known = tables.findIndex((t) => t.element === table);
        if (known >= 0) {
          const at = tables[known].rows.indexOf(row);
          if (at >= 0) { rowIndex = at; tableIndex = known; }
        }
      }
      const disabled = element.disabled === true || element.getAttribute('aria-disabled') === 'true' || element.matches?.(':disabled') || /(^|\s)(disabled|is-disabled)(\s|$)/.test(element.getAttribute('class') ?? '') && styleOf(element)?.pointerEvents === 'none';
      const shadow = chainOf(element);
      const testId = TEST_IDS.map((key) => element.getAttribute(key)).find(Boolean);
      const classes = classNames(element).filter((c) => c && !/^(active|open|show|selected|hover|focus|disabled|current)$|\d/.test(c)).sort().join('.');
      const listParent = parentElementOf(row ?? element);
      const group = (() => {
        const path = [];
        for (let node = element, i = 0; node && i < 4 && node.localName !== 'body'; node = parentElementOf(node), i += 1) path.push(kindOf(node));
        return path.join('<');
      })();
      const icons = iconsOf(element);
      // What is usual is left out: a page of many controls makes a long answer.
      const tag = element.localName;
      const { form } = element;
      const className = element.getAttribute('class') ?? '';
      const attribute = (key) => element.getAttribute(key) ?? undefined;
      elements.push({
        uid: uidOf(element), tag, why: f.why, role, name: label || undefined,
        input: tag === 'input' ? element.type : tag === 'textarea' || f.why === 'editable' ? 'text' : undefined,
        href: tag === 'a' || tag === 'area' ? element.href?.baseVal ?? element.href ?? undefined : undefined,
        rawHref: attribute('href'),
        target: attribute('target'), download: element.hasAttribute('download') || undefined,
        submits: (tag === 'button' && form && element.type === 'submit') || (tag === 'input' && ['submit', 'image'].includes(element.type)) ? true : undefined,
        formMethod: form ? (element.getAttribute('formmethod') || form.getAttribute('method') || 'get').toLowerCase() : undefined,
        formAction: form ? (element.getAttribute('formaction') || form.getAttribute('action') || '') : undefined,
        title: cut(element.getAttribute('title') ?? '') || undefined, icons: icons || undefined,
        disabled: disabled || undefined, checked: element.checked === true || element.getAttribute('aria-checked') === 'true' || undefined,
        expanded: attribute('aria-expanded') ?? (tag === 'summary' ? String(element.parentElement?.open ?? false) : undefined),
        selected: element.getAttribute('aria-selected') === 'true' || element.getAttribute('aria-current') != null && element.getAttribute('aria-current') !== 'false' || element.getAttribute('aria-pressed') === 'true' || /(^|\s)(active|current|selected)(\s|$)/.test(className) || undefined,
        haspopup: attribute('aria-haspopup') ?? (/dropdown|menu|modal|collapse/.test(element.getAttribute('data-toggle') ?? element.getAttribute('data-bs-toggle') ?? '') ? 'true' : undefined),
        readonly: element.readOnly === true || undefined,
        field: hasField(element.closest('form, [role=search], [class*=input-group], [class*=search]') ?? parentElementOf(element)) || undefined,
        kind: typeof element.type === 'string' ? element.type : undefined,
        clicks: f.clicks || undefined, hovers: f.hovers || undefined, types: f.types.size ? [...f.types].slice(0, 24) : undefined,
        testId, label: labelTextOf(element) || undefined, placeholder: attribute('placeholder'),
        text: cut(textOf(element), 80) || undefined, css: cssOf(element), shadow: shadow.length ? shadow : undefined, frame: frame.length ? frame : undefined,
        classes: classes || undefined, landmark: landmark || undefined, overlay: overlayOf(element), layer: layerOf(element) ?? undefined,
        group, parent: listParent ? uidOf(listParent) : 0, row: rowIndex, table: tableIndex,
        x: Math.round(rect.left + offset.x), y: Math.round(rect.top + offset.y), width: Math.round(rect.width), height: Math.round(rect.height),
      });
    }

    const bodyText = document.body ? squash(document.body.innerText).slice(0, 4000) : '';
    const heading = squash(document.querySelector('h1, h2, [role=heading]')?.innerText).slice(0, 200);
    const media = document.querySelectorAll('img, svg, canvas, video, iframe, input, button').length;
    const list = tables.slice().sort((a, b) => b.rows.length - a.rows.length)[0];
    return JSON.stringify({
      doc: api.doc, url: location.href, title: document.title, ready: document.readyState, nodes, truncated,
      elements, frames, broken: [...new Set(broken)].slice(0, 20), passwords, spinners,
      overlays: overlays.map((o) => {
        const text = squash(o.element.innerText).slice(0, 400);
        const buttons = [...o.element.querySelectorAll('button, [role=button], input[type=submit], input[type=button], a.btn, a.button')];
        return {
          uid: uidOf(o.element), kind: o.kind,
          name: cut(o.element.getAttribute('aria-label') || o.element.querySelector('h1, h2, h3, h4, h5, [class*=title]')?.innerText || '', 100),
          text, question: o.kind === 'alertdialog' || CONFIRM.test(text) || (/\?/.test(text) && text.length < 240 && buttons.length <= 4),
          fields: o.element.querySelectorAll('input:not([type=hidden]), select, textarea').length,
          buttons: buttons.length,
          wizard: /\b(step|schritt|étape|paso)\s*\d|\b\d\s*(\/|of|von|sur|de)\s*\d\b/i.test(text) || !!o.element.querySelector('[class*=stepper], [class*=wizard], [aria-current=step]'),
          modal: o.element.getAttribute('aria-modal') === 'true' || o.element.localName === 'dialog',
        };
      }),
      toasts: toasts.map((t) => ({ uid: uidOf(t.element), text: t.text, error: t.error, fixed: t.fixed, live: t.live })),
      table: list ? { rows: list.rows.length, headers: list.headers } : null,
      emptyTables: tables.filter((t) => t.rows.length === 0 && t.headers.length > 0).length,
      tabs, bodyText, heading, media, viewHeight: innerHeight, scrollY: Math.round(scrollY), scrollHeight: document.documentElement?.scrollHeight ?? 0,
      changes: api.changes, effects: api.effects.length, focus: document.activeElement && document.activeElement !== document.body ? uidOf(document.activeElement) : 0,
      namesMs: spent,
    });
  };

  // Where to press: scrolls the element into view, and finds a point that belongs to it.
  const deepest = (doc, x, y) => {
    let hit = doc.elementFromPoint(x, y);
    while (hit) {
      const shadow = api.frameApi(hit).shadow(hit);
      const next = shadow?.elementFromPoint(x, y);
      if (!next || next === hit) break;
      hit = next;
    }
    return hit;
  };
  const frameOffset = (element) => {
    let x = 0, y = 0;
    for (let view = element.ownerDocument.defaultView; view && view !== window && view.frameElement; view = view.parent) {
      const rect = view.frameElement.getBoundingClientRect();
      const style = view.parent.getComputedStyle(view.frameElement);
      x += rect.left + view.frameElement.clientLeft + (parseFloat(style.paddingLeft) || 0);
      y += rect.top + view.frameElement.clientTop + (parseFloat(style.paddingTop) || 0);
    }
    return { x, y };
  };
  // What a hit is to an element: its own part, the part of a control inside it, or nothing.
  const ownerOf = (element) => {
    // A row or card is pressed beside the controls inside it.
    const inside = /^(a|button|label|summary)$/.test(element.localName) ? [] : [...element.querySelectorAll('a[href], button, input, select, textarea, label, [role=button]')];
    return (hit) => {
      if (inside.some((part) => containsComposed(part, hit))) return 'inner';
      const own = containsComposed(element, hit) || (element.control && containsComposed(element.control, hit)) || (element.labels && [...element.labels].some((label) => containsComposed(label, hit)));
      return own ? 'own' : null;
    };
  };
  api.point = (uid) => {
    const element = api.element(uid);
    if (!element || !element.isConnected) return JSON.stringify({ gone: true });
    api.quiet = true;
    const inView = (rect) => {
      const view = element.ownerDocument.defaultView;
      return rect && rect.top >= 0 && rect.left >= 0 && rect.bottom <= view.innerHeight && rect.right <= view.innerWidth;
    };
    const target = rectsOf(element).length && styleOf(element)?.display !== 'contents' ? element : element.firstElementChild ?? element;
    if (!inView(rectsOf(element)[0])) target.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    for (let view = element.ownerDocument.defaultView; view && view !== window && view.frameElement; view = view.parent) {
      const rect = view.frameElement.getBoundingClientRect();
      if (rect.top < 0 || rect.bottom > innerHeight) view.frameElement.scrollIntoView({ block: 'center', behavior: 'instant' });
    }
    api.later(() => { api.quiet = false; }, 60);
    const offset = frameOffset(element);
    let cover = null;
    const doc = element.ownerDocument;
    const belongs = ownerOf(element);
    for (const rect of rectsOf(element).slice(0, 4)) {
      const view = doc.defaultView;
      const left = Math.max(rect.left, 0), top = Math.max(rect.top, 0), right = Math.min(rect.right, view.innerWidth), bottom = Math.min(rect.bottom, view.innerHeight);
      if (right - left < 1 || bottom - top < 1) continue;
      for (const [fx, fy] of [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.1, 0.1], [0.9, 0.9], [0.9, 0.1], [0.1, 0.9], [0.4, 0.5], [0.6, 0.5], [0.05, 0.5], [0.95, 0.5]]) {
        const x = left + (right - left) * fx, y = top + (bottom - top) * fy;
        const hit = deepest(doc, x, y);
        if (!hit) continue;
        const part = belongs(hit);
        if (part === 'inner') continue;
        if (!part) { cover = cover ?? hit; continue; }
        const px = x + offset.x, py = y + offset.y;
        if (doc !== document) {
          const outer = deepest(document, px, py);
          if (!outer || (outer.localName !== 'iframe' && outer.localName !== 'frame' && outer.ownerDocument === document)) { cover = cover ?? outer; continue; }
        }
        return JSON.stringify({ x: px, y: py });
      }
    }
    return JSON.stringify(cover ? { cover: `${cover.localName}${cover.id ? '#' + cover.id : ''}${cover.getAttribute('class') ? '.' + cover.getAttribute('class').trim().split(/\s+/).slice(0, 2).join('.') : ''} "${cut(cover.innerText, 40)}"`, coverUid: uidOf(cover) } : { hidden: true });
  };

  // A point of the window that belongs to no control, for a click beside a menu or dialog.
  api.blank = () => {
    const plain = (element) => {
      for (let node = element; node && node.localName !== 'body' && node.localName !== 'html'; node = parentElementOf(node)) {
        if (/^(a|button|input|select|textarea|label|summary|iframe|video|tr|li)$/.test(node.localName) || node.hasAttribute('role') && ROLES.has(node.getAttribute('role'))) return false;
        if (api.listeners(node)?.has('click') && !overlayBackdrop(node)) return false;
      }
      return true;
    };
    const overlayBackdrop = (node) => { const rect = node.getBoundingClientRect(); return rect.width >= innerWidth * 0.9 && rect.height >= innerHeight * 0.9; };
    const points = [[2, innerHeight - 3], [innerWidth - 3, innerHeight - 3], [innerWidth / 2, innerHeight - 3], [innerWidth - 3, innerHeight / 2], [2, innerHeight / 2], [innerWidth / 2, 2], [2, 2]];
    for (const [x, y] of points) {
      const hit = deepest(document, x, y);
      if (hit && styleOf(hit)?.cursor !== 'pointer' && plain(hit)) return JSON.stringify({ x, y });
    }
    return JSON.stringify({});
  };

  // What the page keeps beyond a load, so that going back can put it back.
  api.keep = () => {
    const copy = (store) => { try { return Object.fromEntries(Object.entries(store)); } catch { return null; } };
    return JSON.stringify({ local: copy(localStorage), session: copy(sessionStorage) });
  };
  api.putBack = (kept) => {
    let changed = 0;
    for (const [store, wanted] of [[() => localStorage, kept.local], [() => sessionStorage, kept.session]]) {
      try {
        if (!wanted) continue;
        for (const key of Object.keys(store())) if (!(key in wanted)) { store().removeItem(key); changed += 1; }
        for (const [key, value] of Object.entries(wanted)) if (store().getItem(key) !== value) { store().setItem(key, value); changed += 1; }
      } catch { /* no storage here */ }
    }
    return JSON.stringify(changed);
  };

  // All frames of this document that carry our hook.
  const views = () => {
    const list = [api];
    const visit = (view, depth) => {
      if (depth > 3 || list.length > 20) return;
      for (let i = 0; i < view.length; i += 1) {
        try { const other = view[i][KEY]; if (other) { other.ensure(view[i].document); list.push(other); visit(view[i], depth + 1); } } catch { /* another origin */ }
      }
    };
    visit(window, 0);
    return list;
  };
  api.mark = () => {
    let changes = 0, effects = 0, scrolled = 0, focused = 0;
    for (const one of views()) { changes += one.changes; effects += one.effects.length; scrolled += one.scrolled ?? 0; focused += one.focused ?? 0; }
    return { doc: api.doc, changes, effects, scrolled, focused, url: location.href };
  };
  const tally = () => ({ ...api.mark(), recent: api.effects.slice(-5) });
  api.tally = () => JSON.stringify(tally());

  // The counts before a press, and whether it would still hit its element: what opens under the pointer pushes others away.
  api.aim = (uid, x, y) => {
    const element = api.element(uid);
    let hits = true;
    // One that the hover has put another in place of can only be pressed where it was.
    if (element?.isConnected) {
      const offset = frameOffset(element);
      const hit = deepest(element.ownerDocument, x - offset.x, y - offset.y);
      hits = !!hit && ownerOf(element)(hit) === 'own';
    }
    return JSON.stringify({ hits, tally: tally() });
  };

  // Waits until nothing has changed for `quiet` ms, no timer is due soon and no finite animation runs; or `cap` ms passed.
  // Another document than `from` is waited for only until it has loaded, and a moment for what it then draws.
  api.still = (quiet, cap, known = [], from = null) => new Promise((resolve) => {
    const passing = from !== null && api.doc !== from;
    const start = api.now();
    // A page that was kept and is shown again stands as it stood; its timers are known. Only until somebody has waited for
    // it: what is done to it then is waited for as ever.
    if (api.restored) quiet = Math.min(quiet, 10);
    for (const one of views()) one.learned?.(known);
    const learned = () => api.learned(known);
    let loaded = null;
    // How long each reason has held it up, for diagnostics.
    const held = {};
    let last = start;
    const answer = (told) => { api.restored = false; resolve(JSON.stringify({ ...told, ms: api.now() - start, held, ...learned(), tally: tally() })); };
    const check = () => {
      const t = api.now();
      let reason = document.readyState === 'complete' ? null : 'loading';
      if (!reason && loaded === null) loaded = t;
      for (const one of views()) {
        const frameNow = one.now();
        if (frameNow - one.changed < quiet && !(passing && t - loaded > quiet * 2)) reason = reason ?? 'changing';
        if (passing) continue;
        if (one.pending()) reason = reason ?? 'timer';
        if (one.moving()) reason = reason ?? 'animation';
      }
      held[reason ?? 'quiet'] = Math.round((held[reason ?? 'quiet'] ?? 0) + t - last);
      last = t;
      if (!reason && (passing || t - start >= quiet)) return answer({ still: true });
      if (t - start > cap) return answer({ still: false, reason });
      api.later(check, 8);
    };
    check();
  });

  // Waits for the next change, tickers included; or `cap` ms.
  api.change = (cap) => new Promise((resolve) => {
    const start = api.now();
    const count = () => views().reduce((sum, one) => sum + one.changes + one.background, 0);
    const first = count();
    const check = () => {
      const changed = count() !== first;
      if (changed || api.now() - start > cap) return resolve(JSON.stringify(changed));
      api.later(check, 8);
    };
    check();
  });

  // The options of a list, in order.
  api.options = (uid) => JSON.stringify([...(api.element(uid)?.options ?? [])].map((o) => ({
    label: cut(o.label, 80), exact: squash(o.label) === cut(o.label, 80) && !squash(o.label).startsWith('['), chosen: o.selected,
    disabled: o.disabled || o.closest('optgroup')?.disabled === true,
  })));

  // Chooses as a person does in a chooser: by an option's label or value, or a whole value; the page is told of it.
  api.choose = (uid, wanted) => {
    const element = api.element(uid);
    if (!element) return JSON.stringify('the element is gone');
    const told = () => { for (const kind of ['input', 'change']) element.dispatchEvent(new Event(kind, { bubbles: true, composed: true })); return 'null'; };
    element.focus();
    if (element.localName !== 'select') {
      Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), 'value')?.set?.call(element, wanted);
      if (element.value !== wanted) return JSON.stringify(`the field does not take "${wanted}"`);
      return told();
    }
    let all = [wanted];
    if (wanted.startsWith('[')) { try { all = JSON.parse(wanted).map(String); } catch { /* a label that looks like a list */ } }
    if (all.length > 1 && !element.multiple) return JSON.stringify('the list takes one option only');
    const options = [...element.options];
    const chosen = [];
    for (const text of all) {
      const option = options.find((o) => squash(o.label) === squash(text)) ?? options.find((o) => o.value === text);
      if (!option) return JSON.stringify(`there is no option "${text}"`);
      if (option.disabled || option.closest('optgroup')?.disabled) return JSON.stringify(`the option "${text}" is disabled`);
      chosen.push(option);
    }
    for (const option of options) option.selected = chosen.includes(option);
    return told();
  };

  const ROLE_TAGS = {
    link: 'a, area, [role=link]', button: 'button, summary, input, label, [role=button], [onclick], a, div, span', tab: '[role=tab]', menuitem: '[role=menuitem], li, a, button',
    checkbox: 'input, [role=checkbox]', radio: 'input, [role=radio]', switch: 'input, button, [role=switch]', textbox: 'input, textarea, [contenteditable], [role=textbox]',
    searchbox: 'input, [role=searchbox]', combobox: 'select, input, button, [role=combobox]', spinbutton: 'input, [role=spinbutton]', slider: 'input, [role=slider]', option: 'option, [role=option]',
  };

  api.parts = { visible, identify, squash, cssOf, chainOf, labelTextOf, rectsOf, TEST_IDS };

  // What stands where a locator's path leads, visible or not.
  const placed = (roots, locator) => {
    try { return locator.css ? roots.flatMap((root) => [...root.querySelectorAll(locator.css)]) : []; } catch { return []; }
  };
  const rootsOf = (locator) => {
    let roots = [document];
    for (const css of locator.frame ?? []) {
      const host = css.startsWith('>>') ? css.slice(2) : css;
      roots = roots.flatMap((root) => [...root.querySelectorAll(host)]).map((element) => {
        if (css.startsWith('>>')) return api.frameApi(element).shadow(element);
        try { return element.contentDocument; } catch { return null; }
      }).filter(Boolean);
    }
    for (const css of locator.shadow ?? []) roots = roots.flatMap((root) => [...root.querySelectorAll(css)]).map((host) => api.frameApi(host).shadow(host)).filter(Boolean);
    return roots;
  };

  // Finds an element by a recorded locator: rungs from the top, one is used only when exactly one visible element fits.
  api.find = (locator) => {
    const memo = new Map();
    const roots = rootsOf(locator);
    const all = (test, selector = '*') => roots.flatMap((root) => [...root.querySelectorAll(selector)]).filter((element) => test(element) && visible(element, memo));
    // One element is worth more patience than a whole look; what stands at the recorded place is named first.
    spent = -1200;
    for (const one of placed(roots, locator).slice(0, 3)) identify(one);
    const sameRole = (element) => !locator.role || identify(element).role === locator.role;
    // Cheap tests first: the browser's own name is asked for only where the text or an attribute can make it.
    const says = (element, text) => element.textContent.includes(text) || squash(element.textContent).includes(text)
      || NAMING.some((name) => (element.getAttribute(name) ?? '').includes(text)) || element.hasAttribute('aria-labelledby') || (element.labels?.length ?? 0) > 0
      || element.localName === 'input' || !!element.querySelector('img, svg, [aria-label], [title]') || /^[a-z][a-z0-9 ]+$/.test(text) && element.childElementCount <= 2 && !squash(element.textContent);
    const why = [];
    const rungs = [
      ['testId', () => locator.testId && all((e) => TEST_IDS.some((key) => e.getAttribute(key) === locator.testId), TEST_IDS.map((key) => `[${key}]`).join(','))],
      ['role', () => locator.role && locator.name && all((e) => says(e, locator.name.replace(/…$/, '')) && sameRole(e) && identify(e).name === locator.name, ROLE_TAGS[locator.role] ?? '*')],
      ['label', () => locator.label && all((e) => labelTextOf(e) === locator.label, 'input, select, textarea, button')],
      ['placeholder', () => locator.placeholder && all((e) => e.getAttribute('placeholder') === locator.placeholder, '[placeholder]')],
      ['text', () => locator.text && all((e) => e.textContent.length < 4000 && squash(e.textContent).length >= Math.min(locator.text.length, 20) * 0.5 && cut(textOf(e), 80) === locator.text).filter((e, i, list) => !list.some((other) => other !== e && e.contains(other)))],
      ['css', () => locator.css && all(() => true, locator.css)],
    ];
    for (const [rung, search] of rungs) {
      let hits = [];
      try { hits = search() || []; } catch { hits = []; }
      if (!hits.length) { if (locator[rung === 'role' ? 'name' : rung]) why.push(`${rung}: missing`); continue; }
      if (hits.length > 1 && rung === 'role' && locator.nth != null && hits[locator.nth]) hits = [hits[locator.nth]];
      if (hits.length > 1) {
        // Several alike: the recorded path decides among them, when it points at one of them.
        let exact = [];
        try { exact = locator.css ? hits.filter((e) => e.matches(locator.css)) : []; } catch { exact = []; }
        if (exact.length === 1) hits = exact;
        else { why.push(`${rung}: ambiguous (${hits.length})`); continue; }
      }
      if (!sameRole(hits[0])) { why.push(`${rung}: identity conflict (role ${roleOf(hits[0])})`); if (rung === 'testId') return JSON.stringify({ why }); continue; }
      // A path alone may lead to a neighbour: who has another name is another control. Counts in a name may change.
      if (rung === 'css' && locator.name) {
        const bare = (text) => text.replace(/[\d.,()]+/g, '').trim();
        const name = identify(hits[0]).name || nameOf(hits[0]);
        if (name && bare(name) !== bare(locator.name)) { why.push(`css: identity conflict (name "${cut(name, 40)}")`); continue; }
      }
      return JSON.stringify({ uid: uidOf(hits[0]), rung, drift: why, name: nameOf(hits[0]), disabled: hits[0].matches(':disabled') || !!hits[0].closest('[aria-disabled=true]') });
    }
    return JSON.stringify({ why });
  };
})();
