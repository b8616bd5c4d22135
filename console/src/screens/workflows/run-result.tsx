import { isTerminal } from 'dragoman/client'
import type { ReactNode } from 'react'
import { resultOf, textIn } from '../../model/run-result.js'
import type { TaskView } from '../../model/task-view.js'
import { CopyButton } from '../../parts/copy-button.js'
import { DownloadButton } from '../../parts/download-button.js'
import { Loading, Notice } from '../../parts/notice.js'
import { PartView, TextBlock } from '../../parts/parts-view.js'
import { useText } from '../../text/text.js'
import { ArtifactBox } from '../talk/task-answer.js'

interface ResultProps {
  readonly view: TaskView
  readonly topic: string
  /** Runs grow in place: a new version is a new look at the same one. */
  readonly version: number
}

/** What the run was for, to be read; the rest of what it made below. */
export function RunResult({ view, topic, version }: ResultProps): ReactNode {
  const { workflows } = useText()
  const { main, others } = resultOf(view.artifacts.values())
  const isOver = view.state !== undefined && isTerminal(view.state)
  const text = main ? textIn(main) : ''
  return (
    <section className="panel" aria-label={workflows.result}>
      <header>
        <h2 className="grow">{workflows.result}</h2>
        {text !== '' && (
          <>
            <CopyButton text={text} />
            <DownloadButton filename={`${fileNameOf(topic)}.md`} type="text/markdown" text={() => text} />
          </>
        )}
      </header>
      {main ? (
        <article className="document">
          {main.blocks.map((block, place) =>
            typeof block === 'string' ? (
              <TextBlock key={`${place}`} text={block} isLive={!isOver} />
            ) : (
              <PartView key={`${place}`} part={block} />
            ),
          )}
        </article>
      ) : isOver ? (
        <Notice title={workflows.noResult} />
      ) : (
        <>
          <Loading />
          <p className="notice">{workflows.beingMade}</p>
        </>
      )}
      {others.length > 0 && (
        <details className="body">
          <summary className="soft">{workflows.otherResults(others.length)}</summary>
          <div className="stack">
            {others.map((artifact) => (
              <ArtifactBox key={artifact.id} artifact={artifact} isLive={!artifact.isWhole} version={version} />
            ))}
          </div>
        </details>
      )}
    </section>
  )
}

function fileNameOf(topic: string): string {
  return (
    topic
      .replace(/[\\/:*?"<>|\s]+/g, ' ')
      .trim()
      .slice(0, 60) || 'result'
  )
}
