import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  head,
  type ScriptedUpstream,
  startScriptedUpstream,
  thenClose,
  thenReset,
  whole,
} from '../../../support/scripted-upstream.ts';
import { readMetrics } from '../../../tools/chaos/process-metrics.ts';

const metrics = 'sluice_in_flight{endpoint="a"} 2\nsluice_in_flight{endpoint="b"} 3\nprocess_open_fds 21\n';
const short = head(200, { 'content-type': 'text/plain', 'content-length': 90_000 });

let admin: ScriptedUpstream;
beforeEach(async () => {
  admin = await startScriptedUpstream(whole(200, metrics));
});
afterEach(() => admin.close());

describe('readMetrics', () => {
  it('reuses one connection, so that reads do not change the count of open files', async () => {
    for (let look = 0; look < 5; look++)
      expect(await readMetrics(admin.url)).toMatchObject({ in_flight: 5, open_files: 21, exchanges: 0 });
    expect(admin.requests.map(({ connection }) => connection)).toEqual([0, 0, 0, 0, 0]);
  });

  it('retries when the connection breaks within a reply', async () => {
    admin.replyOnce(thenReset(short, 'sluice_in_flight 7\n'));
    admin.replyOnce(thenClose(short, 'sluice_in_flight 7\n'));
    expect(await readMetrics(admin.url)).toMatchObject({ in_flight: 5 });
  });

  it('fails after three broken replies', async () => {
    admin.reply(thenReset(short));
    await expect(readMetrics(admin.url)).rejects.toThrow('no metrics from http://127.0.0.1:');
    expect(admin.requests).toHaveLength(3);
  });
});
