// All agents and their usual ports, for whoever serves several of them.
import * as chat from './chat.js'
import * as doc from './doc.js'
import * as image from './image.js'
import * as order from './order.js'
import * as outline from './outline.js'
import * as summary from './summary.js'
import * as travel from './travel.js'

export const agents = [outline, doc, summary, order, chat, travel, image].map(({ default: agent, port }) => ({
  agent,
  port,
}))
