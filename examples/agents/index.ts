// All agents, where they usually are and what is special about serving them, for whoever serves several.
import type { Agent } from 'dragoman'
import * as chat from './chat.ts'
import * as doc from './doc.ts'
import * as image from './image.ts'
import * as order from './order.ts'
import * as outline from './outline.ts'
import type { Usual } from './serve-when-run.ts'
import * as summary from './summary.ts'
import * as travel from './travel.ts'

export type Placed = Usual & { agent: Agent }

/** Who asks others comes behind them. */
export const agents: readonly Placed[] = [outline, doc, summary, order, travel, image, chat].map(
  ({ default: agent, ...usual }) => ({
    agent,
    ...usual,
  }),
)
