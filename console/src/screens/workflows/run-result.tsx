import { isTerminal } from 'dragoman/client'
import type { ReactNode } from 'react'
import { CopyButton } from '../../components/copy-button.js'
import { DownloadButton } from '../../components/download-button.js'
import { Loading, Notice } from '../../components/notice.js'
import { PartView, TextBlock } from '../../components/parts-view.js'
import { resultOf, textIn } from '../../model/run-result.js'
import type { TaskView } from '../../model/task-view.js'
import { useText } from '../../text/text.js'
import { ArtifactBox } from '../talk/task-answer.js'

interface ResultProps {
  readonly view: TaskView
  readonly topic: string
  /** Forces a new render, because the task view is mutable. */
  readonly version: number
}

/** The result of a run as a document, with its other artifacts below. */
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
          <p className="notice">{workflows.inProgress}</p>
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
