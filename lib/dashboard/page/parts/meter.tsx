/** A bar that fills up to a limit. */

import type { ComponentChildren, JSX } from 'preact'

export interface MeterProps {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly children?: ComponentChildren
}

export function Meter ({ label, value, max, children }: MeterProps): JSX.Element {
  const share = max > 0 ? Math.min(1, value / max) : 1
  const tone = share >= 1 ? ' bad' : share >= 0.8 ? ' warn' : ''
  return (
    <div class='meter'>
      {children !== undefined && <div class='meter-text'>{children}</div>}
      <div
        class='meter-track'
        role='meter'
        aria-label={label}
        aria-valuenow={Math.min(value, max)}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuetext={label}
      >
        <div class={`meter-fill${tone}`} style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  )
}
