import { isDeepStrictEqual } from 'node:util';
import { asObject, type Json } from '../common/json-object.ts';
import type { Settings } from '../config/load.ts';
import type { OtherProcesses } from './server-status.ts';

type Option = readonly [section: string, option: string];

/**
 * Options that are read at the start only: listeners, stores, and what every line and series has from the beginning. The public host is one
 * of them, also with workers: new ones cannot listen at `0.0.0.0` while others still have the port at `127.0.0.1`.
 */
const fixed: readonly Option[] = [
  ['admin', 'host'],
  ['admin', 'port'],
  ['admin', 'socket'],
  ['admin', 'tls'],
  ['log', 'format'],
  ['metrics', 'account_label'],
  ['server', 'host'],
  ['server', 'reuse_port'],
];

/** Options of the public listener, which a rolling restart of workers applies. */
const ofListener: readonly Option[] = [
  ['server', 'port'],
  ['server', 'tls'],
];

/** Options that a process keeps until its restart, by what it is: the only process of a sidecar or an application, or one of several. */
const fixedIn = {
  alone: [...fixed, ...ofListener, ['server', 'workers']],
  primary: fixed,
  worker: [...fixed, ...ofListener],
} as const satisfies Record<string, readonly Option[]>;

export type ProcessKind = keyof typeof fixedIn;

/** Values of options that a process keeps until its restart, as they stand in the settings. */
export type FixedValues = Json;

/** The place of a gateway's process among those of one sidecar; empty for the only one. */
export interface GatewayProcess extends OtherProcesses {
  /** In a worker: options that have the primary's values, whatever its configuration says. */
  readonly fixed?: FixedValues;
  /**
   * In the primary: lets all workers serve these settings, which this process is about to serve. Rejects if one refuses; none serves them
   * then. Returns what lets them go back.
   */
  readonly forward?: (settings: Settings) => Promise<() => Promise<void>>;
}

export const kindOf = ({ primary, workers }: OtherProcesses): ProcessKind => {
  if (primary) return 'worker';
  return workers ? 'primary' : 'alone';
};

const optionOf = (settings: Json, [section, option]: Option): unknown => asObject(settings[section])[option];

/** The values that a worker begins with, whatever its configuration says. They can be sent to another process. */
export function fixedValues(settings: Settings): FixedValues {
  const { stores } = settings;
  const values: Record<string, Json> = { stores };
  for (const place of fixedIn.worker) {
    const [section, option] = place;
    values[section] = { ...values[section], [option]: optionOf(jsonOf(settings), place) };
  }
  return values;
}

const jsonOf = (settings: Settings): Json => settings as unknown as Json;

/** `next` with the `former` values of options that this process keeps until its restart, and the names of those that differ. */
export function withFixed(
  next: Settings,
  former: FixedValues,
  kind: ProcessKind,
): { readonly settings: Settings; readonly needsRestart: readonly string[] } {
  const needsRestart: string[] = [];
  const sections: Record<string, Json> = {};
  const names = Object.keys({ ...next.stores, ...asObject(former.stores) });
  for (const place of [...fixedIn[kind], ...names.map(option => ['stores', option] as const)]) {
    const [section, option] = place;
    const value = optionOf(former, place);
    if (isDeepStrictEqual(optionOf(jsonOf(next), place), value)) continue;
    needsRestart.push(`${section}.${option}`);
    const { [option]: _, ...others } = sections[section] ?? asObject(jsonOf(next)[section]);
    sections[section] = value === undefined ? others : { ...others, [option]: value };
  }
  const settings = { ...next, ...sections } as unknown as Settings;
  Object.assign(settings, settings.placesOf(settings.stores));
  return { settings, needsRestart };
}

/** Parts of the settings that are no sections. */
const derived = new Set([
  'records',
  'stateServer',
  'placesOf',
  'extensions',
  'isWritten',
  'listedAliases',
  'source',
  'made',
  'mistake',
  'sourceOf',
  'newCounter',
  'warnings',
]);

/** Names of the sections that differ. */
export function changedSections(one: Settings, other: Settings): string[] {
  const [before, after] = [one, other].map(comparable) as [Json, Json];
  return Object.keys({ ...before, ...after })
    .filter(name => !derived.has(name) && !isDeepStrictEqual(before[name], after[name]))
    .sort();
}

/** The settings without what is new each time they are loaded. */
const comparable = (settings: Settings): Json => ({
  ...settings,
  stages: settings.stages.map(({ name, options }) => [name, options]),
});
