// Answers questions about orders. Asks for the order number if it is missing.
import { agent, ask, completed, data, failed, text as textPart, working } from 'dragoman'
import { inLanguageOf } from '../writing/language.ts'
import { textFromCaller } from './earlier-tasks.ts'
import { orderNumbers } from './order-numbers.ts'
import { type Order, openOrders } from './order-table.ts'
import { serveWhenRun } from './serve-when-run.ts'

type Orders = ReturnType<typeof openOrders>

/** @param path Path of the order table. The first request opens it. */
export function createOrderAgent(path: string = process.env.DRAGOMAN_ORDERS ?? '.dragoman/orders.sqlite') {
  let orders: Orders | undefined
  return agent(
    {
      name: 'OrderAgent',
      description: 'Looks up orders of a small tea house: product, price and delivery status',
      version: '1.0.0',
      capabilities: { pushNotifications: true },
      skills: [
        {
          id: 'order_query',
          name: 'Look up orders',
          description: 'By number, or all of them',
          tags: ['orders', '订单'],
          examples: ['查询订单 ORDER_001', 'Where is ORDER_003?'],
        },
      ],
      onCrash: { attempts: 3 },
    },
    async function* (turn) {
      const said = textFromCaller(turn)
      const wanted = orderNumbers(turn.text, { isAnswer: turn.number > 1 })
      const isAll = /所有|全部|哪些|列表|\ball\b|\blist\b/i.test(turn.text)
      if (wanted.length === 0 && !isAll)
        yield ask(
          inLanguageOf(said, {
            zh: '请问要查询哪个订单？请告诉我订单号，例如 ORDER_001。',
            en: 'Which order is it? Please tell me its number, such as ORDER_001.',
          }),
        )
      yield working(inLanguageOf(said, { zh: '正在查询', en: 'Looking it up' }))
      orders ??= openOrders(path)
      const { find, all } = orders
      const missing = wanted.filter((id) => !find(id)).join(', ')
      if (missing)
        yield failed(inLanguageOf(said, { zh: `没有找到订单 ${missing}`, en: `There is no order ${missing}` }))
      const found = isAll ? all() : wanted.flatMap((id) => find(id) ?? [])
      const isAboutStatus = /状态|进度|到哪|发货|送到|物流|\bwhere\b|\bstatus\b|\bshipped\b|\barrive/i.test(said)
      const sentences = found.map((order) => describe(order, said, isAboutStatus))
      yield completed([textPart(sentences.join('\n')), data({ orders: found })])
    },
  )
}

const statuses = {
  paid: { zh: '已付款', en: 'paid' },
  brewing: { zh: '制作中', en: 'being made' },
  shipped: { zh: '配送中', en: 'on its way' },
  delivered: { zh: '已送达', en: 'delivered' },
}

function describe({ id, product, productEn, price, status }: Order, said: string, withStatus: boolean) {
  const amount = `¥${(price / 100).toFixed(2)}`
  const state = statuses[status]
  return inLanguageOf(said, {
    zh: `订单信息: ${id}, 产品: ${product}, 价格: ${amount}${withStatus ? `, 状态: ${state.zh}` : ''}`,
    en: `Order ${id}: ${productEn} (${product}), ${amount}${withStatus ? `, ${state.en}` : ''}`,
  })
}

export const port = 10006
const orderAgent = createOrderAgent()
export default orderAgent
await serveWhenRun(import.meta, orderAgent, { port })
