// The product list: sorting, filter, search, pages, selection and the row's actions.
(() => {
  'use strict';
  const { acts, api, all, find, live, note, open, say, toast, wire, shutMenus } = window.kit;
  let items = JSON.parse(find('#products-data').textContent);
  const view = { sort: 'id', up: true, status: '', query: '', page: 1, picked: new Set() };
  const size = 8;
  const tone = { Active: 'good', Draft: 'warn', Retired: 'bad' };

  function hits() {
    const found = items.filter(p => (!view.status || p.status === view.status) && p.name.toLowerCase().includes(view.query));
    const key = view.sort;
    found.sort((a, b) => (a[key] > b[key] ? 1 : a[key] < b[key] ? -1 : 0) * (view.up ? 1 : -1));
    return found;
  }

  function row(p) {
    return `<tr data-id="${p.id}">
      <td><input type="checkbox" aria-label="Select ${p.name}" ${view.picked.has(p.id) ? 'checked' : ''}></td>
      <td><a href="/products/${p.id}">${p.name}</a></td><td>€ ${p.price}</td><td>${p.stock}</td>
      <td><span class="pill ${tone[p.status]}">${p.status}</span></td>
      <td class="acts"><button data-act="edit">Edit</button> <button data-act="duplicate">Duplicate</button>
        <button class="danger" data-act="askDelete">Delete</button>
        <span class="wrap"><button data-menu aria-haspopup="menu" aria-expanded="false">More</button>
          <div class="menu right" role="menu" hidden><a role="menuitem" href="/products/${p.id}">View details</a>
            <button role="menuitem" data-toast="Link copied">Copy link</button>
            <button role="menuitem" data-act="printLabel">Print label</button></div></span></td></tr>`;
  }

  function draw() {
    const found = hits();
    const pages = Math.max(1, Math.ceil(found.length / size));
    view.page = Math.min(view.page, pages);
    const from = (view.page - 1) * size;
    find('#rows').innerHTML = found.slice(from, from + size).map(row).join('')
      || '<tr><td colspan="6">No product matches.</td></tr>';
    const numbers = Array.from({ length: pages }, (_, i) => i + 1)
      .map(n => (n === view.page ? `<span aria-current="page">${n}</span>` : `<button data-act="turn" data-page="${n}" aria-label="Page ${n}">${n}</button>`)).join('');
    find('#pager').innerHTML = `<span class="grow">${found.length} products</span>
      <button data-act="turn" data-page="${view.page - 1}" ${view.page === 1 ? 'disabled' : ''}>Previous</button>${numbers}
      <button data-act="turn" data-page="${view.page + 1}" ${view.page === pages ? 'disabled' : ''}>Next</button>`;
    find('#bulk').disabled = view.picked.size === 0;
    find('#picked').textContent = view.picked.size ? `${view.picked.size} selected` : '';
    wire(find('#rows'));
    wire(find('#pager'));
    all('#rows input').forEach(box => box.addEventListener('change', () => {
      const id = Number(box.closest('tr').dataset.id);
      if (box.checked) view.picked.add(id); else view.picked.delete(id);
      draw();
    }));
  }

  const idOf = button => Number(button.closest('tr').dataset.id);
  const nameOf = id => items.find(p => p.id === id).name;
  let current = 0;

  Object.assign(acts, {
    turn(button) { view.page = Number(button.dataset.page); draw(); },
    sort(button) {
      const key = button.dataset.key;
      view.up = view.sort === key ? !view.up : true;
      view.sort = key;
      all('th[aria-sort]').forEach(th => th.setAttribute('aria-sort', 'none'));
      button.closest('th').setAttribute('aria-sort', view.up ? 'ascending' : 'descending');
      draw();
    },
    edit(button) { current = idOf(button); find('#edit [name=name]').value = nameOf(current); open('edit'); },
    async saveEdit(button) { await window.kit.change(button, 'PUT', `/api/products/${current}`, window.kit.form(find('#edit')), 'Product saved'); reload(); },
    async duplicate(button) { await window.kit.change(button, 'POST', `/api/products/${idOf(button)}/duplicate`, {}, 'Product duplicated'); reload(); },
    askDelete(button) { current = idOf(button); find('#doomed').textContent = nameOf(current); open('confirm'); },
    async reallyDelete(button) { await window.kit.change(button, 'DELETE', `/api/products/${current}`, undefined, 'Product deleted'); reload(); },
    printLabel() {
      if (live('products-print-label-dead')) return;
      shutMenus();
      toast('Label sent to the printer queue');
    },
    compare() {
      if (live('products-compare-dead') && view.picked.size < 2) return;
      toast('Select two products to compare them');
    },
    async create(button) { await window.kit.change(button, 'POST', '/api/products', window.kit.form(find('#create')), 'Product created'); reload(); },
    applyAdvanced(button) { button.closest('dialog').close(); say('#advanced-said', 'Advanced options applied.'); },
    archive(button) { window.kit.change(button, 'POST', '/api/products/archive', { ids: [...view.picked] }, 'Products archived'); },
    async lookup() {
      // A newer search replaces the one under way.
      const older = new AbortController();
      fetch('/api/products?q=', { signal: older.signal }).catch(() => {});
      older.abort();
      const answer = await api('GET', `/api/products?q=${encodeURIComponent(view.query)}`);
      say('#looked', answer.ok ? `${answer.data.length} matches on the server.` : 'Search is not available right now.');
    },
    xmlPreview() {
      const schema = live('products-xml-preview-throws') ? undefined : { root: '<products>' };
      find('#xml-preview').textContent = schema.root + ' … </products>';
    },
    selectAll(box) {
      hits().forEach(p => (box.checked ? view.picked.add(p.id) : view.picked.delete(p.id)));
      draw();
    },
  });

  async function reload() {
    const answer = await api('GET', '/api/products');
    if (answer.ok) { items = answer.data; draw(); }
  }

  find('#status').addEventListener('change', event => { view.status = event.target.value; view.page = 1; draw(); });
  find('#query').addEventListener('input', event => { view.query = event.target.value.toLowerCase(); view.page = 1; draw(); });
  draw();
  void note;
})();
