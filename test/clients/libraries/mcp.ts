import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources';
import { z } from 'zod';
import { type Connection, type Rolled, rolledText } from './client.ts';

/** Offers a model the tools of an MCP server with one tool, `roll({ sides })`, and calls them until there is an answer. */
export async function rollOverMcp({ url, key, retries }: Connection, question: string): Promise<Rolled> {
  const openai = new OpenAI({ apiKey: key, baseURL: url, maxRetries: retries });
  const { mcp, calls } = await diceServer();
  const { tools } = await mcp.listTools();
  const offered = tools.map(({ name, description = '', inputSchema }) => ({
    type: 'function' as const,
    function: { name, description, parameters: inputSchema },
  }));
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  for (let turn = 0; turn < 3; turn++) {
    const asked = { model: 'aion-labs/aion-3.5', messages, tools: offered };
    const { message } = (await openai.chat.completions.create(asked)).choices[0]!;
    messages.push(message);
    if (!message.tool_calls) return { answer: message.content ?? '', calls };
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue;
      const wanted = { name: call.function.name, arguments: JSON.parse(call.function.arguments) };
      const { content } = await mcp.callTool(wanted);
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(content) });
    }
  }
  throw new Error('no answer after three turns');
}

/** A client of an MCP server in this process, and the arguments of every call. */
async function diceServer(): Promise<{ mcp: Client; calls: readonly unknown[] }> {
  const calls: unknown[] = [];
  const server = new McpServer({ name: 'dice', version: '1.0.0' });
  const description = 'Rolls the dice.';
  server.registerTool('roll', { description, inputSchema: { sides: z.number().int() } }, async wanted => {
    calls.push(wanted);
    return { content: [{ type: 'text' as const, text: rolledText }] };
  });
  const mcp = new Client({ name: 'tester', version: '1.0.0' });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(serverSide), mcp.connect(clientSide)]);
  return { mcp, calls };
}
