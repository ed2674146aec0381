import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import SwaggerParser from '@apidevtools/swagger-parser';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateSource } from 'oazapfts';
import { routes } from '../../../../plugins/admin-api/routes/index.ts';
import { adminKeyOf, askAdminApi } from '../../../support/admin-api-client.ts';
import { type AdminApiHere, adminApiHere } from '../../../support/admin-api-here.ts';
import { runHere } from '../../../support/command-here.ts';

let here: AdminApiHere;
let directory: string;
/** What `sluice admin-api openapi` prints. */
let printed: string;

beforeAll(async () => {
  here = await adminApiHere();
  directory = await mkdtemp(join(tmpdir(), 'sluice-openapi-'));
  printed = (await runHere(['admin-api', 'openapi'])).stdout;
});
afterAll(async () => {
  await here.close();
  await rm(directory, { recursive: true });
});

type Client = Record<string, (...given: unknown[]) => Promise<Answer>> & { readonly defaults: object };
type Answer = { readonly status: number; readonly data: Record<string, unknown> };

/** The client that a generator makes of the document. */
async function generatedClient(): Promise<Client> {
  const file = join(directory, 'openapi.json');
  await writeFile(file, printed);
  const source = stripTypeScriptTypes(await generateSource(file, {}));
  // Packages are found from here.
  const resolved = source.replaceAll(/from "(@[^"]+)"/g, (_, name) => `from "${import.meta.resolve(name)}"`);
  const module = join(directory, 'client.mjs');
  await writeFile(module, resolved);
  return (await import(pathToFileURL(module).href)) as Client;
}

describe('the OpenAPI document', () => {
  it('is valid, is served as it is printed, and has every route', async () => {
    const document = JSON.parse(printed);
    await SwaggerParser.validate(structuredClone(document));
    expect((await askAdminApi(here.adminUrl, 'GET /openapi.json')).body).toEqual(document);
    const operations = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap(path =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(operations.toSorted()).toEqual(routes.map(({ name }) => name).toSorted());
    expect(Object.keys(document.components.schemas)).not.toContain('undefinedList');
  });

  it('makes a client that operates a gateway', async () => {
    const client = await generatedClient();
    Object.assign(client.defaults, {
      baseUrl: `${here.adminUrl}/admin-api/v1`,
      headers: { authorization: `Bearer ${adminKeyOf('admin')}` },
    });
    const { createAccount, changeAccount, createKey, listKeys, revokeKey, listAuditEntries } = client;
    expect(await createAccount!({ id: 'generated' }, {})).toMatchObject({ status: 201 });
    const changed = await changeAccount!(
      'generated',
      { display_name: 'By a client' },
      { ifMatch: '"other"' },
    );
    expect(changed).toMatchObject({ status: 412, data: { error: { code: 'precondition_failed' } } });
    const once = { idempotencyKey: 'one' };
    const { data: made } = await createKey!({ account: 'generated' }, once);
    expect((await createKey!({ account: 'generated' }, once)).data).toEqual(made);
    const { key: _, ...listed } = made;
    expect((await listKeys!({ account: 'generated', limit: 5 })).data.data).toEqual([listed]);
    expect(await revokeKey!(made.id, {})).toMatchObject({ data: { revoked_at: expect.any(String) } });
    expect((await listAuditEntries!({ target: made.id })).data.data).toMatchObject([
      { action: 'key.revoke' },
      { action: 'key.create' },
    ]);
  });
});
