export { textCompletions } from './completions.ts';
export { embeddings } from './embeddings.ts';
export { rerank } from './rerank.ts';
