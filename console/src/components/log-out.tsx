import type { ReactNode } from 'react'
import { useSession } from '../server/console-context.js'
import { logOut } from '../server/log-out.js'
import { useText } from '../text/text.js'

/** Ends a session that was created with a credential. */
export function LogOut(): ReactNode {
  const { login } = useText()
  const session = useSession()
  if (!session.data?.hasLogin || session.error) return null
  return (
    <button type="button" className="button is-quiet is-small" onClick={() => void logOut()}>
      {login.logOut}
    </button>
  )
}
