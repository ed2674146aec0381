import { describe } from '@jest/globals';
import { agentsItems, agentsResponses } from '../support/clients/agents.ts';
import { clientFacts } from '../support/clients/facts.ts';
import { raisesFailures } from '../support/clients/failures.ts';
import { clientHouse } from '../support/clients/house.ts';
import { showsReplies } from '../support/clients/replies.ts';

describe('the Agents SDK over responses with its default settings', () => {
  const house = clientHouse(clientFacts.agentsResponses, agentsResponses);
  showsReplies(house);
  raisesFailures(house);
});

describe('the Agents SDK over responses with reasoning as an item', () => {
  showsReplies(clientHouse(clientFacts.agentsItems, agentsItems));
});
