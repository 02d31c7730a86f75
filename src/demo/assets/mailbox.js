// A small single page application behind hash routes: /app#/inbox and /app#/archive.
(() => {
  'use strict';
  const { acts, api, all, find, live, wire } = window.kit;
  const mails = ['Welcome aboard', 'Invoice for April', 'Stock count on Friday'];
  let turned = false;

  const inbox = () => `<div class="bar"><button class="primary" data-open="compose">Compose</button></div>
    <div class="card"><ul class="feed">${mails.map((m, i) => `<li><button class="plain" data-act="read" data-mail="${i}">${m}</button><span class="grow"></span><button class="plain" data-act="star" aria-pressed="false" aria-label="Star ${m}">☆</button></li>`).join('')}</ul></div>`;

  const archive = () => `<div class="bar"><button data-act="byDate">Sort by date</button><button disabled>Restore all</button><span id="order" class="said"></span></div>
    <div class="card flush"><table aria-busy="true"><thead><tr><th>Subject</th><th>Date</th></tr></thead><tbody id="old"><tr class="loading"><td colspan="2">Loading…</td></tr></tbody></table></div>`;

  async function draw() {
    const at = location.hash === '#/archive' ? 'archive' : 'inbox';
    all('#folders a').forEach(a => a.toggleAttribute('aria-current', a.hash === `#/${at}`));
    find('#mailbox-title').textContent = at === 'archive' ? 'Archive' : 'Inbox';
    const box = find('#mailbox');
    box.innerHTML = at === 'archive' ? archive() : inbox();
    wire(box);
    if (at !== 'archive') return;
    const answer = await api('GET', '/api/archive');
    if (live('archive-never-fills') || !answer.ok || !find('#old')) return;
    find('#old').innerHTML = answer.data.map(mail => `<tr><td>${mail.subject}</td><td>${mail.date}</td></tr>`).join('');
    find('#old').closest('table').removeAttribute('aria-busy');
  }

  Object.assign(acts, {
    read(button) {
      find('#mailbox').innerHTML = `<div class="card"><h2>${mails[button.dataset.mail]}</h2><p>Dear team, here is the news of the week.</p><button data-act="inbox">Back to inbox</button></div>`;
      wire(find('#mailbox'));
    },
    inbox() { draw(); },
    star(button) {
      const on = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(on));
      button.textContent = on ? '★' : '☆';
    },
    byDate() { turned = !turned; find('#order').textContent = turned ? 'Oldest first' : 'Newest first'; },
  });

  window.addEventListener('hashchange', draw);
  draw();
})();
