// Controls beyond plain HTML: web components with an open and a closed shadow root, menus by hover and right click.
(() => {
  'use strict';
  const { acts, find, live, say, toast } = window.kit;
  const style = '<style>button{font:inherit;padding:6px 12px;border-radius:8px;border:1px solid #cfd7e2;background:#fff;cursor:pointer}p{margin:0 0 8px}</style>';

  customElements.define('colour-picker', class extends HTMLElement {
    connectedCallback() {
      const colours = ['Teal', 'Coral', 'Indigo'];
      let at = 0;
      const root = this.attachShadow({ mode: 'open' });
      root.innerHTML = `${style}<p>Colour: <b>${colours[0]}</b></p><button id="n">Next colour</button> <button id="p">Previous colour</button>`;
      const show = step => { at = (at + step + 3) % 3; root.querySelector('b').textContent = colours[at]; };
      root.querySelector('#n').addEventListener('click', () => show(1));
      root.querySelector('#p').addEventListener('click', () => show(-1));
    }
  });

  customElements.define('sticky-note', class extends HTMLElement {
    connectedCallback() {
      const root = this.attachShadow({ mode: 'closed' });
      root.innerHTML = `${style}<p>Call the carrier</p><button id="a">Add line</button> <button id="p">Pin note</button>`;
      root.querySelector('#a').addEventListener('click', () => {
        root.querySelector('p').append(document.createElement('br'), 'Another line');
      });
      root.querySelector('#p').addEventListener('click', () => {
        const board = live('widgets-pin-note-throws') ? undefined : [];
        board.push('note');
        toast('Note pinned');
      });
    }
  });

  acts.gotIt = () => find('#tip-box').hidePopover();
  acts.quick = button => say('#quick-said', `${button.textContent} done.`);
  acts.inspect = () => { find('#context').hidden = true; say('#context-said', 'Inspected.'); };

  const hover = find('#hover');
  hover.addEventListener('mouseenter', () => { find('.menu', hover).hidden = false; });
  hover.addEventListener('mouseleave', () => { find('.menu', hover).hidden = true; });

  find('#pad').addEventListener('contextmenu', event => {
    event.preventDefault();
    find('#context').hidden = false;
  });
  document.addEventListener('keydown', event => { if (event.key === 'Escape') find('#context').hidden = true; });
  document.addEventListener('click', event => { if (!event.target.closest('#context')) find('#context').hidden = true; });
  let renames = 0;
  find('#rename').addEventListener('dblclick', event => {
    renames += 1;
    event.currentTarget.textContent = `Board ${renames + 1}`;
  });
  find('#volume').addEventListener('input', event => { find('#volume-said').textContent = `Volume ${event.target.value}`; });
})();
