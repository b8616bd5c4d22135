import { describe, expect, it } from 'vitest'
import { languageOf } from '../../examples/writing/language.js'
import { createOfflineWriter } from '../../examples/writing/offline-writer.js'
import { readOutline } from '../../examples/writing/outline.js'
import { smallTalk } from '../../examples/writing/small-talk.js'
import { summarise } from '../../examples/writing/summarise.js'
import { topicOf } from '../../examples/writing/topic.js'

const writer = createOfflineWriter()

async function whole(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

describe('languageOf', () => {
  it.each([
    ['查询订单 ORDER_001', 'zh'],
    ['用 JSON-RPC 写一个接口', 'zh'],
    ['Where is 云边茉莉 that I ordered yesterday evening?', 'en'],
    ['hello', 'en'],
    ['', 'en'],
  ])('takes %j for %s', (text, language) => {
    expect(languageOf(text)).toBe(language)
  })
})

describe('topicOf', () => {
  it.each([
    ['请帮我写一篇关于茉莉花茶的文章。', '茉莉花茶'],
    ['生成一份人工智能的报告', '人工智能'],
    ['大纲：新能源汽车', '新能源汽车'],
    ['Please write a short article about solar power.', 'solar power'],
    ['Outline: solar power', 'solar power'],
    ['Write an essay on friendship', 'friendship'],
    ['茉莉花茶', '茉莉花茶'],
    ['写', '写'],
  ])('finds what %j is about', (request, topic) => {
    expect(topicOf(request)).toBe(topic)
  })

  it('is short, and not empty unless the text is', () => {
    expect([...topicOf('长'.repeat(500))]).toHaveLength(80)
  })
})

describe('the offline outline', () => {
  it.each([
    ['茉莉花茶', '来历'],
    ['如何学习游泳', '开始之前'],
    ['Python 和 JavaScript 的区别', '先说清楚在比什么'],
    ['造纸术的历史', '源头'],
    ['北京三日旅行', '行前准备'],
    ['新店开业方案', '背景与目标'],
    ['A2A 协议', '它解决什么问题'],
    ['友谊', '是什么'],
    ['How to brew jasmine tea', 'Before you start'],
    ['jasmine tea', 'Where it comes from'],
    ['solar power', 'The problem it solves'],
    ['The history of printing', 'Beginnings'],
    ['A weekend trip to Lisbon', 'Before leaving'],
    ['SQLite vs Postgres', 'What is being compared'],
    ['a marketing plan', 'Background and goal'],
    ['friendship', 'What it is'],
  ])('of %s begins with “%s”', async (topic, first) => {
    const { sections } = await writer.outline(topic)
    expect(sections[0]?.title).toBe(first)
    expect(sections.length).toBeGreaterThanOrEqual(4)
    for (const { points } of sections) expect(points.length).toBeGreaterThanOrEqual(3)
  })

  it('extracts the topic of a question', async () => {
    expect((await writer.outline('How to run a tea house')).topic).toBe('running a tea house')
    expect((await writer.outline('How do I make noodles?')).topic).toBe('making noodles')
    expect((await writer.outline('如何冲泡茉莉花茶')).topic).toBe('冲泡茉莉花茶')
  })

  it('is the same for the same topic', async () => {
    expect(await writer.outline('茶')).toEqual(await writer.outline('茶'))
  })
})

describe('the offline document', () => {
  it.each(['茉莉花茶', 'jasmine tea'])('about %s streams by section and uses every point', async (topic) => {
    const outline = await writer.outline(topic)
    const pieces: string[] = []
    for await (const piece of writer.document(outline)) pieces.push(piece)
    expect(pieces).toHaveLength(outline.sections.length + 1)
    expect(pieces[0]).toContain(`# ${outline.title}\n`)
    for (const [place, { title, points }] of outline.sections.entries()) {
      const piece = pieces[place + 1]?.toLowerCase()
      expect(piece).toContain(`## ${title.toLowerCase()}`)
      for (const point of points) expect(piece).toContain(point.toLowerCase())
    }
    // No sentence is repeated, and no placeholder is left.
    const sentences = pieces.join('').match(/[^。.\n]+[。.]/g) ?? []
    expect(new Set(sentences).size).toBe(sentences.length)
    expect(pieces.join('')).not.toMatch(/[{}@]/)
  })

  it('accepts outlines of other agents', async () => {
    const outline = readOutline({
      title: '太阳能',
      sections: ['引言', { heading: '电池', points: ['$& 硅片'] }, 7, {}],
    })
    expect(outline?.sections.map(({ title }) => title)).toEqual(['引言', '电池'])
    const text = await whole(writer.document(outline ?? (await writer.outline(''))))
    expect(text).toContain('## 引言\n\n这一部分谈太阳能中的“引言”。')
    expect(text).toContain('$& 硅片')
  })

  it.each([[undefined], [null], ['x'], [[]], [{}], [{ sections: 'x' }], [{ sections: [] }], [{ sections: [{}, ' '] }]])(
    'is not made from %j',
    (value) => {
      expect(readOutline(value)).toBeUndefined()
    },
  )

  it('stops when its signal aborts', async () => {
    const outline = await writer.outline('tea')
    const pieces = createOfflineWriter({ paceMs: 60_000 }).document(outline, { signal: AbortSignal.timeout(1) })
    await expect(whole(pieces)).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('summarise', () => {
  const english = [
    '# Rivers',
    '',
    'Rivers shape the land and feed the cities along their banks. My aunt once owned a green boat.',
    'Cities grew where rivers met the sea, since rivers carried goods. It was raining on Tuesday.',
    '- Rivers also carry silt, and silt makes the land along their banks fertile.',
    'Somebody left a hat. Breakfast was late. The clock in the hall had stopped.',
    '```',
    'rivers rivers rivers land cities banks.',
    '```',
    'Whoever looks after rivers looks after the cities and the land. He bought two tickets.',
  ].join('\n')

  it('keeps sentences of the text about its topic, in order', () => {
    const summary = summarise(english)
    expect(summary).toMatch(/^Rivers shape the land/)
    expect(summary).not.toMatch(/aunt|hat|Breakfast|#|`|rivers rivers/)
    const kept = summary.match(/[^.]+\./g)?.map((sentence) => sentence.trim()) ?? []
    expect(kept).toHaveLength(2)
    const places = kept.map((sentence) => english.indexOf(sentence))
    expect(places.every((place) => place >= 0)).toBe(true)
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })

  it('segments Chinese into words', () => {
    const text =
      '茉莉花茶产自福州，以绿茶为底，用茉莉花反复窨制。昨天下雨了。窨制的次数越多，茉莉花茶的香气越持久。他买了一双鞋。' +
      '冲泡茉莉花茶要用八十五度的水，香气才不会散。门口有一只猫。电梯坏了三天。晚上吃了面条。今天没有新闻。火车晚点了。'
    const summary = summarise(text)
    expect(summary).toContain('茉莉花茶产自福州')
    expect(summary).not.toMatch(/下雨|鞋|猫|电梯/)
    expect(summary.length).toBeLessThan(text.length / 2)
  })

  it('does not repeat a sentence', () => {
    const again = 'Rivers feed the cities along the banks.'
    const text = `${again} ${again} Silt makes fields fertile near the banks. ${'Nothing else happened. '.repeat(8)}`
    expect(summarise(text).split(again)).toHaveLength(2)
  })

  it('returns short texts unchanged, and nothing for an empty text', () => {
    expect(summarise('One. Two.')).toBe('One. Two.')
    expect(summarise('只有一句。')).toBe('只有一句。')
    expect(summarise('')).toBe('')
    expect(summarise('# Only a title')).toBe('')
  })

  it('handles long texts in linear time', () => {
    expect(summarise('水是生命之源。'.repeat(5000)).length).toBeLessThan(100)
    // The cost must be linear: no regular expression may restart at every position.
    for (const piece of ['\n', '[', '[](', '```\n', '# ', ' \t']) summarise(piece.repeat(2_000_000 / piece.length))
  })
})

describe('small talk', () => {
  it('answers with the requested number of points', () => {
    const answer = smallTalk('请用三点回答：如何通过 A2A 流式调用你？')
    expect(answer.split('\n')).toHaveLength(3)
    expect(answer).toMatch(/^1\. .*message\/stream[\s\S]*\n3\. .*\[DONE\]/)
    expect(smallTalk('Tell me in two points how to call you over A2A').split('\n')).toHaveLength(2)
    expect(smallTalk('请分点回答：如何写一个 A2A JSON-RPC 流式接口？').split('\n')).toHaveLength(5)
  })

  it('remembers a name', () => {
    expect(smallTalk('我叫什么？')).toContain('还没告诉我')
    expect(smallTalk('我叫什么？', [{ role: 'user', text: '你好，我叫小满。' }])).toContain('小满')
    expect(smallTalk('What is my name?', [{ role: 'user', text: 'My name is Ada' }])).toContain('Ada')
    expect(smallTalk('你好', [{ role: 'user', text: '我叫小满' }])).toContain('小满')
    // Messages of the agent are not a source.
    expect(smallTalk('Who am I?', [{ role: 'agent', text: 'My name is Ada' }])).not.toContain('Ada')
  })

  it('states its limits in the language of the question', () => {
    expect(smallTalk('宇宙的尽头在哪里')).toContain('没有连接语言模型')
    expect(smallTalk('What is the capital of Finland?')).toContain('no language model')
  })
})
