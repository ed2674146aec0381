import { Document, type Pair, type YAMLMap } from 'yaml';
import type { DiscoveredModel } from '../../mount/provider-check/discovered-model.ts';
import { familyOf } from './model-families.ts';

const unknown_context = 8192;
const unknown_completion = 4096;

const unreported = 'not reported by the server';

/**
 * The `models` of a configuration as YAML, made from what a server reports of its models. Anything else is a careful guess and says so in a
 * comment: prices above all, which are 0.
 */
export function catalogTemplate(provider: string, seen: readonly DiscoveredModel[], today: string): string {
  const ids = publicIds(provider, seen);
  const entries = seen.map((model, at) => entryOf(provider, ids[at]!, model, today));
  const document = new Document({ models: entries.map(({ value }) => value) });
  for (const [at, { comments }] of entries.entries()) {
    const map = document.getIn(['models', at]) as YAMLMap;
    for (const pair of map.items as Pair<{ value: string; commentBefore?: string }>[]) {
      const comment = comments[pair.key.value];
      if (comment !== undefined) pair.key.commentBefore = ` ${comment}`;
    }
    map.spaceBefore = at > 0;
  }
  return document.toString({ lineWidth: 110, flowCollectionPadding: true });
}

interface Entry {
  readonly value: Record<string, unknown>;
  /** The comments above fields. */
  readonly comments: Readonly<Record<string, string | undefined>>;
}

function entryOf(provider: string, id: string, model: DiscoveredModel, today: string): Entry {
  const { context_length = unknown_context, pricing } = model;
  const family = familyOf(model.id);
  const reasoning = model.reasoning ?? family !== undefined;
  const priced = pricing.prompt !== undefined && pricing.completion !== undefined;
  const max_completion_tokens = model.max_completion_tokens ?? Math.min(unknown_completion, context_length);
  const efforts = family && !family.canBeOff ? ['low', 'medium', 'high'] : ['none', 'low', 'medium', 'high'];
  return {
    value: {
      id: literal(id),
      name: literal(model.name ?? lastPart(model.id)),
      date: model.date ?? today,
      context_length,
      max_completion_tokens,
      pricing: {
        prompt: pricing.prompt ?? '0',
        completion: pricing.completion ?? '0',
        input_cache_read: pricing.input_cache_read,
      },
      reasoning,
      tool_calls: model.tool_calls ?? true,
      reasoning_effort: reasoning
        ? { supported: true, levels: efforts, default: 'medium' }
        : { supported: false, levels: [], default: null },
      starts_in_reasoning: family?.startsInReasoning ? 'auto' : undefined,
      upstreams: [{ provider, model: literal(model.id) }],
    },
    comments: {
      date: missing(model.date, `${unreported}: the release date`),
      context_length: missing(model.context_length),
      max_completion_tokens: missing(model.max_completion_tokens),
      pricing: priced ? undefined : `${unreported}: nothing is charged until these are set`,
      reasoning: missing(
        model.reasoning,
        family && `by its name; in vLLM and SGLang its reasoning parser is ${family.parser}`,
      ),
      tool_calls: missing(model.tool_calls),
      reasoning_effort: reasoning ? 'check that the model knows these levels' : undefined,
    },
  };
}

/** The public ids of `seen`, in order. Of names that become the same one, such as `a b` and `a-b`, the later ones are numbered. */
function publicIds(provider: string, seen: readonly DiscoveredModel[]): string[] {
  const used = new Set<string>();
  for (const { id } of seen) {
    const first = publicId(provider, id);
    let unique = first;
    for (let number = 2; used.has(unique); number++) unique = `${first}-${number}`;
    used.add(unique);
  }
  return [...used];
}

/** `<vendor>/<model_name>`, also for the path of a file, which llama.cpp has for a name. */
function publicId(provider: string, id: string): string {
  const isPath = /^[/.~]|\\/.test(id);
  const name = (isPath ? lastPart(id) : id).replace(/\s+/g, '-');
  return name.includes('/') ? name : `${provider}/${name}`;
}

const lastPart = (id: string): string => id.split(/[/\\]/).findLast(part => part !== '') ?? id;

/** A text as itself: what a server says must not name variables or files of this machine. */
const literal = (text: string): string => text.replaceAll('${', () => '$${');

const missing = (reported: unknown, comment = unreported): string | undefined =>
  reported === undefined ? comment : undefined;
