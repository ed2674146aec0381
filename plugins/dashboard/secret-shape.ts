/** Ids that are made here and by clients, and that are no secrets. */
const id = /^(key_[0-9a-z]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Characters of a text that is looked through; no name is longer. */
const max_characters = 512;
/** Characters of a word above which it may be random. */
const min_random = 16;

/**
 * Whether a text has a part that may be a key, a password in an address or another secret, by its shape: what begins like a key, what stands
 * before an `@` with a colon, and long words that change between upper case, lower case and digits as random ones do. Some names do as well.
 */
export function mayBeSecret(text: string): boolean {
  if (text.length > max_characters) return true;
  if (/(^|\W)[spr]k[-_]\S|-----BEGIN|\S:\S+@/i.test(text)) return true;
  if (/(?<![A-Za-z0-9])(?=[A-Z]*\d)[A-Z0-9]{16,}(?![A-Za-z0-9])/.test(text)) return true;
  return text.split(/[\s"'`=:;,<>()]+/).some(word => !id.test(word) && isRandom(word));
}

/** Random base62 changes after 62 % of its characters, hexadecimal after 47 %, a model's name after less than 20 %. */
function isRandom(word: string): boolean {
  const kinds = word
    .replace(/[^A-Za-z0-9]/g, '')
    .replace(/[a-z]/g, 'a')
    .replace(/[A-Z]/g, 'A')
    .replace(/\d/g, '0');
  const changes = kinds.replace(/(.)\1*/g, '$1').length - 1;
  return kinds.length >= min_random && changes >= kinds.length / 5;
}
