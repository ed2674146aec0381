/** CRC-16/XMODEM of a byte, which clusters use. */
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

const slots = 16_384;

/** The slot of a cluster that has a key: of what stands in its first braces, if that is not empty, or of all of it. */
export function slotOf(key: string): number {
  const begin = key.indexOf('{') + 1;
  const end = begin === 0 ? -1 : key.indexOf('}', begin);
  let crc = 0;
  for (const byte of Buffer.from(end > begin ? key.slice(begin, end) : key))
    crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ byte]!;
  return crc % slots;
}
