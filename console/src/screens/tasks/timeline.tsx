import { useVirtualizer } from '@tanstack/react-virtual'
import { textOf } from 'dragoman/client'
import { type ReactNode, useEffect, useRef } from 'react'
import type { LoggedEvent } from '../../model/task-view.js'
import { useText } from '../../text/text.js'

const rowHeight = 30

interface TimelineProps {
  readonly events: readonly LoggedEvent[]
  /** Mutable; grows with the log. */
  readonly version: number
  /** The index of the chosen event, from 1. */
  readonly point: number
  readonly isLatest: boolean
  /** Absent for the newest event. */
  onPoint(point: number | undefined): void
}

/** All events of a task in order. Only visible events have elements. */
export function Timeline({ events, point, isLatest, onPoint }: TimelineProps): ReactNode {
  const { tasks: labels } = useText()
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  useEffect(() => {
    if (point > 0) rows.scrollToIndex(point - 1, { align: 'auto' })
  }, [point, rows])
  const step = (by: number) => onPoint(Math.min(events.length, Math.max(1, point + by)))
  return (
    <section className="panel" aria-label={labels.timeline}>
      <div className="scrubber">
        <h2>{labels.timeline}</h2>
        <input
          type="range"
          min={1}
          max={Math.max(1, events.length)}
          value={point}
          aria-label={labels.logPosition}
          aria-valuetext={labels.positionOf(point, events.length)}
          onChange={({ target }) => onPoint(Number(target.value))}
        />
        <span className="small soft mono">{labels.positionOf(point, events.length)}</span>
        <button type="button" className="button is-small" disabled={isLatest} onClick={() => onPoint(undefined)}>
          {labels.latest}
        </button>
      </div>
      <div
        ref={box}
        className="timeline"
        style={{ height: `min(62vh, 720px, ${rows.getTotalSize()}px)` }}
        role="listbox"
        aria-label={labels.timeline}
        aria-activedescendant={point > 0 ? `event-${point}` : undefined}
        tabIndex={0}
        onKeyDown={(event) => {
          const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -events.length, End: events.length }[
            event.key
          ]
          if (by === undefined) return
          event.preventDefault()
          step(by)
        }}
      >
        <div className="timeline-inner" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const logged = events[index]
            return (
              logged && (
                <EventRow
                  key={index}
                  logged={logged}
                  place={index + 1}
                  start={start}
                  isChosen={index + 1 === point}
                  onChoose={() => onPoint(index + 1)}
                />
              )
            )
          })}
        </div>
      </div>
    </section>
  )
}

interface RowProps {
  readonly logged: LoggedEvent
  readonly place: number
  readonly start: number
  readonly isChosen: boolean
  onChoose(): void
}

function EventRow({ logged: { event, at }, place, start, isChosen, onChoose }: RowProps): ReactNode {
  const { tasks: labels, states } = useText()
  const kind = Object.keys(event)[0] as keyof typeof labels.kinds // an event has exactly one member
  const tone = kind === 'artifactUpdate' ? 'info' : kind === 'statusUpdate' ? 'accent' : 'good'
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
    <div
      id={`event-${place}`}
      role="option"
      aria-selected={isChosen}
      aria-current={isChosen ? 'true' : undefined}
      aria-posinset={place}
      className="event-row"
      style={{ transform: `translateY(${start}px)` }}
      onClick={onChoose}
    >
      <span className="mono faint">{place}</span>
      <span className={`badge ${tone}`}>{labels.kinds[kind]}</span>
      <span className="clip">{summaryOf(event, states)}</span>
      <span className="mono faint small">{at !== undefined && clockOf(at)}</span>
    </div>
  )
}

/** Local time with milliseconds. */
function clockOf(at: number): string {
  const time = new Date(at)
  const local = new Date(at - time.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(11, 23)
}

function summaryOf(event: LoggedEvent['event'], states: Readonly<Record<string, string>>): string {
  if ('task' in event) return states[event.task.status.state] ?? ''
  if ('message' in event) return textOf(event.message).slice(0, 200)
  if ('statusUpdate' in event) {
    const { state, message } = event.statusUpdate.status
    return [states[state], message && textOf(message).slice(0, 200)].filter(Boolean).join(' · ')
  }
  const { artifact } = event.artifactUpdate
  return `${artifact.name ?? artifact.artifactId} ${textOf(artifact).slice(0, 200)}`
}
