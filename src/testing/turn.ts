/** Waits until everything that can happen without waiting has happened. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const late = Symbol('late');

/** What `promise` brings; `fault()` is thrown when it brings nothing for so long. */
export async function within<T>(ms: number, promise: Promise<T>, fault: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<typeof late>(resolve => {
    timer = setTimeout(resolve, ms, late);
  });
  try {
    const first = await Promise.race([promise, patience]);
    if (first === late) throw fault();
    return first;
  } finally {
    clearTimeout(timer);
  }
}
