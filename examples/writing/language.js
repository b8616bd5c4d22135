// Chinese or English, by what a text is written in.

/** @typedef {'zh' | 'en'} Language */

/** A Chinese character says about as much as a Latin word; the more of them, the likelier it is Chinese.
 * @param {string} text
 * @returns {Language}
 */
export function languageOf(text) {
  const sample = text.slice(0, 5000)
  const characters = sample.match(/\p{Script=Han}/gu)?.length ?? 0
  const words = sample.match(/\p{Script=Latin}+/gu)?.length ?? 0
  return characters > 0 && characters >= words ? 'zh' : 'en'
}

/** One thing in two languages, in the one that was spoken.
 * @template T
 * @param {string} text
 * @param {Record<Language, T>} said
 */
export function inLanguageOf(text, said) {
  return said[languageOf(text)]
}
