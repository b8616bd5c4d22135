// All agents, where they usually are and what is special about serving them, for whoever serves several.
import * as chat from './chat.js'
import * as doc from './doc.js'
import * as image from './image.js'
import * as order from './order.js'
import * as outline from './outline.js'
import * as summary from './summary.js'
import * as travel from './travel.js'

/** @import { Agent } from 'dragoman' */
/** @import { Usual } from './serve-when-run.js' */
/** @typedef {Usual & { agent: Agent }} Placed */

/** Who asks others comes behind them.
 * @type {readonly Placed[]}
 */
export const agents = [outline, doc, summary, order, travel, image, chat].map(({ default: agent, ...usual }) => ({
  agent,
  ...usual,
}))
