/** The load generator, a process of its own: one job at a time, told and answered as messages. */
import type { Answer, Job } from './jobs.ts';
import { measureRequests } from './load.ts';
import { measureStreams } from './streams.ts';

async function answerTo(job: Job): Promise<Answer> {
  try {
    const result = job.kind === 'requests' ? await measureRequests(job) : await measureStreams(job);
    return { result };
  } catch (thrown) {
    return { fault: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

process.on('message', async (job: Job) => process.send?.(await answerTo(job)));
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
