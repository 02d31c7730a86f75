// The order list: rows are clicked through one listener on the table body.
(() => {
  'use strict';
  const { acts, all, api, change, find, live, say, toast } = window.kit;
  let refreshed = 0;

  Object.assign(acts, {
    status(tab) {
      all('[role=tab]').forEach(other => other.setAttribute('aria-selected', String(other === tab)));
      const wanted = tab.dataset.status;
      all('#orders tr').forEach(row => { row.hidden = Boolean(wanted) && row.dataset.status !== wanted; });
      find('#shown').textContent = `${all('#orders tr:not([hidden])').length} orders shown`;
    },
    async refresh(button) {
      const answer = await api('GET', '/api/orders/refresh');
      if (!answer.ok) return window.kit.note(button, 'The list could not be refreshed.');
      refreshed += 1;
      find('#shown').textContent = `Refreshed ${refreshed} times`;
    },
    totals() {
      const totals = live('orders-recalculate-throws') ? null : { sum: 0 };
      totals.sum += 1;
      toast('Totals recalculated');
    },
    column(item) {
      const on = item.getAttribute('aria-checked') !== 'true';
      item.setAttribute('aria-checked', String(on));
      all(`[data-column=${item.dataset.name}]`).forEach(cell => { cell.hidden = !on; });
    },
    closePanel() { find('#panel').hidden = true; },
    cancel(button, event) {
      event.stopPropagation();
      const id = button.closest('tr').dataset.id;
      if (window.confirm(`Cancel order #${id}? The customer is told by e-mail.`)) {
        change(button, 'POST', `/api/orders/${id}/cancel`, {}, 'Order cancelled');
      }
    },
    track(button, event) {
      event.stopPropagation();
      say('#tracked', `Order #${button.closest('tr').dataset.id} left the warehouse yesterday.`);
    },
  });

  find('#orders').addEventListener('click', event => {
    const row = event.target.closest('tr');
    if (!row || event.target.closest('button')) return;
    find('#panel').hidden = false;
    find('#panel-title').textContent = `Order #${row.dataset.id}`;
    say('#panel-text', `Placed by ${row.dataset.who}.`);
  });
})();
