import type { ReactNode } from 'react'
import { api } from '../link/api.js'
import { useSession } from '../link/link.js'
import { useText } from '../text/text.js'

/** Ends a session that was given for a credential. */
export function LogOut(): ReactNode {
  const { login } = useText()
  const session = useSession()
  if (!session.data?.hasLogin || session.error) return null
  const leave = () => {
    void api('DELETE', 'session').finally(() => location.reload())
  }
  return (
    <button type="button" className="button is-quiet is-small" onClick={leave}>
      {login.leave}
    </button>
  )
}
