// The kit that every page uses: toasts, dialogs, menus, tabs and requests. Pages add their own `acts`.
(() => {
  'use strict';
  const names = (document.body.dataset.bugs || '').split(' ').filter(Boolean);
  const acts = {};
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  function toast(text, tone = 'ok') {
    const box = document.createElement('div');
    box.className = tone === 'error' ? 'toast error' : 'toast';
    box.setAttribute('role', tone === 'error' ? 'alert' : 'status');
    box.textContent = text;
    find('#toasts').append(box);
    setTimeout(() => box.remove(), 3000);
  }

  // Answers { ok, status, data }; a request that never arrived is { ok: false, status: 0 }.
  async function api(method, url, body) {
    try {
      const answer = await fetch(url, {
        method,
        headers: body ? { 'content-type': 'application/json' } : {},
        body: body ? JSON.stringify(body) : undefined,
      });
      const data = await answer.json().catch(() => null);
      return { ok: answer.ok, status: answer.status, data };
    } catch {
      return { ok: false, status: 0, data: null };
    }
  }

  function note(near, text) {
    const scope = near.closest('dialog, [data-scope]') || find('main') || document.body;
    let box = find(':scope > .note', scope);
    if (!box) {
      box = document.createElement('div');
      box.className = 'note';
      scope.prepend(box);
    }
    const times = (Number(box.dataset.times) || 0) + 1;
    box.dataset.times = times;
    box.textContent = times > 1 ? `${text} (${times})` : text;
  }

  async function change(button, method, url, body, done) {
    const answer = await api(method, url, body);
    if (!answer.ok) return note(button, 'Could not save. Nothing was changed.');
    const dialog = button.closest('dialog');
    if (dialog) dialog.close();
    toast(done || 'Saved');
    return answer;
  }

  function say(target, text) {
    const box = typeof target === 'string' ? find(target) : target;
    const times = (Number(box.dataset.times) || 0) + 1;
    box.dataset.times = times;
    box.textContent = times > 1 ? `${text} (${times})` : text;
  }

  const open = id => find('#' + id).showModal();

  function shutMenus(except) {
    all('[aria-haspopup=menu][aria-expanded=true]').forEach(trigger => {
      const menu = trigger.nextElementSibling;
      if (except && menu.contains(except)) return;
      trigger.setAttribute('aria-expanded', 'false');
      menu.hidden = true;
    });
  }

  function toggleMenu(trigger) {
    const shut = trigger.getAttribute('aria-expanded') !== 'true';
    shutMenus(trigger);
    trigger.setAttribute('aria-expanded', String(shut));
    trigger.nextElementSibling.hidden = !shut;
  }

  function pick(tab) {
    all('[role=tab]', tab.closest('[role=tablist]')).forEach(other => {
      const on = other === tab;
      other.setAttribute('aria-selected', String(on));
      const panel = document.getElementById(other.getAttribute('aria-controls'));
      if (panel) panel.hidden = !on;
    });
  }

  const form = dialog => Object.fromEntries(all('input[name], select[name], textarea[name]', dialog).map(f => [f.name, f.value]));

  function wire(root) {
    const on = (selector, run) => all(selector, root).forEach(element => {
      if (element.dataset.wired) return;
      element.dataset.wired = 'yes';
      element.addEventListener('click', event => run(element, event));
    });
    on('[data-act]', (element, event) => acts[element.dataset.act](element, event));
    on('[data-open]', element => { shutMenus(); open(element.dataset.open); });
    on('[data-close]', element => element.closest('dialog').close());
    on('[data-menu]', (element, event) => { event.stopPropagation(); toggleMenu(element); });
    on('[data-toast]', element => { shutMenus(); toast(element.dataset.toast); });
    on('[data-say]', element => say(element.dataset.into, element.dataset.say));
    on('[role=tab][aria-controls]', element => pick(element));
    on('[data-api]', element => {
      const [method, url] = element.dataset.api.split(' ');
      change(element, method, url, element.dataset.form ? form(element.closest('dialog, [data-scope]')) : {}, element.dataset.done);
    });
    on('[data-get]', async element => {
      const answer = await api('GET', element.dataset.get);
      say(element.dataset.into, answer.ok ? answer.data.text : 'Not available right now.');
    });
    on('[data-fold]', element => {
      const panel = document.getElementById(element.getAttribute('aria-controls'));
      panel.hidden = !panel.hidden;
      element.setAttribute('aria-expanded', String(!panel.hidden));
    });
    all('input[role=switch]', root).forEach(box => box.addEventListener('change', () => {
      find('.state', box.closest('label')).textContent = box.checked ? 'On' : 'Off';
    }));
  }

  document.addEventListener('click', event => shutMenus(event.target));
  document.addEventListener('keydown', event => { if (event.key === 'Escape') shutMenus(); });

  Object.assign(acts, {
    theme(button) {
      const dark = document.body.classList.toggle('dark');
      button.textContent = dark ? 'Light theme' : 'Dark theme';
    },
    dismiss(button) { button.closest('.banner').remove(); },
  });

  const search = find('#everything');
  if (search) search.addEventListener('input', () => {
    const box = find('#everything-hits');
    box.hidden = !search.value;
    box.textContent = search.value ? `No saved view is called “${search.value}”` : '';
  });

  window.kit = { live: id => names.includes(id), acts, find, all, toast, api, note, change, say, open, form, pick, wire, shutMenus };
  document.addEventListener('DOMContentLoaded', () => wire(document));
})();
