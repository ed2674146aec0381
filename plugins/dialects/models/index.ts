import { hash } from 'node:crypto';
import {
  allName,
  catalogEntry,
  decodePath,
  defineDialect,
  type Model,
  type ModelList,
  openAiErrorBody,
  publicModelFields,
  refusal,
  unreadLists,
} from '../../../src/plugin.ts';

/** What the paths of single models begin with. */
const below = '/v1/models/';

/**
 * The public catalog as a list and model by model, with a strong entity tag for clients that have it already. With a key that may use some
 * models only, it has those.
 */
export const models = defineDialect({
  name: 'models',
  paths: { '/v1/models': ['GET', 'HEAD'], '/v1/models/*': ['GET', 'HEAD'] },
  public: true,
  errorBody: openAiErrorBody,
  create(_options, { models, aliases }) {
    const byId = new Map(models.map(model => [model.id, model]));
    const named = (name: string): Model[] => {
      const model = byId.has(name) ? undefined : byId.get(aliases?.find(name) ?? '');
      return model ? [{ ...model, id: name }] : [];
    };
    const entryOf = (model: Model) => taggedBody(JSON.stringify(catalogEntry(model)));
    const all = [...models, ...(aliases?.names ?? []).flatMap(named)];
    const list = taggedBody(encodeCatalog(all));
    const mayUse = (lists: readonly ModelList[], id: string) =>
      allName(lists, byId.has(id) ? id : (aliases?.find(id) ?? id));
    const single = new Map(models.map(model => [model.id, entryOf(model)]));
    return {
      answer({ 'if-none-match': known }, path, exchange) {
        // Clients send the slash of an id as it is or encoded.
        const id = path.startsWith(below) ? decodePath(path.slice(below.length)) : undefined;
        const lists = unreadLists(exchange);
        const isHidden = lists && id !== undefined && !mayUse(lists, id);
        const whole = lists ? ownBody(encodeCatalog(all.filter(model => mayUse(lists, model.id)))) : list;
        const found = id === undefined ? whole : (single.get(id) ?? named(id).map(entryOf)[0]);
        if (!found || isHidden)
          throw refusal('unknown_url', { message: `The model '${id?.slice(0, 256)}' does not exist.` });
        const { headers, body } = found;
        return isAmong(known, headers.etag) ? { status: 304, headers } : { status: 200, headers, body };
      },
    };
  },
});

function taggedBody(body: string) {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 27)}"`;
  return { body, headers: { etag, 'cache-control': 'public, max-age=60' } };
}

/** The same for the reader of one key alone. */
function ownBody(text: string) {
  const { body, headers } = taggedBody(text);
  return { body, headers: { ...headers, 'cache-control': 'private, max-age=60', vary: 'authorization' } };
}

/** Whether `If-None-Match` names `etag` (RFC 9110, 13.1.2: tags are compared weakly). */
const isAmong = (known: string | undefined, etag: string): boolean =>
  known?.split(',').some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag) ?? false;

const encodeCatalog = (catalog: readonly Model[]): string =>
  JSON.stringify({ object: 'list', data: catalog.map(catalogEntry), models: catalog.map(publicModelFields) });
