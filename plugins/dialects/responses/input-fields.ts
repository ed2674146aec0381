import { type ChatRequest, requestFields, setAsideUnknown } from '../../../src/plugin.ts';
import { definedKinds } from './defined-tools.ts';
import { isHosted, isSearch } from './tool-list.ts';

const { messageFields, setAsideInEach } = requestFields;

/** What replies have beside their content, so that clients send it back. */
const ofReplies = ['type', 'id', 'status', 'phase'];
const ofCalls = [...ofReplies, 'call_id', 'name', 'namespace'];
const ofOutputs = [...ofCalls, 'output'];

const knownIn: Readonly<Record<string, ReadonlySet<string>>> = {
  message: new Set([...ofReplies, ...messageFields]),
  function_call: new Set([...ofCalls, 'arguments']),
  function_call_output: new Set(ofOutputs),
  custom_tool_call: new Set([...ofCalls, 'input']),
  custom_tool_call_output: new Set(ofOutputs),
  ...Object.fromEntries(
    definedKinds.flatMap(kind => [
      [`${kind}_call`, new Set([...ofCalls, 'action', 'operation', 'environment'])],
      [`${kind}_call_output`, new Set([...ofOutputs, 'max_output_length'])],
    ]),
  ),
  reasoning: new Set([...ofReplies, 'summary', 'content', 'encrypted_content']),
};

const knownInPart: ReadonlySet<string> = new Set([
  'type',
  'text',
  'annotations',
  'logprobs',
  'refusal',
  'image_url',
  'detail',
  'filename',
  'file_data',
  'file_url',
  'input_audio',
]);

const knownInTool: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'parameters',
  'strict',
  'format',
  'tools',
  'environment',
]);

const knownInSearch: ReadonlySet<string> = new Set([
  'type',
  'search_context_size',
  'user_location',
  'filters',
]);
/** Without a search in a cache alone, as Codex may ask for it, every search is one of the web, which is not named. */
const liveSearch = ({ external_web_access: isLive }: Record<string, unknown>) =>
  isLive === true ? { external_web_access: null } : {};

const definedOutputs: ReadonlySet<unknown> = new Set(definedKinds.map(kind => `${kind}_call_output`));
/** Whether an output has a form of its own, which the model is shown whole. */
const isDefinedOutput = (type: unknown): boolean => definedOutputs.has(type);

/** Moves fields of parsed items and their parts that are not known to `request.unknown`, each name once: `input.content.name`. */
export function setAsideInItems(request: ChatRequest, input: unknown): void {
  if (!Array.isArray(input)) return;
  for (const item of input as Record<string, unknown>[]) {
    const known = knownIn[String(item.type ?? 'message')];
    // Items of OpenAI's servers are kept whole.
    if (!known) continue;
    setAsideUnknown(request, item, known, 'input.');
    setAsideInEach(request, item.content, knownInPart, 'input.content.');
    if (!isDefinedOutput(item.type)) setAsideInEach(request, item.output, knownInPart, 'input.output.');
  }
}

/** Moves fields of parsed tools that are not known to `request.unknown`, and hosted tools by their type: `tools.mcp`. */
export function setAsideInTools(request: ChatRequest, tools: unknown): void {
  if (!Array.isArray(tools)) return;
  for (const tool of tools as Record<string, unknown>[]) {
    const type = String(tool.type);
    if (isSearch(tool)) setAsideUnknown(request, { ...tool, ...liveSearch(tool) }, knownInSearch, 'tools.');
    else if (isHosted(tool)) setAsideUnknown(request, { [type]: tool }, new Set(), 'tools.');
    else setAsideUnknown(request, tool, knownInTool, 'tools.');
    if (type === 'namespace') setAsideInTools(request, tool.tools);
  }
}
