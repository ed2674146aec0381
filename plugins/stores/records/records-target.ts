import { resolve } from 'node:path';
import { z } from 'zod';
import type { Channel } from '../../../src/mount/workers/channel.ts';
import type { PostgresPool } from '../postgres/postgres-pool.ts';

/** Where records are kept. */
export type RecordsTarget =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }
  /** The application's own pool. */
  | { readonly kind: 'pool'; readonly pool: PostgresPool }
  /** The memory or SQLite file of the primary process. */
  | { readonly kind: 'channel'; readonly channel: Channel };

export const isPostgres = ({ kind }: RecordsTarget): boolean => kind === 'postgres' || kind === 'pool';

/** `stores.records`, checked with the rest of the configuration. */
export const recordsSchema = z
  .string()
  .refine(text => targetOf(text, '.') !== undefined, {
    error:
      'must be memory, sqlite:PATH such as sqlite:./sluice.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  })
  .default('memory');

/** What `text` means; relative paths start at `directory`. `undefined` for anything that is not a target. */
export function targetOf(text: string, directory: string): RecordsTarget | undefined {
  if (text === 'memory') return { kind: 'memory' };
  // Not sqlite://PATH, whose meaning is ambiguous.
  const path = /^sqlite:(?!\/\/)(.+)$/.exec(text)?.[1];
  if (path !== undefined && path !== ':memory:') return { kind: 'sqlite', path: resolve(directory, path) };
  if (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text)) return { kind: 'postgres', url: text };
  return undefined;
}

/** The target for messages, without its password. */
export function placeOf(target: RecordsTarget): string {
  if (target.kind === 'pool') return 'the pool of the option records';
  if (target.kind === 'channel') return 'the records of the primary process';
  if (target.kind !== 'postgres') return target.kind === 'sqlite' ? `sqlite:${target.path}` : 'memory';
  const { hostname, port, pathname } = new URL(target.url);
  return `postgres://${hostname}${port && `:${port}`}${pathname}`;
}
