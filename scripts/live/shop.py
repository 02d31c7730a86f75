"""The shop of the live check: `shop.py PORT_FILE LABEL` serves one page whose button has this label."""

import http.server
import os
import sys

PAGE = """<!doctype html><html lang=en><title>Shop</title><h1>Checkout</h1>
<label>Discount code <input id=code></label> <button onclick="apply()">{label}</button><p role=status id=out></p>
<script>function apply() {{ if (document.getElementById('code').value === 'SUMMER') document.getElementById('out').textContent = '10% off'; }}</script>
"""


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGE.format(label=sys.argv[2]).encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
