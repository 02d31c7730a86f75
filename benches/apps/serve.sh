#!/bin/sh
# serve.sh NAME PORT [--install]: serves an application that nobody here wrote on 127.0.0.1:PORT, in the foreground.
#
# The first use installs pinned versions from npm or PyPI below target/bench-apps. Needs Node.js with npm, and for the
# Django project and the monitor Python 3.10 or newer with venv. With --install it only installs.
#
#   adminlte    AdminLTE 3 (npm): jQuery, Bootstrap 4, some sixty plugins
#   gentelella  Gentelella 4 (npm): a built admin template
#   django      Django 5.2 (PyPI): the stock admin over five models; user admin, password admin-pass-1
#   swagger     Swagger UI 5 (npm): a React single-page application over the pet store's API description
#   rapidoc     RapiDoc 9 (npm): web components; everything lies in shadow roots
#   glances     Glances 4 (PyPI): a Vue monitor that changes by itself every two seconds
set -eu

name=$1
port=$2
here=$(cd "$(dirname "$0")" && pwd)
cache=${BENCH_APPS:-$here/../../target/bench-apps}
app=$cache/$name
mkdir -p "$app"
app=$(cd "$app" && pwd)

need() { command -v "$1" >/dev/null 2>&1 || { echo "serve.sh: $1 is missing" >&2; exit 2; }; }

npm_pack() { # PACKAGE@VERSION DIRECTORY: a package's files, without its dependencies
  need npm
  (cd "$app" && file=$(npm pack --silent "$1") && mkdir -p "$2" && tar xzf "$file" -C "$2" --strip-components=1 && rm "$file")
}

venv() { # REQUIREMENT...
  need python3
  [ -x "$app/venv/bin/python" ] || python3 -m venv "$app/venv"
  "$app/venv/bin/pip" install -q --no-input --disable-pip-version-check "$@"
}

install_adminlte() {
  npm_pack admin-lte@3.2.0 site
  (cd "$app/site" && npm install --legacy-peer-deps --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error && node build/npm/Publish.js)
}

install_gentelella() { npm_pack gentelella@4.2.0 site; }

install_django() {
  venv django==5.2.19 docutils==0.22.3
  (
    rm -rf "$app/project" && mkdir "$app/project" && cd "$app/project"
    ../venv/bin/django-admin startproject site1 .
    ../venv/bin/python manage.py startapp shop
    cp "$here/django/models.py" "$here/django/admin.py" shop/
    cat "$here/django/settings_extra.py" >>site1/settings.py
    cp "$here/django/urls.py" site1/urls.py
    ../venv/bin/python manage.py makemigrations shop
    ../venv/bin/python manage.py migrate
    ../venv/bin/python manage.py shell <"$here/django/seed.py"
    cp db.sqlite3 seed.sqlite3
  )
}

install_swagger() {
  npm_pack swagger-ui-dist@5.35.0 site
  npm_pack @readme/oas-examples@8.2.2 examples
  cp "$app/examples/3.0/json/petstore.json" "$app/site/petstore.json"
  sed -i.orig 's#https://petstore.swagger.io/v2/swagger.json#petstore.json#' "$app/site/swagger-initializer.js"
}

install_rapidoc() {
  npm_pack rapidoc@9.3.8 site
  npm_pack @readme/oas-examples@8.2.2 examples
  cp "$app/examples/3.0/json/petstore.json" "$app/site/petstore.json"
  cat >"$app/site/index.html" <<'PAGE'
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>RapiDoc</title>
<script type="module" src="dist/rapidoc-min.js"></script></head>
<body><rapi-doc spec-url="petstore.json" render-style="view" load-fonts="false"></rapi-doc></body></html>
PAGE
}

install_glances() { venv 'glances[web]==4.5.8'; }

case $name in
  adminlte | gentelella | django | swagger | rapidoc | glances) ;;
  *) echo "serve.sh: no application is called $name" >&2; exit 2 ;;
esac
if [ ! -f "$app/installed" ]; then
  echo "serve.sh: installing $name into $app" >&2
  "install_$name" >"$app/install.log" 2>&1 || { tail -5 "$app/install.log" >&2; exit 3; }
  touch "$app/installed"
fi
[ "${3:-}" != --install ] || exit 0

need python3
case $name in
  gentelella) exec python3 -m http.server "$port" --bind 127.0.0.1 --directory "$app/site/dist" ;;
  adminlte | swagger | rapidoc) exec python3 -m http.server "$port" --bind 127.0.0.1 --directory "$app/site" ;;
  django)
    cd "$app/project"
    cp seed.sqlite3 db.sqlite3
    exec ../venv/bin/python manage.py runserver --noreload "127.0.0.1:$port"
    ;;
  glances) exec "$app/venv/bin/glances" --webserver --bind 127.0.0.1 --port "$port" --quiet --disable-plugin cloud,ip,version,network ;;
esac
