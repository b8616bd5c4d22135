import type { ReactNode } from 'react'
import { Icon, type IconName } from '../../components/icon.js'
import { hrefTo } from '../../route.js'
import { useDefaultAgent, useNameOf } from '../../server/agents.js'
import { useSession } from '../../server/console-context.js'
import { useText } from '../../text/text.js'

/** Suggestions for users that have not chosen an agent yet. */
export function Welcome(): ReactNode {
  const { welcome } = useText()
  const session = useSession()
  const first = useDefaultAgent()
  const nameOf = useNameOf()
  return (
    <section className="panel" aria-label={welcome.title}>
      <header>
        <h2>{welcome.title}</h2>
      </header>
      <ol className="welcome">
        {first !== undefined && (
          <Step
            icon="talk"
            href={hrefTo(['talk'], { with: first })}
            title={welcome.talk(nameOf(first))}
            text={welcome.talkText}
          />
        )}
        {session.data?.workflow && (
          <Step icon="workflows" href={hrefTo(['workflows'])} title={welcome.run} text={welcome.runText} />
        )}
        <Step icon="wire" href={hrefTo(['wire'])} title={welcome.wire} text={welcome.wireText} />
        {first !== undefined && (
          <Step icon="compare" href={hrefTo(['compare', first])} title={welcome.compare} text={welcome.compareText} />
        )}
      </ol>
      <p className="body soft">{welcome.more}</p>
    </section>
  )
}

interface StepProps {
  readonly icon: IconName
  readonly href: string
  readonly title: string
  readonly text: string
}

function Step({ icon, href, title, text }: StepProps): ReactNode {
  return (
    <li>
      <a href={href}>
        <span className="welcome-icon">
          <Icon name={icon} size={20} />
        </span>
        <span>
          <strong>{title}</strong>
          <span className="soft">{text}</span>
        </span>
      </a>
    </li>
  )
}
