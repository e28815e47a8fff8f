/** A field that filters a list during typing. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

const pauseMs = 200

export function Search ({
  label,
  value,
  onSearch
}: {
  readonly label: string
  readonly value: string
  readonly onSearch: (value: string) => void
}): JSX.Element {
  const text = useSignal(value)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const type = (typed: string): void => {
    text.value = typed
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onSearch(typed.trim()), pauseMs)
  }
  return (
    <span class='affix search'>
      <Icon name='search' />
      <input
        class='input'
        type='search'
        aria-label={label}
        placeholder={label}
        value={text.value}
        onInput={event => type(event.currentTarget.value)}
      />
    </span>
  )
}
