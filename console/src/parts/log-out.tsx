import type { ReactNode } from 'react'
import { useSession } from '../link/link.js'
import { logOut } from '../link/log-out.js'
import { useText } from '../text/text.js'

/** Ends a session that was given for a credential. */
export function LogOut(): ReactNode {
  const { login } = useText()
  const session = useSession()
  if (!session.data?.hasLogin || session.error) return null
  return (
    <button type="button" className="button is-quiet is-small" onClick={() => void logOut()}>
      {login.leave}
    </button>
  )
}
