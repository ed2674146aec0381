// `npm` in a recipe: what `npm install` names is there already, in the project's own folder; and what the recipe writes is not published.
const { existsSync, mkdirSync, symlinkSync, writeFileSync, readFileSync } = require('node:fs');
const { dirname, join } = require('node:path');

const root = join(__dirname, '../../..');
const [command, ...words] = process.argv.slice(2).filter(word => word !== '-D' && word !== '--save-dev');

const prefix = words.indexOf('--prefix');
if (prefix !== -1) {
  const [, folder] = words.splice(prefix, 2);
  mkdirSync(folder, { recursive: true });
  process.chdir(folder);
}

/** A name without its version, as in `express@5`. */
const nameOf = word => word.replace(/(?<=.)@[^/]*$/, '');

function install(name) {
  const target = name === 'sluice' ? root : join(root, 'node_modules', name);
  if (!existsSync(target))
    throw new Error(`npm install ${name}: the project has no such package for its tests`);
  const link = join('node_modules', name);
  if (existsSync(link)) return;
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(target, link);
  if (name !== 'sluice') return;
  mkdirSync('node_modules/.bin', { recursive: true });
  symlinkSync(join(root, 'bin/sluice.cjs'), 'node_modules/.bin/sluice');
}

switch (command) {
  case 'init':
    writeFileSync('package.json', '{}\n');
    break;
  case 'pkg': {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
    for (const word of words.slice(1)) {
      const [name, value] = word.split('=');
      manifest[name] = value;
    }
    writeFileSync('package.json', `${JSON.stringify(manifest)}\n`);
    break;
  }
  case 'install':
    words.map(nameOf).forEach(install);
    break;
  default:
    throw new Error(`npm ${command} is not known to the tests of recipes`);
}
