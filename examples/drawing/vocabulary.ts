// The Chinese and English words for things that can be drawn, and for colours.
import type { Colour } from './canvas.ts'

export type Thing = keyof typeof words

/** In order of precedence: the first thing found names the image. */
const words = {
  sailboat: /sail\s?boats?|sailing|yachts?|\bboats?\b|\bships?\b|帆船|小船|船/i,
  house: /\bhouses?\b|\bhomes?\b|cottages?|cabins?|房子|小屋|木屋|屋子|家/i,
  tree: /\btrees?\b|forests?|woods|树|森林/i,
  mountain: /mountains?|hills?|peaks?|山/i,
  ocean: /oceans?|\bseas?\b|lakes?|waves?|water|海|湖|水面|浪/i,
  moon: /\bmoon(?:light)?\b|月/i,
  sun: /\bsun\b|sunny|sunshine|太阳|阳光|晴/i,
  cloud: /clouds?|cloudy|云/i,
  snow: /snow(?:y)?|winter|雪|冬/i,
  night: /\bnight\b|stars?\b|starry|夜|星/i,
  sunset: /sunset|sunrise|dusk|dawn|日落|日出|夕阳|黄昏|晚霞/i,
}

const colours: readonly [RegExp, Colour][] = [
  [/\bred\b|红/i, [214, 60, 52]],
  [/\borange\b|橙/i, [236, 132, 42]],
  [/\byellow\b|黄(?!昏)/i, [244, 205, 70]],
  [/\bgreen\b|绿/i, [64, 150, 84]],
  [/\bblue\b|蓝/i, [58, 110, 196]],
  [/\bpurple\b|紫/i, [132, 84, 170]],
  [/\bpink\b|粉/i, [240, 150, 176]],
  [/\bblack\b|黑/i, [44, 44, 52]],
]

/** Returns the things named in a request, the subject first. */
export function thingsIn(wish: string): Thing[] {
  const names = Object.keys(words) as Thing[]
  return names.filter((name) => words[name].test(wish))
}

/** Returns the colour named last: follow-ups are appended to the request. */
export function colourIn(wish: string) {
  let last = -1
  let found: Colour | undefined
  for (const [word, colour] of colours) {
    for (const { index } of wish.matchAll(new RegExp(word, 'gi'))) if (index > last) [last, found] = [index, colour]
  }
  return found
}

/** For cards and questions. */
export const drawable = {
  zh: '帆船、大海、山、太阳、月亮、云、雪、树、房子、夜晚、日落',
  en: 'a sailboat, the ocean, a mountain, the sun, the moon, clouds, snow, a tree, a house, night, sunset',
}
