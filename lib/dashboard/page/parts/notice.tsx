/** A sentence about what is wrong or worth knowing, where it applies. */

import type { ComponentChildren, JSX } from 'preact'
import type { ApiError } from '../api/client.ts'
import type { Tone } from './badge.tsx'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

export function Notice ({ tone = 'neutral', children }: { readonly tone?: Tone, readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={tone === 'bad' || tone === 'warn' ? 'warning' : 'info'} />
      <div class='grow'>{children}</div>
    </div>
  )
}

/** Shows an error with what can be done about it; nothing without one. */
export function Failure ({ error, retry }: { readonly error: ApiError | undefined, readonly retry?: () => void }): JSX.Element | null {
  if (error === undefined) return null
  return (
    <Notice tone='bad'>
      <div class='row between'>
        <span class='grow'>{error.message}{error.requestId !== undefined && <span class='mono'> · {error.requestId}</span>}</span>
        {retry !== undefined && <Button small icon='refresh' onClick={retry}>Try again</Button>}
      </div>
    </Notice>
  )
}
