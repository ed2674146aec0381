import type { Contestant } from './contestants/contestant.ts';
import { direct } from './contestants/direct.ts';
import { httpProxyMiddleware } from './contestants/http-proxy-middleware.ts';
import { nginx } from './contestants/nginx.ts';
import { portkey } from './contestants/portkey.ts';
import {
  sluiceInExpress,
  sluiceSidecar,
  sluiceWithoutLimits,
  sluiceWithRedis,
} from './contestants/sluice.ts';

/** All contestants in the order of the table. */
export const contestants: readonly Contestant[] = [
  direct,
  nginx,
  httpProxyMiddleware,
  portkey,
  sluiceSidecar,
  sluiceWithoutLimits,
  sluiceWithRedis,
  sluiceInExpress,
];

/** All ratios are to this one. */
export const baseline = httpProxyMiddleware;

/** Those named, or all. Throws an Error for a name that there is not. */
export function chosen(names: readonly string[] | undefined): readonly Contestant[] {
  if (!names) return contestants;
  const unknown = names.filter(name => !contestants.some(contestant => contestant.name === name));
  if (unknown.length > 0)
    throw new Error(
      `--only: there is no ${unknown.join(', ')}; there are ${contestants.map(({ name }) => name).join(', ')}`,
    );
  return contestants.filter(({ name }) => names.includes(name));
}
