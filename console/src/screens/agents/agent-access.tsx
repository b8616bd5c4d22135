import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AgentCard } from 'dragoman/client'
import type { CredentialKind, LoginView } from 'dragoman/console'
import type { ReactNode } from 'react'
import { Problem } from '../../components/notice.js'
import { kindsFor } from '../../model/scheme-kinds.js'
import { api } from '../../server/api.js'
import { useSession } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { SchemeForm } from './scheme-form.js'

/** For cards without security schemes. */
const anyKinds: readonly CredentialKind[] = ['bearer', 'apiKey', 'basic', 'header', 'oauth2']

/** Maximum number of forms, because a card can list any number of schemes. */
const maxSchemes = 20

interface AccessProps {
  readonly agent: string
  readonly card: AgentCard | undefined
}

export function AgentAccess({ agent, card }: AccessProps): ReactNode {
  const { agents: labels, access } = useText()
  const session = useSession()
  const named = session.data?.agents.find(({ ref }) => ref === agent)
  const queries = useQueryClient()
  const allow = useMutation({
    mutationFn: (allowsOrigins: boolean) => api('PUT', 'trust', { ref: agent, allowsOrigins }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const schemes = Object.entries(card?.securitySchemes ?? {}).slice(0, maxSchemes)
  const held = named?.credentials ?? {}
  return (
    <div className="stack">
      <p className="soft">{labels.credentialText}</p>
      {schemes.map(([name, scheme]) => (
        <SchemeForm
          key={name}
          agent={agent}
          name={name}
          scheme={scheme}
          kinds={kindsFor(scheme)}
          held={Object.hasOwn(held, name) ? held[name] : undefined}
        />
      ))}
      {(schemes.length === 0 || held['']) && <SchemeForm agent={agent} name="" kinds={anyKinds} held={held['']} />}
      {named?.hasOwnCredential && <p className="soft">{access.configured}</p>}
      {(named?.credentials || named?.hasOwnCredential || named?.login) && (
        <LoginState agent={agent} login={named.login} />
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={named?.allowsOrigins ?? false}
          onChange={({ target }) => allow.mutate(target.checked)}
        />
        {labels.origins}
      </label>
      <p className="small soft">{labels.originsText}</p>
      <Problem error={allow.error} />
    </div>
  )
}

/** The state of a test or a login with the credentials of an agent. */
function LoginState({ agent, login }: { readonly agent: string; readonly login: LoginView | undefined }): ReactNode {
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
