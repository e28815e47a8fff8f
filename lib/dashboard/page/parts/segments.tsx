/** A few choices side by side, one of which is selected. */

import type { JSX } from 'preact'
import type { Choice } from './select.tsx'

export interface SegmentsProps {
  readonly label: string
  readonly value: string
  readonly choices: readonly Choice[]
  readonly onChange: (value: string) => void
}

export function Segments ({ label, value, choices, onChange }: SegmentsProps): JSX.Element {
  return (
    <div class='segments' role='group' aria-label={label}>
      {choices.map(choice => (
        <button
          key={choice.value}
          type='button'
          aria-pressed={choice.value === value}
          onClick={() => onChange(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  )
}
