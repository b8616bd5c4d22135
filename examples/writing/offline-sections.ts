// Sections without a model: each point of the outline becomes one sentence. Twelve templates are enough for a document of
// four sections; longer documents reuse them.
import { languageOf } from './language.ts'
import type { Outline, Section } from './outline.ts'

/** `{}` is the topic, `@` the point. */
const sentences = {
  zh: [
    '先从@说起：它给{}定下了基调，后面的判断大多由此而来。',
    '再看@，这里最好对照一个具体的例子，抽象的说法才落得了地。',
    '至于@，不同的人会有不同的答案，关键是把理由讲明白。',
    '@是绕不开的一环，做得扎实，{}的其余部分就容易得多。',
    '谈到@，数字和事实比形容词更有说服力。',
    '@常常被一笔带过，其实它最能看出对{}是否用心。',
    '把@想清楚，可以少走许多弯路。',
    '说到@，不妨先听听真正经历过的人怎么讲。',
    '@并不神秘，拆开来看，无非是几件小事做到位。',
    '围绕@，可以先列一张清单，再决定轻重缓急。',
    '@会随着时间变化，隔一段时间回头再看很有必要。',
    '最后是@，它把前面的内容串了起来，也为{}留下了继续深入的余地。',
  ],
  en: [
    'It begins with @: this sets the tone for {}, and much of the rest follows from it.',
    'A word on @: one concrete example says more than many general remarks.',
    'Opinions differ on @; what counts is that the reasons are on the table.',
    'There is no way around @, and time spent here makes the rest of {} easier.',
    'When it comes to @, facts and figures persuade better than adjectives.',
    'It is tempting to hurry past @, yet little else shows so clearly how much care went into {}.',
    'A clear idea of @ saves many detours.',
    'On @, the best advice comes from people who have been there.',
    'There is nothing mysterious about @: a few small things done properly are enough.',
    'A short list helps with @; what is urgent and what can wait then sorts itself.',
    'What holds today for @ may not hold tomorrow, so a second look now and then pays.',
    'That leaves @, where the threads come together, with room to go deeper into {}.',
  ],
}

const openings = {
  zh: ['这一部分谈{}中的“@”。', '说到{}，“@”值得单独讲一讲。', '接下来看“@”，以及它和{}的关系。'],
  en: [
    'This part is about “@” as it bears on {}.',
    '“@” deserves a word of its own when speaking of {}.',
    'Now to “@”, and what it has to do with {}.',
  ],
}

/** Yields the document in pieces: title and introduction, then one section at a time. */
export function* offlineSections({ title, topic, sections }: Outline) {
  const language = languageOf(`${title} ${topic}`)
  const titles = sections.map((section) => section.title)
  yield `# ${title}\n\n${lead(language, topic, titles)}\n`
  let told = 0
  for (const [place, section] of sections.entries()) {
    yield `\n## ${section.title}\n\n${paragraph(language, { topic, section, place, told })}\n`
    told += section.points.length
  }
}

function lead(language: 'zh' | 'en', topic: string, titles: string[]) {
  const listed = new Intl.ListFormat(language, { type: 'conjunction' }).format(
    titles.map((each) => (language === 'zh' ? `“${each}”` : each)),
  )
  return language === 'zh'
    ? `本文谈谈${topic}，依次是${listed}。`
    : `These are notes on ${topic}, in this order: ${listed}.`
}

function paragraph(
  language: 'zh' | 'en',
  { topic, section, place, told }: { topic: string; section: Section; place: number; told: number },
) {
  const fill = (sentence: string, point: string) => sentence.replaceAll('@', () => point).replaceAll('{}', () => topic)
  const ways = sentences[language]
  const opening = section.brief ?? fill(turn(openings[language], place), section.title)
  const said = section.points.map((point, index) => capital(fill(turn(ways, told + index), point)))
  return [opening, ...said].join(language === 'zh' ? '' : ' ')
}

function turn(list: readonly string[], place: number) {
  return list[place % list.length] ?? ''
}

function capital(sentence: string) {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}
