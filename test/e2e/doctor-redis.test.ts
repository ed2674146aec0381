import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkState } from '../../src/cli/doctor/state-check.ts';
import { freePort } from '../support/free-port.ts';
import { type RedisClusterServers, startRedisCluster } from '../support/redis-cluster-servers.ts';
import { type RedisSentinelServers, startRedisSentinel } from '../support/redis-sentinel-servers.ts';

let cluster: RedisClusterServers;
let sentinel: RedisSentinelServers;

beforeAll(async () => {
  [cluster, sentinel] = await Promise.all([startRedisCluster(), startRedisSentinel()]);
});
afterAll(() => Promise.all([cluster?.stop(), sentinel?.stop()]));

const found = async (state: string) =>
  (await checkState(state)).map(({ status, found }) => `${status}: ${found}`);

describe('sluice doctor', () => {
  it('asks every primary of a Redis Cluster, and changes nothing', async () => {
    const { port } = cluster.servers[0]!;
    const findings = await found(`redis+cluster://127.0.0.1:${port}`);
    expect(findings.filter(each => /^ok: redis:\/\/127\.0\.0\.1:\d+, version/.test(each))).toHaveLength(3);
    expect(await Promise.all(cluster.servers.map(({ cli }) => cli('DBSIZE')))).toEqual(['0', '0', '0']);
  });

  it('asks the next node when one does not answer, and reports both', async () => {
    const gone = await freePort();
    const findings = await found(`redis+cluster://127.0.0.1:${gone},127.0.0.1:${cluster.servers[1]!.port}`);
    expect(findings[0]).toMatch(/^fault: .*ECONNREFUSED/);
    expect(findings).toHaveLength(4);
  });

  it('warns of a cluster that refuses all accounts while one primary is lost', async () => {
    const [first] = cluster.servers;
    await first!.cli('CONFIG', 'SET', 'cluster-require-full-coverage', 'yes');
    const findings = await found(`redis+cluster://127.0.0.1:${first!.port}`);
    await first!.cli('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    expect(findings[0]).toMatch(/^warning: cluster-require-full-coverage is yes/);
  });

  it('asks the primary that Sentinels name, and reports a name that they do not know', async () => {
    expect((await found(sentinel.url))[0]).toMatch(
      /^ok: redis\+sentinel:\/\/127.*, primary mymaster, version .*, answers in/,
    );
    const [finding] = await found(sentinel.url.replace('mymaster', 'other'));
    expect(finding).toMatch(/^fault: .*primary other: .*No such master/);
  });

  it('says that a single server is no cluster', async () => {
    const { port } = sentinel.servers[0]!;
    expect(await checkState(`redis+cluster://127.0.0.1:${port}`)).toEqual([
      expect.objectContaining({ status: 'fault', remedy: expect.stringContaining('write redis://') }),
    ]);
  });
});
