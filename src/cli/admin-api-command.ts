import { Command } from 'commander';
import type { Voice } from './command.ts';

/** `sluice admin-api …`. */
export function adminApiCommand({ print }: Voice): Command {
  const api = new Command('admin-api').description('the Admin API');
  api
    .command('openapi')
    .description('print its OpenAPI document, from which clients can be generated')
    .action(async () => {
      const [{ openApiDocument }, { routes }] = await Promise.all([
        import('../../plugins/admin-api/open-api.ts'),
        import('../../plugins/admin-api/routes/index.ts'),
      ]);
      print(JSON.stringify(openApiDocument(routes), null, 2));
    });
  return api;
}
