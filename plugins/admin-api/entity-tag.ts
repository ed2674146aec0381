import type { IncomingMessage } from 'node:http';
import { hashKey } from '../../src/plugin.ts';
import { apiError } from './api-error.ts';
import type { Route } from './route.ts';

/** The entity tag of a record: another one for each content. */
export const etagOf = (record: object): string => {
  const fields = Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `"${hashKey(JSON.stringify(fields)).slice(0, 32)}"`;
};

/** What throws 412 for a tag that the `If-Match` of a request does not take. */
export function matchOf({ headers }: IncomingMessage, { if_match }: Route): (etag: string) => void {
  const given = headers['if-match'];
  if (given === undefined) return () => {};
  if (!if_match)
    throw apiError('invalid_request', { message: 'If-Match is not taken here.', param: 'If-Match' });
  const tags = given.split(',').map(tag => tag.trim());
  return etag => {
    if (!tags.includes('*') && !tags.includes(etag)) throw apiError('precondition_failed');
  };
}
