/** Fields of OTLP's `ExportTraceServiceRequest` (protobuf) on the way to a span: resource_spans 1, scope_spans 2, spans 2. */
const way = [1, 2, 2] as const;
const length_delimited = 2;

/** How many spans an export request holds; reads nothing of them but their length. */
export const spansIn = (bytes: Buffer): number => countAt(bytes, 0, bytes.length, 0);

function countAt(bytes: Buffer, from: number, to: number, depth: number): number {
  let count = 0;
  for (let at = from; at < to; ) {
    const [tag, length_at] = varint(bytes, at);
    const [value, next] = varint(bytes, length_at);
    const isMessage = (tag & 7) === length_delimited;
    const end = isMessage ? next + value : next;
    if (isMessage && tag >> 3 === way[depth])
      count += depth === way.length - 1 ? 1 : countAt(bytes, next, end, depth + 1);
    at = end;
  }
  return count;
}

/** A varint below 2^31, and where the next byte is. */
function varint(bytes: Buffer, from: number): readonly [value: number, next: number] {
  let value = 0;
  for (let at = from, shift = 0; at < bytes.length; at++, shift += 7) {
    value |= (bytes[at]! & 0x7f) << shift;
    if (bytes[at]! < 0x80) return [value, at + 1];
  }
  throw new Error('a varint without end');
}
