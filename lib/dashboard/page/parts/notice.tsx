/** A sentence about a problem or a fact, where it applies. */

import type { ComponentChildren, JSX } from 'preact'
import type { ApiError } from '../api/client.ts'
import type { Tone } from './badge.tsx'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

export function Notice ({
  tone = 'neutral',
  children
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={tone === 'bad' || tone === 'warn' ? 'warning' : 'info'} />
      <div class='grow'>{children}</div>
    </div>
  )
}

export interface FailureProps {
  readonly error: ApiError | undefined
  readonly retry?: () => void
  /** Fields that show their own errors, which are not repeated. */
  readonly fields?: readonly string[]
}

/** Shows an error with its remedy; nothing if there is no error. */
export function Failure ({ error, retry, fields = [] }: FailureProps): JSX.Element | null {
  const named = Object.keys(error?.fields ?? {})
  if (error === undefined || (named.length > 0 && named.every(name => fields.includes(name)))) return null
  return (
    <Notice tone='bad'>
      <div class='row between'>
        <span class='grow'>
          {error.message}
          {error.requestId !== undefined && <span class='mono'> · {error.requestId}</span>}
        </span>
        {retry !== undefined && (
          <Button small icon='refresh' onClick={retry}>
            Try again
          </Button>
        )}
      </div>
    </Notice>
  )
}
