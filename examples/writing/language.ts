// Chinese or English, by what a text is written in.

type Language = 'zh' | 'en'

/** A Chinese character says about as much as a Latin word; the more of them, the likelier it is Chinese. */
export function languageOf(text: string): Language {
  const sample = text.slice(0, 5000)
  const characters = sample.match(/\p{Script=Han}/gu)?.length ?? 0
  const words = sample.match(/\p{Script=Latin}+/gu)?.length ?? 0
  return characters > 0 && characters >= words ? 'zh' : 'en'
}

/** Returns the variant in the language of `text`. */
export function inLanguageOf<T>(text: string, variants: Readonly<Record<Language, T>>): T {
  return variants[languageOf(text)]
}
