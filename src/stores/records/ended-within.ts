/** Whether `work` ends within `limit_ms`. It is not cut off; a rejection that comes in time is passed on. */
export async function endedWithin(work: Promise<unknown>, limit_ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<false>(resolve => {
    timer = setTimeout(() => resolve(false), limit_ms);
  });
  return Promise.race([work.then(() => true), limit]).finally(() => clearTimeout(timer));
}
