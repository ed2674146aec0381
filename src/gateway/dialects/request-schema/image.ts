import ipaddr from 'ipaddr.js';
import type { ImagePart } from '../../exchange/canonical.ts';
import { fault } from './first-fault.ts';
import { text } from './shared-fields.ts';

/** Characters of an image in base64: 20 MiB, the most that OpenAI takes. */
const max_data_characters = 27_962_027;
const max_url_characters = 8192;
const media_type = /^data:image\/(?:png|jpeg|gif|webp);base64,/;
/** Backslashes and control characters, which URL parsers turn into slashes, drop or keep. */
const misread = /[\\\p{Cc}]/u;
/** Two labels or more, none of them empty. */
const public_name = /^[\w-]+(?:\.[\w-]+)+$/;
/** Names that only private networks, or the metadata services of clouds, have. */
const private_name =
  /\.(?:localhost|local|localdomain|internal|intranet|lan|corp|svc|home\.arpa)$|^metadata\.goog$/;
/** Answers only inside of Azure, although its address is a public one. */
const azure_host_agent = '168.63.129.16';
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** What is accepted as the address of an image, in words. */
const image_rule =
  'must be an https: address of a public host, or a data: URL of a PNG, JPEG, GIF or WebP image in base64, of at most 20 MiB';

/**
 * The address of an image as it is forwarded, or an image itself; undefined for anything else. Addresses in the upstream's own network are
 * refused: it is what fetches them. The address is written anew from what was checked, as the upstream's parser may read the client's
 * spelling in another way.
 */
export function acceptedImageUrl(given: string): string | undefined {
  const start = media_type.exec(given.slice(0, 40))?.[0];
  if (start !== undefined)
    return given.length - start.length <= max_data_characters && base64.test(given.slice(start.length))
      ? given
      : undefined;
  if (!/^https:\/\//i.test(given) || given.length > max_url_characters || misread.test(given))
    return undefined;
  const url = URL.parse(given);
  if (url?.username !== '' || url.password !== '') return undefined;
  return isPublicHost(url.hostname) ? url.href : undefined;
}

/** Whether a host is outside of private networks, as far as its name tells. */
function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  if (!ipaddr.isValid(host)) return public_name.test(host) && !private_name.test(host);
  const ip = ipaddr.parse(host);
  if (ip.range() !== 'unicast' || host === azure_host_agent) return false;
  // Beside the global addresses (RFC 4291, 2.4) are those that stand for IPv4 ones.
  return ip.kind() === 'ipv4' || ip.toByteArray()[0]! >> 5 === 1;
}

/** The address of an image, as `acceptedImageUrl` returns it. */
export const imageUrl = text.transform(
  (given, issues): string => acceptedImageUrl(given) ?? fault(issues, image_rule),
);

/** A part with the image at `url`. */
export const imagePart = (url: string, detail?: ImagePart['image_url']['detail']): ImagePart => ({
  type: 'image_url',
  image_url: { url, ...(detail !== undefined && { detail }) },
});
