import type { Contestant } from './contestants/contestant.ts';
import { direct } from './contestants/direct.ts';
import {
  httpProxyMiddleware,
  proxyOfBatches,
  proxyOfEmbeddings,
} from './contestants/http-proxy-middleware.ts';
import { nginx } from './contestants/nginx.ts';
import { portkey } from './contestants/portkey.ts';
import {
  sluiceInExpress,
  sluicePassthrough,
  sluicePassthroughOfBatches,
  sluiceSidecar,
  sluiceTraced,
  sluiceUnsampled,
  sluiceWithoutLimits,
  sluiceWithRedis,
} from './contestants/sluice.ts';
import { batch } from './embeddings.ts';

/** Contestants that are compared with one of them. */
export interface Race {
  /** For `--tables`. */
  readonly name: string;
  readonly title: string;
  readonly baseline: Contestant;
  readonly contestants: readonly Contestant[];
}

/** A part of sluice, with and without it: the difference is what it costs. */
export interface Part {
  readonly title: string;
  readonly with: Contestant;
  readonly without: Contestant;
}

export const gateways: Race = {
  name: 'gateways',
  title: 'Gateways',
  baseline: httpProxyMiddleware,
  contestants: [direct, nginx, httpProxyMiddleware, portkey, sluiceSidecar, sluiceInExpress],
};

export const passthrough: Race = {
  name: 'passthrough',
  title: 'Pass-through of `POST /v1/embeddings`',
  baseline: proxyOfEmbeddings,
  contestants: [proxyOfEmbeddings, sluicePassthrough],
};

/** The larger a call, the less it matters what is done once for each. */
export const passthroughOfBatches: Race = {
  name: 'passthrough',
  title: `Pass-through of \`POST /v1/embeddings\`, ${batch} texts a call`,
  baseline: proxyOfBatches,
  contestants: [proxyOfBatches, sluicePassthroughOfBatches],
};

export const parts: readonly Part[] = [
  { title: 'limits in memory', with: sluiceSidecar, without: sluiceWithoutLimits },
  { title: 'limits in Redis', with: sluiceWithRedis, without: sluiceWithoutLimits },
  { title: 'tracing, every exchange sent', with: sluiceTraced, without: sluiceSidecar },
  { title: 'tracing, no exchange sampled', with: sluiceUnsampled, without: sluiceSidecar },
];

const ofTables: Readonly<Record<string, readonly Contestant[]>> = {
  gateways: gateways.contestants,
  passthrough: [...passthrough.contestants, ...passthroughOfBatches.contestants],
  parts: parts.flatMap(part => [part.with, part.without]),
};

const all = [...new Set(Object.values(ofTables).flat())];

/** Those of the tables and with the names that are asked for; without any, all. Throws an Error for a name that there is not. */
export function chosen(
  tables: readonly string[] | undefined,
  names: readonly string[] | undefined,
): readonly Contestant[] {
  const known = [...all].map(({ name }) => name);
  refuseUnknown('--tables', tables ?? [], Object.keys(ofTables));
  refuseUnknown('--only', names ?? [], known);
  const within = tables ? new Set(tables.flatMap(table => ofTables[table] ?? [])) : new Set(all);
  return all.filter(contestant => within.has(contestant) && (names?.includes(contestant.name) ?? true));
}

function refuseUnknown(option: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.filter(name => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`${option}: there is no ${unknown.join(', ')}; there are ${known.join(', ')}`);
}
