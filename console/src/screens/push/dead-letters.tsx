import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { DeadLetterView } from 'dragoman/console'
import type { ReactNode } from 'react'
import { shortId } from '../../components/format.js'
import { Problem } from '../../components/notice.js'
import { api } from '../../server/api.js'
import { useText } from '../../text/text.js'

type Outcome = { readonly isDelivered: true } | { readonly isDelivered: false; readonly error: string }

const refreshMs = 5000

/** Dead letters of the servers in the same process as the console. */
export function DeadLetters(): ReactNode {
  const { push } = useText()
  const letters = useQuery({
    queryKey: ['dead-letters'],
    queryFn: () => api<{ readonly letters: readonly DeadLetterView[] }>('GET', 'dead-letters'),
    refetchInterval: refreshMs,
  })
  return (
    <section className="panel" aria-label={push.deadLetters}>
      <header>
        <h2>{push.deadLetters}</h2>
      </header>
      <div className="body stack">
        <Problem error={letters.error} />
        {letters.data?.letters.length === 0 && <p className="soft">{push.noDeadLetters}</p>}
        {letters.data?.letters.map((letter) => (
          <Letter key={letter.id} letter={letter} />
        ))}
      </div>
    </section>
  )
}

function Letter({ letter }: { readonly letter: DeadLetterView }): ReactNode {
  const { push } = useText()
  const queries = useQueryClient()
  const again = useMutation({
    mutationFn: () => api<Outcome>('POST', `redeliver?${new URLSearchParams({ id: letter.id })}`),
    onSettled: () => queries.invalidateQueries({ queryKey: ['dead-letters'] }),
  })
  const failed = again.data && !again.data.isDelivered ? again.data.error : again.error?.message
  return (
    <div className="row">
      <span className="grow break">
        <span className="mono small">{shortId(letter.taskId)}</span> {letter.agent}
      </span>
      {failed !== undefined && <span className="problem-text">{failed}</span>}
      {again.data?.isDelivered && <span className="badge good">{push.redelivered}</span>}
      <button type="button" className="button is-small" disabled={again.isPending} onClick={() => again.mutate()}>
        {push.redeliver}
      </button>
    </div>
  )
}
