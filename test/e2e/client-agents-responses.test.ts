import { describe } from '@jest/globals';
import { agentsResponses, agentsSummaries } from '../support/clients/agents.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { showsReplies } from '../support/clients/replies.ts';

describe('the Agents SDK over responses with its default settings', () => {
  showsReplies(clientHouse(clientFacts.agentsResponses, agentsResponses));
});

describe('the Agents SDK over responses with reasoning as an item', () => {
  const house = clientHouse(clientFacts.agentsItems, agentsResponses);
  showsReplies(house);
  raisesFailures(house);
});

describe('the Agents SDK over responses with reasoning as a summary', () => {
  showsReplies(clientHouse(clientFacts.agentsSummaries, agentsSummaries));
});
