import { describe } from '@jest/globals';
import { anthropicMessages } from '../support/clients/anthropic.ts';
import { showsEssentials } from '../support/clients/essentials.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { clientHouses } from '../support/clients/house.ts';
import { vercelMessages } from '../support/clients/vercel.ts';

const [anthropic, vercel] = clientHouses(
  [clientFacts.anthropicMessages, anthropicMessages],
  [clientFacts.vercelMessages, vercelMessages],
);

describe('the Anthropic SDK on messages', () => showsEssentials(anthropic!));
describe("the AI SDK with Anthropic's provider on messages", () => showsEssentials(vercel!));
