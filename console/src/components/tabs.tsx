import type { KeyboardEvent, ReactNode } from 'react'

interface TabsProps<Name extends string> {
  readonly label: string
  readonly tabs: Readonly<Record<Name, string>>
  readonly chosen: Name
  onChoose(name: Name): void
}

/** A tab list with arrow key navigation. */
export function Tabs<Name extends string>({ label, tabs, chosen, onChoose }: TabsProps<Name>): ReactNode {
  const names = Object.keys(tabs) as Name[]
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    const next = names[(names.indexOf(chosen) + step + names.length) % names.length]
    if (step === 0 || next === undefined) return
    onChoose(next)
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next}"]`)?.focus()
  }
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          data-tab={name}
          aria-selected={name === chosen}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => onChoose(name)}
        >
          {tabs[name]}
        </button>
      ))}
    </div>
  )
}
