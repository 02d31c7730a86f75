// What the buttons of the smaller pages do.
(() => {
  'use strict';
  const { acts, api, find, live, note, open, say, toast } = window.kit;
  const wait = ms => new Promise(done => setTimeout(done, ms));

  // Dashboard
  const tips = ['Pin the reports you open daily.', 'Filters stay in the address bar.', 'Press ? for the list of shortcuts.'];
  let tip = 0;
  acts.nextTip = () => { tip = (tip + 1) % tips.length; find('#tip').textContent = tips[tip]; };
  acts.numbers = async () => {
    const answer = await api('GET', '/api/stats');
    say('#fresh', answer.ok ? `Numbers refreshed, ${answer.data.orders} orders` : 'Numbers are not available right now.');
  };
  const lazy = find('#lazy');
  if (lazy) {
    const show = () => {
      if (lazy.dataset.shown) return;
      lazy.dataset.shown = 'yes';
      lazy.innerHTML = '<h2>Tip of the day</h2><p id="tip">' + tips[0] + '</p><button data-act="nextTip">Next tip</button>';
      window.kit.wire(lazy);
    };
    setTimeout(show, 600);
    window.addEventListener('scroll', show, { once: true });
    console.warn('The chart component will change its options in the next version.');
  }

  // Customers
  acts.sync = async () => {
    await wait(60);
    if (live('customers-sync-rejects')) throw new Error('contact provider answered without a cursor');
    toast('Contacts are in sync');
  };
  acts.avatar = async button => {
    const answer = await api('GET', '/api/avatars/1');
    say('#avatar-said', answer.ok ? 'The avatar is up to date.' : 'No avatar on file.');
    button.blur();
  };
  acts.group = button => {
    const on = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(on));
    find('#group-said').textContent = on ? 'Grouped by plan: 3 on Team, 2 on Starter.' : '';
  };
  acts.merge = () => { find('#merge').hidden = false; };
  acts.mergeClose = () => {
    if (live('customers-merge-trap')) return;
    find('#merge').hidden = true;
  };
  document.addEventListener('keydown', event => {
    const trap = find('#merge');
    if (event.key === 'Escape' && trap && !live('customers-merge-trap')) trap.hidden = true;
  });

  // Wizard
  function step(number) {
    window.kit.all('[data-step]').forEach(part => { part.hidden = Number(part.dataset.step) !== number; });
    window.kit.all('.steps li').forEach((item, index) => item.classList.toggle('on', index < number));
  }
  let at = 1;
  acts.wizard = () => { at = 1; step(at); open('wizard'); };
  acts.next = () => { at = Math.min(3, at + 1); step(at); };
  acts.back = () => { at = Math.max(1, at - 1); step(at); };
  acts.postcode = async () => {
    const answer = await api('GET', '/api/postcode/20457');
    if (live('wizard-postcode-rejects')) await Promise.reject(new Error('postcode answer has no city'));
    say('#city', answer.ok ? `City: ${answer.data.city}` : 'The city could not be looked up.');
  };

  // Settings
  acts.connection = async () => {
    const answer = await api('GET', '/api/settings/check');
    if (answer.ok && answer.data.ok) toast('Connection works');
    else toast('Something went wrong', 'error');
  };
  acts.revert = button => { button.closest('form').reset(); say('#reverted', 'Edits reverted.'); };
  acts.save = button => window.kit.change(button, 'POST', '/api/settings', { name: find('[name=display]').value }, 'Settings saved');
  window.kit.all('[name=density]').forEach(radio => radio.addEventListener('change', () => {
    document.body.classList.toggle('compact', radio.value === 'compact');
    say('#density', `Density is ${radio.value}.`);
  }));

  // Billing
  acts.usage = async () => {
    const box = find('#usage');
    box.innerHTML = '<span class="spin" role="progressbar" aria-label="Loading usage"></span> Loading usage…';
    const answer = await api('GET', '/api/billing/usage');
    if (live('billing-usage-spins')) return;
    box.textContent = answer.ok ? answer.data.text : 'Usage is not available right now.';
  };

  // Reports
  acts.reload = () => { find('iframe').src = '/reports/frame'; say('#reloaded', 'Chart reloaded.'); };
  if (live('reports-load-throws') && find('#report-summary')) {
    find('#report-summary-total').textContent = '€ 48,200';
  }

  // Help
  acts.print = () => { window.print(); say('#printed', 'Handed to the print dialog.'); };
  acts.chat = () => { window.open('/help/guide?chat=1', '_blank'); };
  const attach = find('#attach');
  if (attach) attach.addEventListener('change', () => say('#attached', `${attach.files.length} file chosen.`));

  // Exports
  acts.estimate = () => say('#estimate', 'About 12 MB in 4 files.');
  acts.archive = () => {
    const queue = [1, 2, 3];
    while (queue.length > 0) {
      queue.pop();
      if (live('exports-build-freezes')) queue.push(queue.length);
    }
    toast('Archive built');
  };

  // Activity
  const clock = find('#clock');
  if (clock) {
    let paused = false;
    let seen = 0;
    setInterval(() => { if (!paused) clock.textContent = new Date().toLocaleTimeString('en-GB'); }, 1000);
    const stream = new EventSource('/api/activity/stream');
    stream.onmessage = () => { seen += 1; find('#seen').textContent = String(seen); };
    stream.onerror = () => stream.close();
    (async function poll() {
      const answer = await api('GET', '/api/activity/poll');
      if (answer.ok) setTimeout(poll, 1000);
    })();
    acts.pause = button => { paused = !paused; button.textContent = paused ? 'Resume' : 'Pause'; };
    acts.replay = async () => {
      const answer = await api('GET', '/api/stats');
      if (live('activity-replay-alerts')) window.alert('Error: the event could not be replayed');
      else say('#replayed', answer.ok ? 'Last event replayed.' : 'Replay is not available right now.');
    };
    const feed = find('#feed');
    let shown = feed.children.length;
    const more = () => {
      for (let i = 0; i < 10 && shown < 30; i += 1) {
        shown += 1;
        const item = document.createElement('li');
        item.innerHTML = `<span class="pill">stock</span><span class="grow">Shelf ${shown} was counted</span>`;
        feed.append(item);
      }
      find('#count').textContent = `${shown} of 30 events`;
      find('#more').disabled = shown >= 30;
    };
    acts.more = more;
    find('#kind').addEventListener('change', event => say('#count', `Kind: ${event.target.value}`));
    let loaded = false;
    new IntersectionObserver(entries => {
      if (entries.some(e => e.isIntersecting) && window.scrollY > 0 && !loaded) { loaded = true; more(); }
    }).observe(find('#sentinel'));
  }

  // The frame of the reports page
  let zoom = 1;
  acts.zoom = () => { zoom += 0.1; find('#zoom').textContent = `Zoom ${zoom.toFixed(1)}`; };
  acts.fit = () => { zoom = 1; say('#zoom', 'Zoom 1.0, fitted'); };
  acts.drill = async () => {
    const answer = await api('GET', '/api/reports/drill');
    say('#drilled', answer.ok ? answer.data.text : 'Details are not available right now.');
  };
  const period = find('#period');
  if (period) period.addEventListener('change', () => say('#drilled', `Period: ${period.value}`));

  // Product page
  acts.suppliers = async button => {
    window.kit.pick(button);
    const answer = await api('GET', '/api/products/1/suppliers');
    say('#suppliers-said', answer.ok ? answer.data.text : 'Suppliers are not available right now.');
  };
  acts.follow = button => {
    const on = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(on));
    button.textContent = on ? 'Following' : 'Follow';
  };
  void note;
})();
