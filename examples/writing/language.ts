// Tells whether a text is Chinese or English.

type Language = 'zh' | 'en'

/** Compares the number of Chinese characters with the number of Latin words. */
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
