/** Resolves or rejects as `work` does, or rejects with the error that `late` makes after `limit_ms`. `work` is not cut off. */
export async function within<T>(work: Promise<T>, limit_ms: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), limit_ms);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
