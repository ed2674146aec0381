import { readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { asObject, isObject } from '../common/json-object.ts';

/** The file that `import name` means in `directory`. Throws MODULE_NOT_FOUND when there is no such package, another error when it lacks the file. */
export function packageFile(name: string, directory: string): string {
  const here = resolve(directory, 'any.js');
  try {
    return createRequire(here).resolve(name);
  } catch (cause) {
    // `require` does not see packages that are for `import` alone, as most new ones are.
    const { code, path, message } = cause as NodeJS.ErrnoException;
    // Node names the path of a package only if it is installed.
    const missing = code === 'MODULE_NOT_FOUND' && path !== undefined && /'([^']+)'/.exec(message)?.[1];
    if (missing) throw new Error(`there is no file ${missing}; the package may have to be built`, { cause });
    const isHidden = code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    const file = isHidden ? importedFile(name, here) : undefined;
    if (file === undefined) throw cause;
    return file;
  }
}

function importedFile(name: string, here: string): string | undefined {
  const manifest = findPackageJSON(name, pathToFileURL(here));
  if (manifest === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports?: unknown };
  const below = name.split('/').slice(name.startsWith('@') ? 2 : 1);
  const entry = ['.', ...below].join('/');
  const target = targetOf(
    isObject(exports) && entry in exports ? exports[entry] : entry === '.' ? exports : undefined,
  );
  return target && resolve(dirname(manifest), target);
}

const conditions = ['import', 'node', 'module-sync', 'default'];

function targetOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const condition = Object.keys(asObject(value)).find(key => conditions.includes(key));
  return condition && targetOf(asObject(value)[condition]);
}
