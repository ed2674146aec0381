import { type KeyRecord, TooManyKeys } from '../../../src/plugin.ts';
import type { Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { rotateKey, rotationParts } from '../pages/rotation.ts';
import { ownKey, type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** Issues a key in place of another, which goes on working for a while. */
export const rotatePage: Page = portalPage({
  name: 'rotate',
  get: async request => confirm(request, await ownKey(request)),
  post: rotate,
});

const about =
  'You get a new key by the same name. Both keys work until the old one ends, so that you can put the new one in its place.';
const too_many = 'You have reached the limit of active keys. Revoke one first, or let this one end at once.';

const confirm = (request: PortalRequest, key: KeyRecord, fault?: string, chosen?: string): PageResponse =>
  portalResponse(request, rotationParts(request, key, { about, fault, chosen }));

async function rotate(request: PortalRequest): Promise<PageResponse> {
  const key = await ownKey(request);
  const again = (fault: string, chosen?: string) => confirm(request, key, fault, chosen);
  try {
    return await rotateKey(request, key, again, request.context.settings.portal.max_keys);
  } catch (thrown) {
    if (thrown instanceof TooManyKeys) return again(too_many, 'now');
    throw thrown;
  }
}
