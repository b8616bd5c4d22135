// Chooses the agent that answers a message, by keywords, so that the choice can be tested. A model could choose as well.
import type { ChatMessage } from '../writing/small-talk.ts'
import { topicOf } from '../writing/topic.ts'
import { orderNumbers } from './order-numbers.ts'

type Route = { to: 'OrderAgent' | 'DocumentWorkflow'; say: string } | { to: 'talk' }

const aboutOrders = /订单|(?<!in )\borders?\b|order_\d/i
const aboutThatOrder =
  /(?:它|这单|那单|这个|那个|\bit\b|\bthat one\b).*(?:多少钱|价格|贵|到哪|发货|送到|状态|how much|price|cost|where|shipped|arrive)|(?:how much|where) is (?:it|that)/i
const wantsDocument =
  /(?:写|撰写|起草|生成|创作|来)[一]?[篇份个段]?.*(?:文章|文档|报告|短文|作文|大纲|科普|稿)|\b(?:write|draft|compose|prepare)\b.*\b(?:article|document|report|essay|paper|guide|post|piece)\b/i
const isQuestion = /如何|怎么|怎样|\bhow (?:to|do|can|should)\b/i

/** @param earlier Earlier messages of the conversation, oldest first. */
export function routeOf(said: string, earlier: readonly ChatMessage[] = []): Route {
  const text = said.slice(0, 1000) // enough to choose by, and bounded for the regular expressions
  if (aboutOrders.test(text)) return { to: 'OrderAgent', say: text }
  const number = lastOrder(earlier)
  if (number && aboutThatOrder.test(text)) return { to: 'OrderAgent', say: `${text} (${number})` }
  if (wantsDocument.test(text) && !isQuestion.test(text)) return { to: 'DocumentWorkflow', say: topicOf(text) }
  return { to: 'talk' }
}

/** Returns the order that the user named last. Numbers in our own questions are examples and do not count. */
function lastOrder(earlier: readonly ChatMessage[]) {
  return earlier.flatMap(({ role, text }) => (role === 'user' ? orderNumbers(text) : [])).at(-1)
}
