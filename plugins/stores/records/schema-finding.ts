import { type Finding, finding } from '../../../src/store-plugin.ts';
import { migrations } from './migrations.ts';

const { fault, ok, warning } = finding;

const thing = 'records store';
const schema = { first: migrations[0]!.version, newest: migrations.at(-1)!.version };

/** What a store of this version is to a program that upgrades from `first` to `newest`. */
export function schemaFinding(place: string, version: number, { first, newest } = schema): Finding {
  const found = `${place} has schema version ${version}`;
  if (version > newest)
    return fault(thing, `${found}, this sluice knows ${newest}`, 'start a newer sluice, or another store');
  if (version === newest) return ok(thing, found);
  if (version === 0) return ok(thing, `${place} is empty; the first start makes its tables`);
  if (version < first) return fault(thing, `${found}, from before the first release`, 'set a new store');
  const steps = newest - version;
  return warning(
    thing,
    `${found}; the next start migrates it to ${newest} (${steps} step${steps === 1 ? '' : 's'})`,
    'make a backup before the next start',
  );
}
