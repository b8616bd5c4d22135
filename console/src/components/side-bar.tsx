import { type ReactNode, useEffect, useState } from 'react'
import { hrefTo } from '../route.js'
import { useSession } from '../server/console-context.js'
import { logOut } from '../server/log-out.js'
import { type Language, languages, useLanguage, useText } from '../text/text.js'
import { Icon, type IconName } from './icon.js'

const places = ['agents', 'talk', 'workflows', 'tasks', 'wire', 'compare', 'push', 'registry'] as const
/** On phones the other links are in a menu. */
const alwaysShown = 5
/** Not translated. */
const brand = 'Dragoman'
const languageLabel = 'Language / 语言'
const themes = ['system', 'light', 'dark'] as const
const themeKey = 'dragoman.theme'

export function SideBar({ current }: { readonly current: string | undefined }): ReactNode {
  const { text, language, setLanguage } = useLanguage()
  const [isOpen, setOpen] = useState(false)
  const [theme, setTheme] = useState(() => localStorage.getItem(themeKey) ?? 'system')
  useEffect(() => {
    localStorage.setItem(themeKey, theme)
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }, [theme])
  return (
    <header className={`side${isOpen ? ' is-open' : ''}`}>
      <a className="brand" href={hrefTo(['agents'])}>
        <Logo />
        {brand}
      </a>
      <nav className="nav" aria-label={text.nav.main}>
        {places.map((place, index) => (
          <a
            key={place}
            className={index < alwaysShown ? undefined : 'is-more'}
            href={hrefTo([place])}
            aria-current={place === current ? 'page' : undefined}
            onClick={() => setOpen(false)}
          >
            <Icon name={place satisfies IconName} size={17} />
            {text.nav[place]}
          </a>
        ))}
        <button type="button" className="more-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? 'close' : 'more'} size={17} />
          {text.nav.more}
        </button>
      </nav>
      <div className="side-foot is-more">
        <LogOut />
        <label>
          <span className="hidden-text">{text.theme.label}</span>
          <select className="input" value={theme} onChange={({ target }) => setTheme(target.value)}>
            {themes.map((each) => (
              <option key={each} value={each}>
                {text.theme[each]}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span className="hidden-text">{languageLabel}</span>
          <select
            className="input"
            value={language}
            onChange={({ target }) => setLanguage(target.value as Language)} // the options are the languages
          >
            {Object.entries(languages).map(([name, dictionary]) => (
              <option key={name} value={name}>
                {dictionary.language}
              </option>
            ))}
          </select>
        </label>
      </div>
    </header>
  )
}

function Logo(): ReactNode {
  return (
    <svg aria-hidden="true" viewBox="0 0 32 32">
      <rect width="32" height="32" rx="8" fill="#3b5bdb" />
      <path
        d="M8 9h10a6 7 0 0 1 0 14h-4l-4 4v-4H8z"
        fill="none"
        stroke="#fff"
        strokeWidth="2.4"
        strokeLinejoin="round"
      />
      <path d="M13 14h6M13 18h4" stroke="#fff" strokeWidth="2.4" strokeLinecap="round" />
    </svg>
  )
}

/** Ends a session that was created with a credential. */
function LogOut(): ReactNode {
  const { login } = useText()
  const session = useSession()
  if (!session.data?.hasLogin || session.error) return null
  return (
    <button type="button" className="button is-quiet is-small" onClick={() => void logOut()}>
      {login.logOut}
    </button>
  )
}
