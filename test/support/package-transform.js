import { createHash } from 'node:crypto';
import { types } from 'node:util';

/** A module that exports what Node itself loads from that file. */
function proxyOf(path) {
  const load = Symbol.for('sluice-tests.load-package');
  const statement = `globalThis[Symbol.for('${load.description}')](${JSON.stringify(path)})`;
  const loaded = globalThis[load](path);
  if (!types.isModuleNamespaceObject(loaded)) return `module.exports = ${statement};`;
  const names = Object.keys(loaded).map(name => JSON.stringify(name));
  const exports = names.map((name, n) => `const v${n} = loaded[${name}]; export { v${n} as ${name} };`);
  return [`const loaded = ${statement};`, ...exports].join('\n');
}

/** Keeps jest from compiling our sources and installed packages anew for each test file. */
export default {
  getCacheKey: (_source, path) => createHash('sha1').update(proxyOf(path)).digest('hex'),
  process: (_source, path) => ({ code: proxyOf(path) }),
};
