import { isDeepStrictEqual } from 'node:util';
import type { Settings } from './config/load.ts';
import { asObject, type Json } from './json-object.ts';

/** What `gateway.reload` has done. */
export interface Reloaded {
  /** Sections of the configuration that are not as they were, such as `models`, in alphabetical order. */
  readonly changed: readonly string[];
  /** Options that have changed and keep their former value until a restart, such as `server.port`. */
  readonly needsRestart: readonly string[];
  /** Warnings about valid options that have no effect, as at the start. */
  readonly warnings: readonly string[];
}

/** Options that are read at the start only: listeners, stores, and what every line and series has from the beginning. */
const fixed: readonly (readonly [section: string, option: string])[] = [
  ['server', 'host'],
  ['server', 'port'],
  ['server', 'reuse_port'],
  ['server', 'tls'],
  ['admin', 'host'],
  ['admin', 'port'],
  ['admin', 'socket'],
  ['admin', 'tls'],
  ['log', 'format'],
  ['metrics', 'account_label'],
];

/** `next` with the former values of options that need a restart, and the names of those that differ. */
export function withFixed(
  next: Settings,
  before: Settings,
): { readonly settings: Settings; readonly needsRestart: readonly string[] } {
  const needsRestart: string[] = [];
  const sections: Record<string, Json> = {};
  const stores = Object.keys({ ...next.stores, ...before.stores }).map(option => ['stores', option] as const);
  for (const [section, option] of [...fixed, ...stores]) {
    const own = (settings: Settings) => asObject((settings as unknown as Json)[section]);
    const value = own(before)[option];
    if (isDeepStrictEqual(own(next)[option], value)) continue;
    needsRestart.push(`${section}.${option}`);
    const { [option]: _, ...others } = sections[section] ?? own(next);
    sections[section] = value === undefined ? others : { ...others, [option]: value };
  }
  const settings = { ...next, ...sections, records: before.records } as unknown as Settings;
  return { settings, needsRestart };
}

/** Parts of the settings that are no sections. */
const derived = new Set(['records', 'isWritten', 'made', 'mistake', 'newCounter', 'warnings']);

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
