// The scene: a look, and beside its controls what the page says: texts, headings, messages, dialogs, in document order. A
// goal step is recorded in it and found again in it, so everything here is a function of the page alone.
(() => {
  const api = window[Symbol.for('agent-test')];
  if (!api || api.scene || !api.parts) return;
  const { visible, identify, squash, cssOf, chainOf, labelTextOf, rectsOf, TEST_IDS } = api.parts;
  const cut = (text) => { const flat = squash(text); return flat.length > 300 ? flat.slice(0, 299) + '…' : flat; };
  const TAG_ROLES = { li: 'listitem', tr: 'row', td: 'cell', th: 'columnheader', output: 'status', dialog: 'dialog', fieldset: 'group', img: 'img', article: 'article', progress: 'progressbar', option: 'option' };
  const INLINE = /^(b|i|em|strong|span|small|code|mark|time|sub|sup|abbr|u|s|q|cite|kbd|data|var|wbr|bdi|ins|del|font)$/;
  const ROWS = /^(listitem|row|article|treeitem)$/;
  const NAMED = /^(group|region|dialog|alertdialog|radiogroup|toolbar|form|tabpanel|menu|listbox)$/;
  const SPOKEN = /^(alert|alertdialog|status|log|dialog|heading|img|progressbar)$/;
  const roleOf = (element) => {
    const own = element.getAttribute('role')?.split(/\s+/)[0];
    if (own && own !== 'none' && own !== 'presentation') return own;
    if (/^h[1-6]$/.test(element.localName)) return 'heading';
    const live = element.getAttribute('aria-live');
    if (live === 'assertive') return 'alert';
    if (live === 'polite') return 'status';
    if (element.localName === 'section' && labelOf(element)) return 'region';
    if (element.localName === 'form' && labelOf(element)) return 'form';
    return TAG_ROLES[element.localName] ?? 'text';
  };
  const labelOf = (element) => {
    const root = element.getRootNode();
    const by = (element.getAttribute('aria-labelledby') ?? '').split(/\s+/).filter(Boolean).map((id) => root.getElementById?.(id)?.textContent ?? '').join(' ');
    return cut(by) || cut(element.getAttribute('aria-label'));
  };
  const testIdOf = (element) => TEST_IDS.map((key) => element.getAttribute(key)).find(Boolean) ?? null;

  api.scene = (options) => {
    const look = JSON.parse(api.look(options));
    const controls = new Map();
    for (const one of look.elements) {
      const element = api.element(one.uid);
      if (element) controls.set(element, one);
    }
    const shared = new Map();
    for (const one of look.elements) shared.set(`${one.role}|${one.name}`, (shared.get(`${one.role}|${one.name}`) ?? 0) + 1);
    const controlOf = (element, top) => {
      for (let node = element; node && node !== top; node = api.parentElementOf(node)) if (controls.has(node)) return controls.get(node);
      return null;
    };
    const memo = new Map();
    const consumed = new Set();
    const nodes = [];

    // The first text of a row, list item or group that is not the element's own and not a label of many.
    const firstText = (container, element) => {
      const walker = container.ownerDocument.createTreeWalker(container, NodeFilter.SHOW_TEXT);
      for (let seen = 0; seen < 400; seen += 1) {
        const node = walker.nextNode();
        if (!node) return null;
        const text = squash(node.data);
        const parent = node.parentElement;
        if (!text || !parent || /^(script|style|option)$/.test(parent.localName)) continue;
        if (element.contains(parent) || !visible(parent, memo)) continue;
        const owner = controlOf(parent, container);
        if (owner && shared.get(`${owner.role}|${owner.name}`) > 1) continue;
        return cut(text);
      }
      return null;
    };
    const withinOf = (element) => {
      for (let node = api.parentElementOf(element); node && node.localName !== 'body'; node = api.parentElementOf(node)) {
        const role = roleOf(node);
        if (ROWS.test(role)) {
          const text = firstText(node, element);
          if (text) return text;
        } else if (NAMED.test(role)) {
          const legend = node.localName === 'fieldset' ? [...node.children].find((child) => child.localName === 'legend') : null;
          const label = labelOf(node) || (legend && !legend.contains(element) ? cut(legend.innerText) : '');
          if (label) return label;
        }
      }
      return null;
    };
    // Text of its own and of the inline parts in it, without what its controls say.
    const ownText = (element) => {
      let text = '';
      const add = (node, depth) => {
        for (const child of node.childNodes) {
          if (child.nodeType === 3) text += child.data;
          else if (child.nodeType === 1 && child.localName === 'br') text += ' ';
          else if (child.nodeType === 1 && depth < 6 && INLINE.test(child.localName) && !controls.has(child) && !child.hasAttribute('role') && visible(child, memo)) {
            if (!testIdOf(child)) consumed.add(child);
            add(child, depth + 1);
          } else text += ' ';
        }
      };
      add(element, 0);
      return cut(text);
    };
    const box = (element, offset) => {
      const rect = rectsOf(element)[0] ?? element.getBoundingClientRect();
      return { x: Math.round(rect.left + offset.x), y: Math.round(rect.top + offset.y), width: Math.round(rect.width), height: Math.round(rect.height) };
    };
    const truth = (value) => value == null ? null : value !== 'false';
    const statesOf = (element) => {
      const native = /^(checkbox|radio)$/.test(element.type ?? '') && element.localName === 'input';
      return {
        checked: native ? element.checked : truth(element.getAttribute('aria-checked')),
        expanded: element.localName === 'summary' ? element.parentElement?.open ?? false : truth(element.getAttribute('aria-expanded')),
        pressed: truth(element.getAttribute('aria-pressed')),
        selected: truth(element.getAttribute('aria-selected')),
      };
    };
    const valueOf = (element) => {
      if (element.localName === 'select') return squash([...element.selectedOptions].map((option) => option.label).join(', '));
      if (element.localName === 'textarea') return element.value;
      if (element.localName === 'input') {
        if (/^(checkbox|radio|button|submit|reset|image|hidden|password)$/.test(element.type)) return null;
        if (element.type === 'file') return [...element.files].map((file) => file.name).join(', ');
        return element.value;
      }
      return element.isContentEditable ? squash(element.innerText) : null;
    };
    const control = (element, one, frame, offset) => {
      const input = /^(input|textarea|select)$/.test(element.localName);
      const bare = input && one.name === (element.name || element.type) && !squash(element.computedName) && !labelTextOf(element);
      const name = bare ? '' : one.name;
      const purpose = element.getAttribute('autocomplete');
      nodes.push({
        uid: one.uid, control: true, role: one.role, name, text: name ? '' : one.text ?? '', testId: one.testId, placeholder: one.placeholder,
        purpose: purpose && purpose !== 'off' && purpose !== 'on' ? purpose : null, within: withinOf(element), frame, ...statesOf(element),
        disabled: one.disabled, value: valueOf(element), secure: element.type === 'password', css: [...chainOf(element), one.css].join(' >> '), ...box(element, offset),
      });
    };
    const said = (element, frame, offset) => {
      // What a label says is the name of its field.
      if (element.localName === 'label' && element.control) return;
      const role = roleOf(element);
      const spoken = SPOKEN.test(role);
      if (!spoken && consumed.has(element)) return;
      const text = role === 'img' ? '' : /^(alert|status|log)$/.test(role) ? cut(element.innerText) : /dialog$/.test(role) ? '' : ownText(element);
      const name = role === 'img' ? cut(element.getAttribute('alt') || labelOf(element)) : /dialog$/.test(role) ? labelOf(element) || cut(element.querySelector('h1, h2, h3, h4, h5')?.innerText) : '';
      if (!text && !(spoken && (name || /dialog$/.test(role)))) return;
      if (role === 'img' && !name) return;
      if (!visible(element, memo)) return;
      nodes.push({
        uid: api.uidOf(element), control: false, role: /^(row|listitem|cell|columnheader|article|group|region|form)$/.test(role) && !text ? 'text' : role, name, text,
        testId: testIdOf(element), placeholder: null, purpose: null, within: withinOf(element), frame, checked: null, expanded: null, pressed: null, selected: null,
        disabled: false, value: null, secure: false, css: '', ...box(element, offset),
      });
    };
    let count = 0;
    const walk = (root, frame, offset, depth) => {
      const stack = [...(root.children ?? [])].reverse();
      while (stack.length) {
        const element = stack.pop();
        count += 1;
        if (count > (options?.nodes ?? 50000) || nodes.length >= 4000) return;
        const name = element.localName;
        if (/^(script|style|template|head|noscript|svg|option|optgroup)$/.test(name) || element.inert) continue;
        if (name === 'iframe' || name === 'frame') {
          let inner = null;
          try { inner = element.contentDocument; } catch { inner = null; }
          if (inner?.defaultView?.[Symbol.for('agent-test')] && depth < 3 && visible(element, memo)) {
            const rect = element.getBoundingClientRect();
            walk(inner, [...frame, ...chainOf(element).map((css) => '>>' + css), cssOf(element)], { x: offset.x + rect.left + element.clientLeft, y: offset.y + rect.top + element.clientTop }, depth + 1);
          }
          continue;
        }
        const one = controls.get(element);
        if (one) control(element, one, frame, offset);
        else said(element, frame, offset);
        // What a button says is its name; a row or card that is pressed as a whole has parts.
        if (one && !/^(tr|li|article|div|section)$/.test(name)) continue;
        for (let i = element.children.length - 1; i >= 0; i -= 1) stack.push(element.children[i]);
        const shadow = api.frameApi(element).shadow(element);
        if (shadow) for (let i = shadow.children.length - 1; i >= 0; i -= 1) stack.push(shadow.children[i]);
      }
    };
    walk(document, [], { x: 0, y: 0 }, 0);
    return JSON.stringify({ look, nodes, viewWidth: innerWidth, viewHeight: innerHeight });
  };

  // The events of the browser's own drag and drop, where the element asks for that; gives back whether it does.
  api.dragOver = (fromUid, toUid) => {
    const from = api.element(fromUid)?.closest('[draggable=true]');
    const to = api.element(toUid);
    if (!from || !to) return 'false';
    const data = new DataTransfer();
    const tell = (target, kind) => {
      const rect = target.getBoundingClientRect();
      return target.dispatchEvent(new DragEvent(kind, { bubbles: true, composed: true, cancelable: true, dataTransfer: data, clientX: rect.left + rect.width / 2, clientY: rect.top + rect.height / 2 }));
    };
    if (tell(from, 'dragstart')) {
      tell(to, 'dragenter');
      tell(to, 'dragover');
      tell(to, 'drop');
    }
    tell(from, 'dragend');
    return 'true';
  };

  const scrollerOf = (uid) => {
    let node = uid ? api.element(uid) : null;
    for (; node; node = api.parentElementOf(node)) {
      const style = node.ownerDocument.defaultView.getComputedStyle(node);
      if (/(auto|scroll)/.test(style.overflowY + style.overflowX) && (node.scrollHeight > node.clientHeight || node.scrollWidth > node.clientWidth)) break;
    }
    return node;
  };

  // The part of the window that a scroll of this element moves, in percent.
  api.scrollShare = (uid) => {
    const node = scrollerOf(uid);
    if (!node) return '100';
    const rect = node.getBoundingClientRect();
    const side = (from, to, most) => Math.max(0, Math.min(to, most) - Math.max(from, 0));
    return String(Math.round(100 * side(rect.left, rect.right, innerWidth) * side(rect.top, rect.bottom, innerHeight) / (innerWidth * innerHeight)));
  };

  // Scrolls an element that scrolls, or the nearest around it, or the window; gives back how far it went.
  api.scrollBy = (uid, dx, dy) => {
    const node = scrollerOf(uid);
    const target = node ?? document.scrollingElement ?? document.documentElement;
    const before = [target.scrollLeft, target.scrollTop];
    target.scrollBy({ left: dx, top: dy, behavior: 'instant' });
    return JSON.stringify([Math.round(target.scrollLeft - before[0]), Math.round(target.scrollTop - before[1])]);
  };
})();
