/** A YAML editor that suggests what is allowed at the cursor. */

import { useSignal } from '@preact/signals'
import type { JSX, RefObject } from 'preact'
import { useId } from 'preact/hooks'
import { api } from '../api/client.ts'
import { useResource } from '../state/resource.ts'
import { complete, type Completion } from './complete.ts'

export interface CompletingTextProps {
  readonly area: RefObject<HTMLTextAreaElement | null>
  readonly label: string
  readonly value: string
  readonly readOnly: boolean
  readonly onInput: (value: string) => void
}

export function CompletingText ({ area, label, value, readOnly, onInput }: CompletingTextProps): JSX.Element {
  const schema = useResource('schema', signal => api('GET /admin/v1/configuration/schema', { signal }))
  const completion = useSignal<Completion | undefined>(undefined)
  const chosen = useSignal(0)
  const list = useId()

  const type = (element: HTMLTextAreaElement): void => {
    onInput(element.value)
    chosen.value = 0
    completion.value =
      schema.data === undefined ? undefined : complete(element.value, element.selectionEnd, schema.data)
  }
  const take = (index: number): void => {
    const element = area.current
    const suggestion = completion.value?.suggestions[index]
    if (element === null || suggestion === undefined || completion.value === undefined) return
    element.setRangeText(`${suggestion.text} `, completion.value.from, element.selectionEnd, 'end')
    element.focus()
    onInput(element.value)
    completion.value = undefined
  }
  const press = (event: KeyboardEvent): void => {
    const count = completion.value?.suggestions.length ?? 0
    if (count === 0) return
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp')
      chosen.value = (chosen.value + (event.key === 'ArrowDown' ? 1 : count - 1)) % count
    else if (event.key === 'Tab' || event.key === 'Enter') take(chosen.value)
    else if (event.key === 'Escape') completion.value = undefined
    else return
    event.preventDefault()
  }

  const open = completion.value !== undefined
  return (
    <div class='editor'>
      <textarea
        ref={area}
        class='textarea mono'
        aria-label={label}
        value={value}
        readOnly={readOnly}
        spellcheck={false}
        rows={Math.min(32, Math.max(14, value.split('\n').length + 1))}
        aria-controls={list}
        aria-autocomplete='list'
        aria-activedescendant={open ? `${list}-${chosen.value}` : undefined}
        onInput={event => type(event.currentTarget)}
        onKeyDown={press}
        onBlur={() => {
          completion.value = undefined
        }}
      />
      <ul class='suggestions' id={list} role='listbox' aria-label='Suggestions' hidden={!open}>
        {completion.value?.suggestions.map(({ text, description }, index) => (
          <li
            key={text}
            id={`${list}-${index}`}
            role='option'
            aria-selected={index === chosen.value}
            ref={item => {
              if (index === chosen.value) item?.scrollIntoView({ block: 'nearest' })
            }}
            onMouseDown={event => {
              event.preventDefault()
              take(index)
            }}
          >
            <code>{text}</code>
            <span class='clip-note faint'>{description}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
