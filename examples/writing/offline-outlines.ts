// Outlines without a model: each kind of topic has a template.
import { languageOf } from './language.ts'
import { kindsEn } from './offline-outlines-en.ts'
import { kindsZh } from './offline-outlines-zh.ts'
import type { Outline } from './outline.ts'
import { topicOf } from './topic.ts'

export interface Kind {
  readonly name: string
  readonly words: RegExp
  readonly title: string
  readonly sections: [title: string, brief: string, points: string[]][]
}

export function offlineOutline(request: string): Outline {
  const asked = topicOf(request)
  const language = languageOf(asked)
  // The last kind always matches.
  const kind = (language === 'zh' ? kindsZh : kindsEn).find(({ words }) => words.test(asked)) as Kind
  const topic = language === 'zh' ? subjectZh(asked) : subjectEn(asked)
  const fill = (text: string) => text.replaceAll('{}', topic)
  const title = fill(kind.title)
  return {
    topic,
    title: title.charAt(0).toUpperCase() + title.slice(1),
    sections: kind.sections.map(([heading, brief, points]) => ({ title: heading, brief, points: points.map(fill) })),
  }
}

/** Turns 如何冲泡茉莉花茶 into 冲泡茉莉花茶. */
function subjectZh(topic: string) {
  return topic.replace(/^(?:如何|怎么样?|怎样)(?:去|才能)?/u, '').replace(/(?:的)?(?:教程|指南|步骤)$/u, '') || topic
}

/** Turns "how to brew tea" into "brewing tea". */
function subjectEn(topic: string) {
  const [, verb, rest = ''] = /^how (?:to|do (?:i|you|we)|can (?:i|you|we)) (\S+)(.*)$/i.exec(topic) ?? []
  return verb === undefined ? topic.replace(/^the history of /i, '') : `${gerund(verb.toLowerCase())}${rest}`
}

function gerund(verb: string) {
  if (verb.endsWith('ie')) return `${verb.slice(0, -2)}ying`
  if (/[^eyo]e$/.test(verb)) return `${verb.slice(0, -1)}ing`
  // One syllable, one vowel, one consonant: run, plan, get.
  if (/^[^aeiou]*[aeiou][^aeiouwxy]$/.test(verb)) return `${verb}${verb.at(-1)}ing`
  return `${verb}ing`
}
