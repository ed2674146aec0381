import ipaddr from 'ipaddr.js';
import type { ImagePart } from '../../canonical.ts';

/** Characters of an image in base64: 20 MiB, the most that OpenAI takes. */
const max_data_characters = 27_962_027;
const max_url_characters = 8192;
const media_type = /^data:image\/(?:png|jpeg|gif|webp);base64,/;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** What is accepted as the address of an image, in words. */
export const image_rule =
  'must be an https: address of a public host, or a data: URL of a PNG, JPEG, GIF or WebP image in base64, of at most 20 MiB';

/** Whether `url` is the address of an image, or an image itself. Addresses in the upstream's own network are not: it is what fetches them. */
export function isImageUrl(url: string): boolean {
  const start = media_type.exec(url.slice(0, 40))?.[0];
  if (start !== undefined)
    return url.length - start.length <= max_data_characters && base64.test(url.slice(start.length));
  if (!/^https:\/\//i.test(url) || url.length > max_url_characters || !URL.canParse(url)) return false;
  const { username, password, hostname } = new URL(url);
  return username === '' && password === '' && isPublicHost(hostname);
}

/** Whether a host is outside of private networks, as far as its name tells. */
function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  if (ipaddr.isValid(host)) return ipaddr.process(host).range() === 'unicast';
  return (
    host.includes('.') && !/\.(?:localhost|local|localdomain|internal|intranet|lan|corp|svc)$/.test(host)
  );
}

/** A part with the image at `url`. */
export const imagePart = (url: string, detail?: ImagePart['image_url']['detail']): ImagePart => ({
  type: 'image_url',
  image_url: { url, ...(detail !== undefined && { detail }) },
});
