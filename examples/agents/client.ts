// Serves all agents on free ports, calls each one and checks every answer.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { data, serve, text } from 'dragoman'
import { type Answer, connect } from 'dragoman/client'
import { createOfflineWriter } from '../writing/offline-writer.ts'
import { createChatAgent } from './chat.ts'
import { createDocAgent } from './doc.ts'
import { createImageAgent } from './image.ts'
import { createOrderAgent } from './order.ts'
import { createOutlineAgent } from './outline.ts'
import { createSummaryAgent } from './summary.ts'
import { createTravelAgent } from './travel.ts'

const folder = mkdtempSync(join(tmpdir(), 'dragoman-agents-'))
const writer = createOfflineWriter()
const served = await serve(
  [
    createOutlineAgent(writer),
    createDocAgent(writer),
    createSummaryAgent(writer),
    createOrderAgent(join(folder, 'orders.sqlite')),
    createChatAgent(writer),
    createTravelAgent(),
    createImageAgent(),
  ].map((agent) => ({ agent, port: 0 })),
  { dialects: 'all' },
)
const connectTo = (name: string) => connect(served.agents.find((each) => each.name === name)?.url ?? name)

try {
  // A chain: the result of one agent is the input of the next. All tasks share one contextId.
  const contextId = 'tea-house'
  const outlined = await (await connectTo('OutlineAgent')).ask('茉莉花茶', { contextId })
  const [part] = outlined.artifacts[0]?.parts ?? []
  assert(part && 'data' in part)
  const request = [text('请根据以下大纲生成文章正文'), data(part.data)]
  const document = await (await connectTo('DocAgent')).ask(request, { contextId })
  assert.match(document.text, /^# 茉莉花茶/)
  const summary = await (await connectTo('SummaryAgent')).ask(document.text, { contextId })
  assert(summary.text.length < document.text.length / 2)
  console.log(`摘要: ${summary.text}`)

  // A conversation: the chat agent calls the order agent, passes its question on, and remembers earlier messages.
  const talk = (await connectTo('ChatAgent')).conversation()
  for (const [message, expected] of [
    ['你好，我叫小满', /小满/],
    ['我想查一下订单', /哪个订单/],
    ['ORDER_001', /云边茉莉, 价格: ¥18.00/],
    ['它到哪了？', /配送中/],
    ['我叫什么？', /小满/],
  ] as const) {
    const answer = await talk.ask(message)
    assert.match(answer.text, expected)
    console.log(`小满: ${message}\nChatAgent: ${answer.text}`)
  }

  // Parallel follow-ups: two bookings refer to the flight, and the spa does not wait for the snowmobile.
  const travel = await connectTo('TravelAgent')
  const book = (wish: string, basis?: Answer) =>
    travel.ask(wish, { contextId: 'winter', ...(basis?.task && { referenceTaskIds: [basis.task.id] }) })
  const flight = await book('Book a flight to Helsinki.')
  const snowmobile = book('Based on Task 1, book a snowmobile activity.', flight)
  const hotel = await book('Based on Task 1, book a hotel.', flight)
  const spa = await book('Based on Task 2, add a spa reservation to the hotel booking.', hotel)
  for (const booking of [flight, hotel, spa, await snowmobile]) {
    assert.match(booking.text, /Helsinki is booked/)
    console.log(`TravelAgent: ${booking.text}`)
  }

  // A drawing, and a second one that refines it.
  const image = await connectTo('ImageAgent')
  const drawn = await image.ask('Generate an image of a sailboat on the ocean.')
  const again = await image.ask('Make it red', { referenceTaskIds: [drawn.task?.id ?? ''] })
  for (const { artifacts } of [drawn, again]) {
    assert.equal(artifacts[0]?.name, 'sailboat_image.png')
    console.log(`ImageAgent: ${artifacts[0].name}, ${artifacts[0].description}`)
  }
} finally {
  await served.close({ deadlineMs: 0 })
  rmSync(folder, { recursive: true, force: true })
}
