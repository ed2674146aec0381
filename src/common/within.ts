/** Whether `work` ends within `limit_ms`. It is not cut off; a rejection that comes in time is passed on. */
export async function endedWithin(work: Promise<unknown>, limit_ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<false>(resolve => {
    timer = setTimeout(() => resolve(false), limit_ms);
  });
  return Promise.race([work.then(() => true), limit]).finally(() => clearTimeout(timer));
}

/** Resolves or rejects as `work` does, or rejects with the error that `late` makes after `limit_ms`. `work` is not cut off. */
export async function within<T>(work: Promise<T>, limit_ms: number, late: () => Error): Promise<T> {
  if (!(await endedWithin(work, limit_ms))) throw late();
  return work;
}
