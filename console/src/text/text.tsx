/** The messages of the page in the user's language. */
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { en, type Messages } from './en.js'
import { zh } from './zh.js'

export const languages = { en, zh } as const
export type Language = keyof typeof languages

const storageKey = 'dragoman.language'

interface Spoken {
  readonly language: Language
  readonly text: Messages
  setLanguage(language: Language): void
}

const TextContext = createContext<Spoken>({ language: 'en', text: en, setLanguage: () => undefined })

export function TextProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [language, setLanguage] = useState(preferred)
  useEffect(() => {
    document.documentElement.lang = language
    localStorage.setItem(storageKey, language)
  }, [language])
  return <TextContext value={{ language, text: languages[language], setLanguage }}>{children}</TextContext>
}

export function useText(): Messages {
  return useContext(TextContext).text
}

export function useLanguage(): Spoken {
  return useContext(TextContext)
}

function preferred(): Language {
  const kept = localStorage.getItem(storageKey)
  if (kept === 'en' || kept === 'zh') return kept
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}
