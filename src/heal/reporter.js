// Writes what a run came to as Playwright's own JSON reporter would, beside whatever reporters the user has.
const fs = require('fs');

// Text that is no file; pictures without a file are of no use here.
const attachment = ({ name, contentType, path, body }) => ({
  name, contentType, path,
  body: !path && body && !/^image|^video/.test(contentType) && body.length < 1 << 20 ? body.toString('base64') : undefined,
});
const error = (e) => ({ message: e.message ?? e.value ?? '', stack: e.stack, location: e.location });

class Reporter {
  onBegin(config, suite) {
    this.config = config;
    this.suite = suite;
    this.errors = [];
  }
  onError(e) {
    (this.errors ??= []).push(error(e));
  }
  printsToStdio() {
    return false;
  }
  test(test, project) {
    return {
      projectName: project,
      expectedStatus: test.expectedStatus,
      status: test.outcome(),
      timeout: test.timeout,
      results: test.results.map((result) => ({
        retry: result.retry,
        status: result.status,
        duration: result.duration,
        errors: result.errors.map(error),
        errorLocation: result.error?.location,
        attachments: result.attachments.map(attachment),
      })),
    };
  }
  nest(suite, project) {
    return {
      title: suite.title,
      file: suite.location?.file,
      suites: suite.suites.map((inner) => this.nest(inner, project)),
      specs: suite.tests.map((test) => ({
        title: test.title, file: test.location.file, line: test.location.line, column: test.location.column,
        tests: [this.test(test, project)],
      })),
    };
  }
  onEnd() {
    const projects = this.suite?.suites ?? [];
    const suites = projects.flatMap((project) => project.suites.map((file) => this.nest(file, project.title)));
    const config = { rootDir: this.config?.rootDir, version: this.config?.version, shard: this.config?.shard };
    const path = process.env.AGENT_TEST_HEAL_REPORT;
    fs.writeFileSync(path + '.new', JSON.stringify({ config, suites, errors: this.errors ?? [] }));
    fs.renameSync(path + '.new', path);
  }
}

module.exports = Reporter;
