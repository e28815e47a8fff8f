/** A state in a word. The colour repeats the word and is never the only sign. */

import type { ComponentChildren, JSX } from 'preact'

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent'

export function Badge ({
  tone = 'neutral',
  bare = false,
  children
}: {
  readonly tone?: Tone
  readonly bare?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  return <span class={`badge ${tone}${bare ? ' bare' : ''}`}>{children}</span>
}
