// Conversation without a model: answers to a few topics, and a plain statement that other topics need a model.
import { inLanguageOf, languageOf } from './language.ts'
import { offlineOutline } from './offline-outlines.ts'

export interface ChatMessage {
  readonly role: 'user' | 'agent'
  readonly text: string
}

const topics: { when: RegExp; say: (text: string, earlier: readonly ChatMessage[]) => string }[] = [
  { when: /我(?:叫|的名字是)\s*(?!什么|啥)\S|\bmy name is \w/i, say: (text) => metName(nameIn(text) ?? '', text) },
  { when: /我叫(?:什么|啥)|我是谁|我的名字是什么|(?:what(?:'s| is) my name|who am i)/i, say: recallName },
  { when: /(?=.*(?:A2A|JSON-?RPC|\bSSE\b|流式))(?=.*(?:如何|怎么|怎样|\bhow\b))/is, say: aboutStreaming },
  { when: /如何|怎么(?!样)|怎样|\bhow (?:to|do|can)\b/i, say: howTo },
  {
    when: /你是谁|你能做|你会(?:做|什么)|能帮我(?:做)?什么|介绍一下你自己|\bwho are you\b|\bwhat can you do\b|\bhelp\b/i,
    say: aboutMe,
  },
  {
    when: /谢谢|多谢|感谢|\bthanks?\b|\bthank you\b/i,
    say: (text) =>
      inLanguageOf(text, {
        zh: '不客气！还有什么需要，随时说。',
        en: 'You are welcome! Just say so if there is anything else.',
      }),
  },
  {
    when: /再见|拜拜|\b(?:good)?bye\b|\bsee you\b/i,
    say: (text) =>
      inLanguageOf(text, { zh: '再见，愿你今天的茶正好。', en: 'Goodbye, and may your tea be just right.' }),
  },
  {
    when: /^(?:你好|您好|嗨|早上好|下午好|晚上好|哈[喽啰])|^(?:hi|hello|hey|good (?:morning|afternoon|evening))\b/i,
    say: greet,
  },
]

/** @param earlier Earlier messages, oldest first. */
export function smallTalk(said: string, earlier: readonly ChatMessage[] = []) {
  const text = said.slice(0, 1000)
  const known = topics.find(({ when }) => when.test(text))
  return known ? known.say(text, earlier) : needsModel(text)
}

function greet(text: string, earlier: readonly ChatMessage[]) {
  const name = knownName(earlier)
  return inLanguageOf(text, {
    zh: `你好${name ? `，${name}` : ''}！我可以查订单、写文章，也可以随便聊聊。`,
    en: `Hello${name ? `, ${name}` : ''}! I can look up orders, have articles written, or just talk.`,
  })
}

function metName(name: string, text: string) {
  return inLanguageOf(text, { zh: `很高兴认识你，${name}！`, en: `Nice to meet you, ${name}!` })
}

function recallName(text: string, earlier: readonly ChatMessage[]) {
  const name = knownName(earlier)
  return name
    ? inLanguageOf(text, { zh: `你叫${name}，我记着呢。`, en: `You are ${name}; I have not forgotten.` })
    : inLanguageOf(text, { zh: '你还没告诉我你的名字呢。', en: 'You have not told me your name yet.' })
}

function knownName(earlier: readonly ChatMessage[]) {
  return earlier
    .filter(({ role }) => role === 'user')
    .map(({ text }) => nameIn(text))
    .findLast((name) => name !== undefined)
}

function nameIn(text: string) {
  const [, zh, en] =
    /我(?:叫|的名字是)\s*([\p{Script=Han}A-Za-z]{1,12}?)(?=[，。！!,.\s]|$)|\bmy name is (\p{L}+)/iu.exec(text) ?? []
  return zh && /^[什啥]/.test(zh) ? undefined : (zh ?? en)
}

function aboutMe(text: string) {
  return inLanguageOf(text, {
    zh: '我是一个多智能体对话助手：问订单，我去找订单智能体（比如“查询订单 ORDER_001”）；要文章，我请文档流程来写（比如“写一篇关于茉莉花茶的文章”）；别的，我们就聊聊。',
    en: 'I am a front desk for several agents: I ask the order agent about orders (“Where is ORDER_001?”), the document workflow for articles (“Write an article about jasmine tea”), and for the rest we can simply talk.',
  })
}

/** Points about calling this agent. An answer has as many of them as the user asked for, in order. */
const calling = {
  zh: [
    '向 /api/v1/a2a 发送 POST 请求，JSON-RPC 的 method 写 message/stream，问题放在 params.message.parts 里。',
    '逐行读取响应：以 “data: ” 开头的每一行都是一个 JSON-RPC 响应，把 result.events 里的 messageDelta 依次拼起来就是回答。',
    '读到 “data: [DONE]” 就结束；想接着聊，下一条消息带上同一个 contextId。',
    '中途想停，用 tasks/cancel 取消；断线之后，用 tasks/get 取回结果。',
  ],
  en: [
    'POST to /api/v1/a2a with the JSON-RPC method message/stream and the question in params.message.parts.',
    'Read line by line: what follows “data: ” is a JSON-RPC response, and the messageDelta of its result.events is the next piece of the answer.',
    'Stop at “data: [DONE]”; to go on talking, send the same contextId with the next message.',
    'tasks/cancel stops an answer half-way, and tasks/get fetches it after a lost connection.',
  ],
}

const building = {
  zh: [
    '先定入口：一个 POST 路径，按 JSON-RPC 2.0 校验 jsonrpc、method 和 params，不合格就回对应的错误码。',
    '收到 message/stream 就以 text/event-stream 应答，每个增量写成一行 “data: {…}” 加一个空行，立即刷出。',
    '所有增量共用一个 messageId，中间事件 final 为 false，最后一个事件带完整的 message，final 为 true。',
    '结尾写 “data: [DONE]” 再关闭连接；出错也要给出最后一个事件，别让对方一直等。',
    '任务要先存下来再推送，这样断线的客户端才能用 tasks/get 找回结果，用 tasks/cancel 停下它。',
  ],
  en: [
    'Begin with the door: one POST path that checks jsonrpc, method and params and answers with the right error code.',
    'Answer message/stream as text/event-stream: a line “data: {…}” and an empty line for every piece, flushed at once.',
    'Give all pieces one messageId; final is false until the last event, which carries the whole message.',
    'End with “data: [DONE]” and close, also after an error, so that no client waits forever.',
    'Store before you send: then tasks/get finds the answer after a lost connection and tasks/cancel can stop it.',
  ],
}

function aboutStreaming(text: string) {
  const isBuilding = /写一|写个|实现|开发|搭建|\b(?:write|build|implement|make)\b/i.test(text)
  return points(text, inLanguageOf(text, isBuilding ? building : calling))
}

function howTo(text: string) {
  const question = text.replace(/^.*[:：]/s, '')
  const { sections } = offlineOutline(question)
  const separator = inLanguageOf(text, { zh: '、', en: ', ' })
  return points(
    text,
    sections.map(
      ({ title, points: details }) =>
        `${title}${inLanguageOf(text, { zh: '：', en: ': ' })}${details.join(separator)}${inLanguageOf(text, { zh: '。', en: '.' })}`,
    ),
  )
}

function points(text: string, list: readonly string[]) {
  return list
    .slice(0, wantedPoints(text))
    .map((point, place) => `${place + 1}. ${point}`)
    .join('\n')
}

/** Finds the number in 请用三点回答 or "in three points". */
function wantedPoints(text: string) {
  const [, zh, en] =
    /([一二两三四五六1-6])\s*[个条]?(?:要)?点|\b(one|two|three|four|five|six|[1-6]) (?:points?|steps?)\b/i.exec(text) ??
    []
  const word = (zh ?? en)?.toLowerCase()
  if (word === undefined) return 9
  const number = /\d/.test(word) ? Number(word) : '一二三四五六'.indexOf(word.replace('两', '二')) + 1
  return number || ['one', 'two', 'three', 'four', 'five', 'six'].indexOf(word) + 1
}

function needsModel(text: string) {
  const characters = [...text.replace(/\s+/g, ' ').trim()]
  const short = characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('')
  return languageOf(text) === 'zh'
    ? `“${short}”——这个我答不好：我现在没有连接语言模型。查订单、写文章我在行，要不要试试？`
    : `“${short}”: that is beyond me, as no language model is connected. Orders and articles I can do; shall we try one?`
}
