/**
 * Whether `value` is a promise, where none is accepted. It is not awaited, so its rejection is handled here: without that it would end the
 * process.
 */
export function isPromise(value: unknown): boolean {
  if (typeof Object(value).then !== 'function') return false;
  Promise.resolve(value).catch(() => {});
  return true;
}
