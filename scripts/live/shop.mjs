// The shop of the live check: `node shop.mjs LABEL` serves one page whose button has this label, and says where on stdout.
import { createServer } from 'node:http';

const PAGE = `<!doctype html><html lang=en><title>Shop</title><h1>Checkout</h1>
<label>Discount code <input id=code></label> <button onclick="apply()">${process.argv[2]}</button><p role=status id=out></p>
<script>function apply() { if (document.getElementById('code').value === 'SUMMER') document.getElementById('out').textContent = '10% off'; }</script>
`;

const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE));
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
