import type { KeyRecord } from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { pageResponse } from '../view/shell.ts';
import { keyOf } from './revoke.ts';
import { rotateKey, rotationParts } from './rotation.ts';

/** Issues a key in place of another, which goes on working for a while. */
export const rotatePage: Page = {
  name: 'rotate',
  get: async request => confirm(request, await keyOf(request)),
  post: async request => {
    const key = await keyOf(request);
    return rotateKey(request, key, (fault, chosen) => confirm(request, key, fault, chosen));
  },
  asksForChange: true,
};

const about =
  'A new key is issued for the same account, by the same name and with the same limits, of which it has used nothing. Both keys work until the old one ends.';

const confirm = (request: PageRequest, key: KeyRecord, fault?: string, chosen?: string): PageResponse =>
  pageResponse(request, rotationParts(request, key, { account: key.account, about, fault, chosen }));
