import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useRef } from 'react'
import { Failure, Loading, Notice } from './components/notice.js'
import { SideBar } from './components/side-bar.js'
import { useSignal } from './model/signal.js'
import { hrefTo, useRoute } from './route.js'
import { AgentsScreen } from './screens/agents/agents-screen.js'
import { ApiError } from './server/api.js'
import { useConsole, useSession } from './server/console-context.js'
import { useText } from './text/text.js'

const LoginScreen = lazy(() => import('./screens/login/login-screen.js'))
const screens = {
  agents: AgentsScreen,
  talk: lazy(() => import('./screens/talk/talk-screen.js')),
  tasks: lazy(() => import('./screens/tasks/tasks-screen.js')),
  wire: lazy(() => import('./screens/wire/wire-screen.js')),
  compare: lazy(() => import('./screens/compare/compare-screen.js')),
  push: lazy(() => import('./screens/push/push-screen.js')),
  registry: lazy(() => import('./screens/registry/registry-screen.js')),
  workflows: lazy(() => import('./screens/workflows/workflows-screen.js')),
} as const satisfies Readonly<Record<string, ComponentType>>

type ScreenName = keyof typeof screens

export function App(): ReactNode {
  const { path } = useRoute()
  const main = useRef<HTMLElement>(null)
  const { nav, app } = useText()
  const asked = path[0] ?? 'agents'
  const name = Object.hasOwn(screens, asked) ? (asked as ScreenName) : undefined
  const Screen = name ? screens[name] : NotFound
  const title = `${name ? nav[name] : nav.notFound} · ${app}`
  useEffect(() => {
    document.title = title
  }, [title])
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        {nav.skip}
      </button>
      <SideBar current={name} />
      <main className="main" ref={main} tabIndex={-1}>
        <Connected>
          <Suspense fallback={<Loading />}>
            <Screen />
          </Suspense>
        </Connected>
      </main>
    </div>
  )
}

function NotFound(): ReactNode {
  const { nav } = useText()
  return (
    <div className="screen">
      <Notice isBad title={nav.notFound} text={nav.notFoundText}>
        <a className="button is-main" href={hrefTo(['agents'])}>
          {nav.agents}
        </a>
      </Notice>
    </div>
  )
}

/** Opens the tab's stream once there is a session, and shows a banner while the connection is lost. */
function Connected({ children }: { readonly children: ReactNode }): ReactNode {
  const { connection } = useText()
  const { tab, conversations } = useConsole()
  const session = useSession()
  useSignal(tab.signal)
  const isReady = session.data !== undefined
  const hasBegun = useRef(false)
  useEffect(() => {
    if (!isReady || hasBegun.current) return
    hasBegun.current = true
    tab.open()
    conversations.restore(new Set(session.data?.agents.map(({ ref }) => ref)))
  }, [isReady, tab, conversations, session.data])
  const isShut = tab.state === 'shut'
  const { refetch } = session
  useEffect(() => {
    if (isShut) void refetch()
  }, [isShut, refetch])
  const { asks, status } = session.error instanceof ApiError ? session.error : {}
  if (asks) return <LoginScreen asks={asks} />
  if (!session.data) {
    if (session.isPending) return <Loading />
    if (status === 401) return <Notice isBad title={connection.session} text={connection.sessionText} />
    return <Failure error={session.error} onRetry={() => void session.refetch()} />
  }
  return (
    <>
      {tab.state === 'lost' && (
        <div className="banner" role="status">
          <span className="dot pulse" />
          <strong>{connection.title}.</strong> {connection.text}
        </div>
      )}
      {children}
    </>
  )
}
