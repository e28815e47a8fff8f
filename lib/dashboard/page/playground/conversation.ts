/**
 * The state of the playground: the models side by side with their conversations, and the settings for all of
 * them.
 */

import { signal, type Signal } from '@preact/signals'
import type { Answer } from './answer.ts'
import type { Attachment } from './attachments.ts'

export interface Turn {
  readonly id: number
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly answer: Signal<Answer>
}

export interface Pane {
  readonly id: number
  readonly model: Signal<string>
  readonly turns: Signal<readonly Turn[]>
}

export const maxPanes = 4

let nextId = 0

export function newId (): number {
  return nextId++
}

export function newPane (model: string): Pane {
  return { id: newId(), model: signal(model), turns: signal([]) }
}

export const panes = signal<readonly Pane[]>([newPane('')])
export const project = signal('')
export const system = signal('')
/** Changed parameters of the request, by name. */
export const parameters = signal<Readonly<Record<string, unknown>>>({})
/** Slugs and URLs of tool servers. */
export const servers = signal<readonly string[]>([])

export function clearConversation (): void {
  for (const pane of panes.value) pane.turns.value = []
}

export function isRunning (): boolean {
  return panes.value.some(({ turns }) => turns.value.some(({ answer }) => answer.value.state === 'running'))
}
