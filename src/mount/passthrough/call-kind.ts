/** What the calls to a path do: `stores` use no tokens, `reads` use a prompt and generate no text. */
export type CallKind = 'stores' | 'reads' | 'generates';

/** Paths that keep, list and count. What a batch uses is in its own reply. */
const storing =
  /\/(?:files|uploads|batches|containers|vector_stores|fine_tuning|assistants|threads|conversations|cancel|input_tokens|count_tokens|tokenize|detokenize)(?=\/|$)|:countTokens$/;
/** Paths whose replies are numbers, pictures or sound. */
const reading =
  /\/(?:embed\w*|rerank\w*|scores?|classif\w+|moderations|pooling|similarity|images|videos|speech)(?=\/|$)|:(?:batchE|e)mbedContents?$/;

/** The kind of a call by its path, in the words of the servers known. A path that is not known generates. */
export function callKindOf(path: string): CallKind {
  if (storing.test(path)) return 'stores';
  return reading.test(path) ? 'reads' : 'generates';
}
