import { readFileSync } from 'node:fs';
import type { AdapterContract, AdapterErrorFixture, AdapterFixture } from '../../src/testing/index.ts';

/** A line of a file: a reply, an error, or one event of the stream of what stands above it. */
type Line = AdapterFixture | AdapterErrorFixture | { readonly event: object };

/** The contract of a preset: what its server sends, in words of our own. */
export function presetContract(name: string): AdapterContract {
  const file = new URL(`../fixtures/providers/presets/${name}.jsonl`, import.meta.url);
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const written: { stream?: string; shown?: object }[] = [];
  for (const line of lines.map(text => JSON.parse(text) as Line)) {
    if (!('event' in line)) written.push({ ...line });
    else {
      const last = written.at(-1)!;
      last.stream = `${last.stream ?? ''}data: ${JSON.stringify(line.event)}\n\n`;
    }
  }
  for (const one of written) if (one.stream !== undefined) one.stream += 'data: [DONE]\n\n';
  return {
    fixtures: written.filter(({ shown }) => !shown) as AdapterFixture[],
    errors: written.filter(({ shown }) => shown) as AdapterErrorFixture[],
  };
}
