import { defineExtension } from '../../src/plugin.ts';
import { noticesOptions } from './options.ts';

/** Tells operators and customers what happens, by webhooks and by mail. */
export const notices = defineExtension({
  name: 'notices',
  schema: noticesOptions,
  async open(context, options) {
    // In a server of several processes the primary one does it for all.
    if (context.isWorker) return {};
    const { NoticeService } = await import('./notice-service.ts');
    const service = new NoticeService(context, options);
    return {
      configure: given => service.configure(given),
      close: () => service.close(),
    };
  },
});
