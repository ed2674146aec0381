/** What shows a client's users the reasoning of a reply. */
interface ReasoningForm {
  /** A part of its `User-Agent`. */
  readonly agent: RegExp;
  /** On chat completions it reads `reasoning_content` alone. */
  readonly readsOlderName?: true;
  /** On responses it takes reasoning in a message for the answer, or refuses it. */
  readonly readsSummaries?: true;
}

/** Clients that show no reasoning, or take it for the answer, and whose requests have no field that tells; each was run (docs/reference/clients.md). */
const clients: readonly ReasoningForm[] = [
  { agent: /\blangchainjs-openai\//, readsOlderName: true },
  // The AI SDK names itself, and only without it the provider: of those for responses both.
  { agent: /^ai\/\d|\bai-sdk\/(?:openai|open-responses)\//, readsSummaries: true },
];

const agentsOf = (form: 'readsOlderName' | 'readsSummaries'): RegExp =>
  new RegExp(clients.flatMap(client => (client[form] ? [client.agent.source] : [])).join('|'));

/** Agents that read `reasoning_content` alone. */
export const olderNameAgents = agentsOf('readsOlderName');

/** Agents of responses that want reasoning in items with a summary. */
export const summaryAgents = agentsOf('readsSummaries');
