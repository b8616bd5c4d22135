import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AgentCard } from 'dragoman/client'
import type { CredentialKind } from 'dragoman/console'
import type { ReactNode } from 'react'
import { api } from '../../link/api.js'
import { useSession } from '../../link/link.js'
import { kindsFor } from '../../model/scheme-kinds.js'
import { Problem } from '../../parts/notice.js'
import { useText } from '../../text/text.js'
import { LoginState } from './login-state.js'
import { SchemeForm } from './scheme-form.js'

/** Where the card does not say what it wants. */
const anyKinds: readonly CredentialKind[] = ['bearer', 'apiKey', 'basic', 'header', 'oauth2']

/** A card may name as many as it likes. */
const mostSchemes = 20

interface AccessProps {
  readonly agent: string
  readonly card: AgentCard | undefined
}

export function AgentAccess({ agent, card }: AccessProps): ReactNode {
  const { agents: words, access } = useText()
  const session = useSession()
  const named = session.data?.agents.find(({ ref }) => ref === agent)
  const queries = useQueryClient()
  const allow = useMutation({
    mutationFn: (allowsOrigins: boolean) => api('PUT', 'trust', { ref: agent, allowsOrigins }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const schemes = Object.entries(card?.securitySchemes ?? {}).slice(0, mostSchemes)
  const held = named?.credentials ?? {}
  return (
    <div className="stack">
      <p className="soft">{words.credentialText}</p>
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
      {named?.hasOwnCredential && <p className="soft">{access.own}</p>}
      {(named?.credentials || named?.hasOwnCredential || named?.login) && (
        <LoginState agent={agent} login={named.login} />
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={named?.allowsOrigins ?? false}
          onChange={({ target }) => allow.mutate(target.checked)}
        />
        {words.origins}
      </label>
      <p className="small soft">{words.originsText}</p>
      <Problem error={allow.error} />
    </div>
  )
}
