/** The element with this test id. */
function testId(id: string): string {
  return ['data-testid', 'data-test-id', 'data-test', 'data-qa', 'data-cy'].map((name) => `[${name}=${JSON.stringify(id)}]`).join(', ');
}

/** A value that is no part of this file. */
function secret(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`not reached: the step needs the environment variable ${name}, which is not set`);
  return value;
}
