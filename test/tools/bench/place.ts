import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load_core, moveTo } from '../machine.ts';
import { bare, root, startServer } from '../processes.ts';
import type { Place } from './contestants.ts';

/** Puts this process on the load's core, and the upstream beside it. What it makes is removed when this process ends. */
export async function benchPlace(): Promise<Place> {
  moveTo(load_core, process.pid);
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return { directory, upstream: await startUpstream() };
}

/** The upstream of every benchmark. */
const startUpstream = () =>
  startServer(join(root, 'test/tools/bench/upstream.ts'), [], { core: load_core, env: bare() });
