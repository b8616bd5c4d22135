import { useMutation } from '@tanstack/react-query'
import type { LoginView } from 'dragoman/console'
import type { ReactNode } from 'react'
import { api } from '../../server/api.js'
import { useText } from '../../text/text.js'

/** The state of a test or a login with the credentials of an agent. */
export function LoginState({
  agent,
  login,
}: {
  readonly agent: string
  readonly login: LoginView | undefined
}): ReactNode {
  const { access } = useText()
  const again = useMutation({ mutationFn: () => api('POST', 'login', { ref: agent }) })
  const isOver = login?.state === 'accepted' || login?.state === 'refused'
  return (
    <div className="row" role="status">
      {login?.state === 'trying' && <span className="soft">{access.testing}</span>}
      {login?.state === 'open' && (
        <a className="button is-main" href={login.url} rel="noreferrer">
          {access.logIn(new URL(login.url).host)}
        </a>
      )}
      {login?.state === 'code' && (
        <span>
          {access.code} <code>{login.code.userCode}</code>{' '}
          <a href={login.code.verificationUri} target="_blank" rel="noreferrer">
            {login.code.verificationUri}
          </a>
        </span>
      )}
      {login?.state === 'accepted' && <span className="badge good">{access.accepted}</span>}
      {login?.state === 'refused' && <span className="problem-text">{login.error}</span>}
      {(isOver || !login) && (
        <button type="button" className="button is-small" disabled={again.isPending} onClick={() => again.mutate()}>
          {access.test}
        </button>
      )}
    </div>
  )
}
